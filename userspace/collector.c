// SPDX-License-Identifier: GPL-2.0-only
/*
 * The garbage collector: the functions through which a thread gets into it, and
 * an address that can stand for it in a chain.
 *
 * By symbols, where there are any. Else by the messages with which parts of the
 * collector fail, and by who calls whom:
 *
 *  - GarbageCollect() is the innermost function that leads both to scavenging
 *    and to compacting;
 *  - scheduleDoGC(), which stops the other threads first, is who calls it;
 *  - gcWorkerThread() is who else calls what that calls in order to scavenge;
 *  - all that leads to marking in the non-moving collector, which has a thread of
 *    its own, but does not lead to it through GarbageCollect().
 *
 * (rts/Schedule.c, rts/sm/GC.c, Scav.c, Compact.c, NonMoving.c, NonMovingMark.c;
 * GHC 8.10 to 9.10.)
 */
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "grow.h"

#define WINDOW		(1u << 20)	/* of the file, searched at a time */
#define MAX_TEXT	128	/* more than the bytes of a message */
#define MAX_COPIES	4	/* of a message; linkers leave one */

static const char *const root_names[] = {
	"GarbageCollect", "scheduleDoGC", "gcWorkerThread", "nonmovingCollect",
	"nonmovingMark", "nonmovingMark_", "nonmovingConcurrentMark",
};

/* Exported, so that files without other symbols have this one. */
static const char *const public_name = "performMajorGC";

enum part { SCAVENGE, COMPACT, MARK, NR_PARTS };

static const char *const messages[NR_PARTS] = {
	[SCAVENGE] = "scavenge_one: strange object %d",
	[COMPACT] = "update_fwd: unknown/strange object  %d",
	[MARK] = "mark_closure: unimplemented/strange closure type %d @ %p",
};

/* A call, or a jump, from one function to the start of another. */
struct edge {
	size_t from;
	size_t to;
};

/*
 * What is known of a function, as bits. The first ones: it leads to a part of
 * the collector.
 */
#define IS_CALLED	(1u << NR_PARTS)	/* by GarbageCollect() */
#define IS_ABOVE	(1u << (NR_PARTS + 1))	/* it leads to GarbageCollect() */

struct graph {
	struct hsu_builder *b;
	size_t here;		/* function that is looked at */
	struct edge *edges;
	size_t nr;
	size_t cap;
	u8 *bits;		/* of each FDE */
	u64 copies[NR_PARTS][MAX_COPIES];	/* of the messages */
	size_t nr_copies[NR_PARTS];
};

static bool is_rts(const struct hsu_builder *b, u64 addr)
{
	const struct hsu_range *r = hsu_ranges_find(&b->classes, addr);

	return r && r->cls == HSUNWIND_CLASS_RTS;
}

static void add_root(struct hsu_builder *b, const struct hsu_range *fde)
{
	size_t i;

	for (i = 0; i < b->collector.nr; i++)
		if (b->collector.v[i].start == fde->start)
			return;
	/* Whoever calls Haskell code does other things as well. */
	for (i = 0; i < b->nr_rets; i++)
		if (b->rets[i] > fde->start && b->rets[i] <= fde->end)
			return;
	hsu_ranges_add(&b->collector, fde->start, fde->end, HSUNWIND_CLASS_GC);
}

/* Compilers append to the names of parts and of copies: ".cold", ".part.0". */
static bool is_named(const char *symbol, const char *name)
{
	size_t len = strlen(name);

	return !strncmp(symbol, name, len) &&
	       (!symbol[len] || symbol[len] == '.');
}

static void take_symbol(struct hsu_builder *b, const struct hsu_symbol *sym)
{
	const struct hsu_range *fde = hsu_ranges_find(&b->fdes, sym->addr);
	size_t i;

	if (!fde || fde->start != sym->addr)
		return;
	if (!strcmp(sym->name, public_name) && !b->gc_frame)
		b->gc_frame = sym->addr + 1;
	for (i = 0; i < ARRAY_SIZE(root_names); i++)
		if (is_named(sym->name, root_names[i]))
			add_root(b, fde);
	if (!strcmp(sym->name, root_names[0]))
		b->gc_frame = sym->addr + 1;
}

