// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which code is Haskell, which is the RTS's, and which is anybody's.
 *
 * No symbols are needed. They are used where there are any, for the one thing
 * that the code does not tell: which Cmm code is the RTS's own.
 */
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "grow.h"

#define MAX_SPACING	4096	/* bytes of Haskell code per info table */
#define MAX_RTS_CMM	(256u << 10)	/* bytes of Cmm code in the RTS */
#define MIN_SPECIAL	3	/* kinds of frames that only the RTS has */

static bool is_rts_library(const struct hsu_builder *b)
{
	return !strncmp(b->info->soname, "libHSrts", 8);
}

bool hsu_gap_has_tables(const struct hsu_gap *g)
{
	u64 size = g->end - g->crt_end;

	return g->tables && size >= 16 && size / g->tables < MAX_SPACING;
}

static bool is_rts_symbol(const char *name)
{
	return !strncmp(name, "stg_", 4) || !strncmp(name, "__stg_", 6);
}

static bool is_rts_gap(const struct hsu_gap *g)
{
	return __builtin_popcount(g->special) >= MIN_SPECIAL &&
	       g->end - g->start <= MAX_RTS_CMM;
}

static u8 haskell_class(bool rts)
{
	return rts ? HSUNWIND_CLASS_HS_RTS : HSUNWIND_CLASS_HS;
}

/* Divides a gap by the names of its symbols; false if it has none. */
static bool divide_by_names(struct hsu_builder *b, const struct hsu_gap *g)
{
	struct hsu_symbol *sym;
	u64 start = g->crt_end;
	bool rts, other;
	size_t nr, i;

	sym = hsu_elf_symbols(b->elf, g->crt_end, g->end, &nr);
	if (!nr)
		return false;
	rts = is_rts_symbol(sym[0].name);
	for (i = 1; i < nr; i++) {
		other = is_rts_symbol(sym[i].name);
		if (other == rts)
			continue;
		hsu_ranges_add(&b->haskell, start, sym[i].addr,
			       haskell_class(rts));
		start = sym[i].addr;
		rts = other;
	}
	hsu_ranges_add(&b->haskell, start, g->end, haskell_class(rts));
	free(sym);
	return true;
}

struct rts_span {
	u64 lo;
	u64 hi;
};

/*
 * Without names, the RTS's Cmm code is the gap with its frames. The RTS is one
 * archive, so that smaller gaps between that one and StgRun are its own too,
 * and those behind them up to the next large one.
 */
static struct rts_span find_rts_cmm(const struct hsu_builder *b)
{
	struct rts_span r = { ~0ULL, 0 };
	size_t i;

	for (i = 0; i < b->nr_gaps; i++) {
		const struct hsu_gap *g = &b->gaps[i];

		if (!hsu_gap_has_tables(g) || !is_rts_gap(g))
			continue;
		if (g->start < r.lo)
			r.lo = g->start;
		if (g->end > r.hi)
			r.hi = g->end;
	}
	if (!b->stgrun.found || !r.hi)
		return r;
	if (b->stgrun.start < r.lo)
		r.lo = b->stgrun.start;
	for (i = 0; i < b->nr_gaps; i++) {
		const struct hsu_gap *g = &b->gaps[i];

		if (g->start < r.hi || !hsu_gap_has_tables(g))
			continue;
		if (g->end - g->start > MAX_RTS_CMM / 16)
			break;
		r.hi = g->end;
	}
	return r;
}

static bool is_rts_addr(const struct rts_span *r, const struct hsu_gap *g)
{
	return g->start >= r->lo && g->end <= r->hi;
}

/*
 * Names are asked only where the RTS's Cmm code can be: programs have hundreds
 * of thousands of them.
 */