static void find_by_name(struct hsu_builder *b)
{
	size_t i, j;

	for (i = 0; i < b->classes.nr; i++) {
		const struct hsu_range *r = &b->classes.v[i];
		struct hsu_symbol *sym;
		size_t nr;

		if (r->cls != HSUNWIND_CLASS_RTS)
			continue;
		sym = hsu_elf_symbols(b->elf, r->start, r->end, &nr);
		for (j = 0; j < nr; j++)
			take_symbol(b, &sym[j]);
		free(sym);
	}
}

static void take_edge(void *ctx, u64 after, u64 target, bool call)
{
	struct graph *g = ctx;
	const struct hsu_ranges *fdes = &g->b->fdes;
	const struct hsu_range *to = hsu_ranges_find(fdes, target);
	struct edge *edges;

	(void)after;
	(void)call;
	if (!to || to->start != target)
		return;
	edges = hsu_grow(g->edges, g->nr, &g->cap, sizeof(*edges));
	if (!edges) {
		g->b->classes.failed = true;
		return;
	}
	g->edges = edges;
	g->edges[g->nr++] = (struct edge){ g->here, (size_t)(to - fdes->v) };
}

/* Takes the addresses of the messages in a piece of the file. */
static void scan_window(struct graph *g, u64 addr, const u8 *data, size_t len)
{
	enum part part;

	for (part = 0; part < NR_PARTS; part++) {
		size_t text = strlen(messages[part]) + 1;
		const u8 *p = data;

		while (g->nr_copies[part] < MAX_COPIES &&
		       (p = memmem(p, (size_t)(data + len - p), messages[part],
				   text)))
			g->copies[part][g->nr_copies[part]++] =
				addr + (u64)(p++ - data);
	}
}

/* In the segments with code, or in the others that are not written to. */
static bool find_messages(struct graph *g, bool exec)
{
	const struct hsu_load *ld;
	size_t nr, i, n;
	u8 *buf = malloc(WINDOW);
	u64 at;

	if (!buf) {
		g->b->classes.failed = true;
		return true;
	}
	ld = hsu_elf_loads(g->b->elf, &nr);
	for (i = 0; i < nr; i++) {
		if (ld[i].exec != exec || ld[i].write)
			continue;
		for (at = ld[i].vaddr; at < ld[i].vaddr + ld[i].filesz;
		     at += n - MAX_TEXT) {
			n = hsu_elf_read(g->b->elf, at, buf, WINDOW);
			if (n)
				scan_window(g, at, buf, n);
			if (n < WINDOW)
				break;
		}
	}
	free(buf);
	return g->nr_copies[SCAVENGE] && g->nr_copies[COMPACT];
}

/* Does code in a range have the address, or its distance from there? */
static bool refers_to(struct hsu_builder *b, const struct hsu_range *r, u64 addr)
{
	u8 buf[4096];
	u64 at = r->start;
	size_t n, i;
	s32 disp;

	while (at + 4 <= r->end) {
		n = r->end - at < sizeof(buf) ? r->end - at : sizeof(buf);
		n = hsu_elf_read(b->elf, at, buf, n);
		if (n < 4)
			return false;
		for (i = 0; i + 4 <= n; i++) {
			memcpy(&disp, &buf[i], 4);
			if ((u64)(s64)disp == addr ||
			    at + i + 4 + (u64)(s64)disp == addr)
				return true;
		}
		at += i;
	}
	return false;
}

static void find_part(struct graph *g, enum part part)
{
	struct hsu_ranges *fdes = &g->b->fdes;
	size_t i, j;

	for (i = 0; i < fdes->nr; i++) {
		if (!is_rts(g->b, fdes->v[i].start))
			continue;
		for (j = 0; j < g->nr_copies[part]; j++)
			if (refers_to(g->b, &fdes->v[i], g->copies[part][j]))
				g->bits[i] |= 1u << part;
	}
}