static void divide_haskell(struct hsu_builder *b)
{
	struct rts_span rts = find_rts_cmm(b);
	const struct hsu_gap *last = NULL;
	size_t i;

	for (i = 0; i < b->nr_gaps; i++)
		if (b->gaps[i].start < b->stgrun.start &&
		    hsu_gap_has_tables(&b->gaps[i]))
			last = &b->gaps[i];
	for (i = 0; i < b->nr_gaps; i++) {
		const struct hsu_gap *g = &b->gaps[i];
		bool ask = b->stgrun.found &&
			   (g == last || g->special ||
			    g->start > b->stgrun.start);

		if (!hsu_gap_has_tables(g) && !hsu_gap_ends_as_haskell(b, g))
			continue;
		if (!is_rts_library(b) && ask && divide_by_names(b, g))
			continue;
		hsu_ranges_add(&b->haskell, g->crt_end, g->end,
			       haskell_class(is_rts_library(b) ||
					     is_rts_addr(&rts, g)));
	}
}

struct edge {
	u64 from;
	u64 to;
};

struct rts_ctx {
	struct hsu_builder *b;
	struct edge *edges;
	size_t nr;
	size_t cap;
	bool failed;
};

/* Collects calls and jumps from C code to the start of, or into, C code. */
static void take_edge(void *ctx, u64 after, u64 target, bool call)
{
	struct rts_ctx *c = ctx;
	const struct hsu_range *fde;
	struct edge *edges;

	if (target == c->b->stgrun.entry)
		target = c->b->stgrun.start;
	fde = hsu_ranges_find(&c->b->fdes, target);
	if (!fde || (call && fde->start != target) ||
	    (after > fde->start && after <= fde->end))
		return;
	edges = hsu_grow(c->edges, c->nr, &c->cap, sizeof(*edges));
	if (!edges) {
		c->failed = true;
		return;
	}
	c->edges = edges;
	c->edges[c->nr++] = (struct edge){ after - 1, target };
}

/* Nearest code that is Haskell but not the RTS's, below and above StgRun. */
static void rts_limits(const struct hsu_builder *b, u64 *lo, u64 *hi)
{
	size_t i;

	*lo = 0;
	*hi = ~0ULL;
	for (i = 0; i < b->haskell.nr; i++) {
		const struct hsu_range *r = &b->haskell.v[i];

		if (r->cls != HSUNWIND_CLASS_HS)
			continue;
		if (r->start < b->stgrun.start) {
			*lo = r->end;
		} else {
			*hi = r->start;
			break;
		}
	}
}

/* Jumps into functions are mostly none at all: other bytes that look so. */
static bool is_call(const struct rts_ctx *c, const struct edge *e)
{
	return hsu_ranges_find(&c->b->fdes, e->to)->start == e->to;
}

static u64 fde_start(const struct hsu_builder *b, u64 addr)
{
	const struct hsu_range *fde = hsu_ranges_find(&b->fdes, addr);

	return fde ? fde->start : addr;
}

/*
 * The RTS's archive follows others, whose last C objects must not count as the
 * RTS's. It begins with the lowest function that is reached by calls from its
 * sure part: what lies behind StgRun, and who calls StgRun.
 */
static u64 rts_start(const struct rts_ctx *c, u64 lo, u64 hi)
{
	u64 start = c->b->stgrun.start, at;
	bool again = true;
	size_t i;

	while (again) {
		again = false;
		for (i = 0; i < c->nr; i++) {
			const struct edge *e = &c->edges[i];

			if (e->from < lo || e->from >= hi || !is_call(c, e))
				continue;
			if (e->from >= start && e->to >= lo && e->to < start)
				at = e->to;
			else if (e->to == c->b->stgrun.start && e->from < start)
				at = e->from;
			else
				continue;
			start = fde_start(c->b, at);
			again = true;
		}
	}
	return start;
}

/*
 * In a program without shared libraries the C library and others come behind
 * the RTS, and never call it: the RTS ends with the last function that calls
 * into its sure part.
 */