/* Gives @bits to all callers. */
static void spread(struct graph *g, u8 bits)
{
	bool again = true;
	size_t i;

	while (again) {
		again = false;
		for (i = 0; i < g->nr; i++) {
			u8 *from = &g->bits[g->edges[i].from];
			u8 to = g->bits[g->edges[i].to];

			if (!(to & ~*from & bits))
				continue;
			*from |= to & bits;
			again = true;
		}
	}
}

/* The only function that leads to @bits when no other one that it calls does. */
static const struct hsu_range *innermost(const struct graph *g, u8 bits)
{
	const struct hsu_ranges *fdes = &g->b->fdes;
	const struct hsu_range *found = NULL;
	size_t i, j;

	for (i = 0; i < fdes->nr; i++) {
		if ((g->bits[i] & bits) != bits)
			continue;
		for (j = 0; j < g->nr; j++)
			if (g->edges[j].from == i && g->edges[j].to != i &&
			    (g->bits[g->edges[j].to] & bits) == bits)
				break;
		if (j < g->nr)
			continue;
		if (found)
			return NULL;
		found = &fdes->v[i];
	}
	return found;
}

static void take_roots(struct graph *g, size_t gc)
{
	struct hsu_builder *b = g->b;
	size_t i;

	g->bits[gc] |= IS_ABOVE;
	spread(g, IS_ABOVE);
	for (i = 0; i < g->nr; i++)
		if (g->edges[i].from == gc)
			g->bits[g->edges[i].to] |= IS_CALLED;
	add_root(b, &b->fdes.v[gc]);
	for (i = 0; i < g->nr; i++) {
		const struct edge *e = &g->edges[i];
		u8 to = g->bits[e->to];

		if (e->to == gc ||
		    (to & IS_CALLED && to & 1u << SCAVENGE &&
		     !(g->bits[e->from] & IS_ABOVE)))
			add_root(b, &b->fdes.v[e->from]);
	}
	for (i = 0; i < b->fdes.nr; i++)
		if (g->bits[i] & 1u << MARK && !(g->bits[i] & IS_ABOVE))
			add_root(b, &b->fdes.v[i]);
	if (!b->gc_frame)
		b->gc_frame = b->fdes.v[gc].start + 1;
}

static void find_by_messages(struct hsu_builder *b)
{
	struct graph g = { .b = b };
	const struct hsu_range *gc;
	enum part part;
	size_t i;

	if (!find_messages(&g, false) && !find_messages(&g, true))
		return;
	g.bits = calloc(b->fdes.nr + 1, 1);
	if (!g.bits) {
		b->classes.failed = true;
		return;
	}
	for (i = 0; i < b->fdes.nr; i++) {
		g.here = i;
		if (is_rts(b, b->fdes.v[i].start))
			hsu_each_branch(b, b->fdes.v[i].start,
					b->fdes.v[i].end, take_edge, &g);
	}
	for (part = 0; part < NR_PARTS; part++)
		find_part(&g, part);
	spread(&g, 1u << SCAVENGE | 1u << COMPACT | 1u << MARK);
	gc = innermost(&g, 1u << SCAVENGE | 1u << COMPACT);
	if (gc)
		take_roots(&g, (size_t)(gc - b->fdes.v));
	free(g.edges);
	free(g.bits);
}

/*
 * For frames that are left out stands the frame that leads from one chunk of a
 * stack to the next, which is never shown but with those of the run-time system:
 * in the middle of its first instruction, where nothing ever is.
 */
static void find_gap_frame(struct hsu_builder *b)
{
	const struct hsu_range *r;
	size_t i;

	for (i = 0; i < b->nr_gaps && !b->gap_frame; i++) {
		u64 addr = b->gaps[i].underflow;

		r = addr ? hsu_ranges_find(&b->haskell, addr) : NULL;
		if (r && r->cls == HSUNWIND_CLASS_HS_RTS)
			b->gap_frame = addr + 2;
	}
}

void hsu_build_collector(struct hsu_builder *b)
{
	if (!b->stgrun.found)
		return;
	find_gap_frame(b);
	find_by_name(b);
	if (!b->collector.nr)
		find_by_messages(b);
	hsu_ranges_sort(&b->collector);
	b->info->has_collector = b->collector.nr;
	if (!b->collector.nr)
		b->gc_frame = 0;
}