static u64 rts_end(const struct rts_ctx *c, u64 start, u64 hi)
{
	const struct hsu_ranges *fdes = &c->b->fdes;
	u64 end = c->b->stgrun.end;
	bool again = true;
	size_t i;

	while (again) {
		again = false;
		for (i = 0; i < c->nr; i++) {
			const struct edge *e = &c->edges[i];

			if (e->from < end || e->from >= hi ||
			    e->to < start || e->to >= end || !is_call(c, e))
				continue;
			end = hsu_ranges_find(fdes, e->from)->end;
			again = true;
		}
	}
	return end;
}

/* Where the linker puts unlikely, start-up and hot code of all objects. */
static u64 prefix_end(const struct hsu_builder *b)
{
	size_t i;

	for (i = 0; i < b->nr_gaps; i++)
		if (b->gaps[i].crt_end > b->gaps[i].start)
			return b->gaps[i].start;
	return b->haskell.nr ? b->haskell.v[0].start : 0;
}

/*
 * Parts of the RTS that the linker has put in front of everything belong to
 * the RTS if most who call them or jump to them do.
 */
static void add_prefix(struct rts_ctx *c, u64 start, u64 hi)
{
	struct hsu_builder *b = c->b;
	u64 end = prefix_end(b);
	size_t nr = 0, i, round;
	int *votes;

	while (nr < b->fdes.nr && b->fdes.v[nr].start < end &&
	       b->fdes.v[nr].start < start)
		nr++;
	votes = calloc(nr + 1, sizeof(*votes));
	if (!votes) {
		c->failed = true;
		return;
	}
	for (round = 0; round < 4; round++) {
		int *next = calloc(nr + 1, sizeof(*next));

		if (!next) {
			c->failed = true;
			break;
		}
		for (i = 0; i < c->nr; i++) {
			const struct edge *e = &c->edges[i];
			const struct hsu_range *to, *from;
			bool rts = e->from >= start && e->from < hi;

			to = hsu_ranges_find(&b->fdes, e->to);
			from = hsu_ranges_find(&b->fdes, e->from);
			if (!to || (size_t)(to - b->fdes.v) >= nr)
				continue;
			if (from && (size_t)(from - b->fdes.v) < nr)
				rts = votes[from - b->fdes.v] > 0;
			next[to - b->fdes.v] += rts ? 1 : -1;
		}
		free(votes);
		votes = next;
	}
	for (i = 0; i < nr; i++)
		if (votes[i] > 0)
			hsu_ranges_add(&b->classes, b->fdes.v[i].start,
				       b->fdes.v[i].end, HSUNWIND_CLASS_RTS);
	free(votes);
}

static void find_rts(struct hsu_builder *b)
{
	struct rts_ctx c = { .b = b };
	u64 lo, hi, start, end;
	size_t i;

	if (is_rts_library(b)) {
		hsu_ranges_add(&b->classes, 0, ~0ULL, HSUNWIND_CLASS_RTS);
		return;
	}
	if (!b->stgrun.found)
		return;
	rts_limits(b, &lo, &hi);
	for (i = 0; i < b->fdes.nr; i++)
		hsu_each_branch(b, b->fdes.v[i].start, b->fdes.v[i].end,
				take_edge, &c);
	start = rts_start(&c, lo, hi);
	end = b->info->has_interp ? hi : rts_end(&c, start, hi);
	add_prefix(&c, start, end);
	hsu_ranges_add(&b->classes, start, end, HSUNWIND_CLASS_RTS);
	hsu_ranges_add(&b->classes, end, hi, HSUNWIND_CLASS_LIBC);
	hsu_ranges_sort(&b->classes);
	b->classes.failed |= c.failed;
	free(c.edges);
}

void hsu_build_classes(struct hsu_builder *b)
{
	if (b->info->is_haskell)
		divide_haskell(b);
	hsu_ranges_sort(&b->haskell);
	find_rts(b);
}
