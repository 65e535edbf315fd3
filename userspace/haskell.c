// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows of Haskell code. With "ghc -g" there is a .debug_frame that says where
 * the return address lies, relative to Sp, which is rbp.
 */
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "grow.h"
#include "spflow.h"

struct sp_point {
	u64 from;
	struct hsunwind_rule rule;
};

struct sp_ctx {
	struct hsu_builder *b;
	struct hsu_fde *fdes;
	size_t nr, cap;
	struct hsu_unit *units;
	size_t nr_units;
	const struct hsu_fde *fde;
	struct sp_point *points;
	size_t nr_points, cap_points;
	bool failed;
};

static void take_fde(void *ctx, const struct hsu_fde *fde)
{
	struct sp_ctx *c = ctx;
	struct hsu_fde *fdes;

	/* GHC starts one byte early, for the sake of return addresses. */
	if (!hsu_ranges_find(&c->b->haskell, fde->start) &&
	    !hsu_ranges_find(&c->b->haskell, fde->start + 1))
		return;
	fdes = hsu_grow(c->fdes, c->nr, &c->cap, sizeof(*fdes));
	if (!fdes) {
		c->failed = true;
		return;
	}
	c->fdes = fdes;
	c->fdes[c->nr++] = *fde;
}

/*
 * The rule for one row: CFA = rbp + n, return address at the CFA. GHC gives the
 * value of rsp in pure Haskell code as rsp + n where it has pushed something.
 */
static bool sp_rule(const struct hsu_cfa_row *row, struct hsunwind_rule *rule)
{
	const struct hsu_reg_rule *ra = &row->regs[HSU_CFA_RA];
	const struct hsu_reg_rule *rsp = &row->regs[HSU_RSP];
	u64 reg;
	s64 n = 0;

	if (row->cfa_expr || row->cfa_reg != HSU_RBP || row->cfa_off % 8 ||
	    row->cfa_off < -(1 << 20) || row->cfa_off > 1 << 20 ||
	    ra->how != HSU_REG_AT || ra->off)
		return false;
	if (rsp->how == HSU_REG_IS_EXPR &&
	    (!hsu_expr_breg(rsp->expr, rsp->expr_len, &reg, &n) ||
	     reg != HSU_RSP || n % 8 || n < 0 || n > 4096))
		return false;
	if (rsp->how != HSU_REG_IS_EXPR && rsp->how != HSU_REG_SAME)
		return false;
	memset(rule, 0, sizeof(*rule));
	rule->kind = HSUNWIND_RULE_HS_SP;
	rule->cfa_off = (s32)row->cfa_off;
	rule->arg = (s16)n;
	return true;
}

static void take_row(void *ctx, u64 from, const struct hsu_cfa_row *row)
{
	struct sp_ctx *c = ctx;
	struct sp_point *points, *p;

	points = hsu_grow(c->points, c->nr_points, &c->cap_points,
			  sizeof(*points));
	if (!points) {
		c->failed = true;
		return;
	}
	c->points = points;
	p = &c->points[c->nr_points++];
	p->from = from;
	if (!sp_rule(row, &p->rule)) {
		c->b->info->nr_inexpressible++;
		memset(&p->rule, 0, sizeof(p->rule));
		p->rule.kind = HSUNWIND_RULE_HS;
	}
}

static int cmp_fde(const void *a, const void *b)
{
	const struct hsu_fde *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int cmp_point(const void *a, const void *b)
{
	const struct sp_point *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* End of the compilation unit that @addr is in, 0 if in none. */
static u64 unit_end(const struct sp_ctx *c, u64 addr)
{
	size_t lo = 0, hi = c->nr_units, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (c->units[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr >= c->units[lo - 1].end)
		return 0;
	return c->units[lo - 1].end;
}

/*
 * Where the rows of an FDE end. GHC 9.0 states the end of the first block of
 * a procedure, while its rows go on behind that. Up to the next FDE of the same
 * unit they hold, in other units' code they do not.
 */
static u64 rows_end(const struct sp_ctx *c, size_t i)
{
	const struct hsu_fde *f = &c->fdes[i];
	const struct hsu_range *r;
	u64 end;

	r = hsu_ranges_find(&c->b->haskell, f->start + 1);
	end = unit_end(c, f->start + 1);
	if (!end)
		end = f->end;
	if (i + 1 < c->nr && c->fdes[i + 1].start < end)
		end = c->fdes[i + 1].start;
	if (r && r->end < end)
		end = r->end;
	return end;
}

static void add_fde(struct sp_ctx *c, size_t i, struct hsu_rows *sp)
{
	const struct hsu_fde *f = &c->fdes[i];
	const struct hsu_range *r;
	u64 end = rows_end(c, i), to, from;
	size_t j;

	c->nr_points = 0;
	if (!hsu_cfa_run(f, take_row, c)) {
		c->b->info->nr_damaged++;
		return;
	}
	if (c->nr_points)
		qsort(c->points, c->nr_points, sizeof(c->points[0]), cmp_point);
	for (j = 0; j < c->nr_points; j++) {
		struct sp_point *p = &c->points[j];

		from = p->from < f->start ? f->start : p->from;
		to = j + 1 < c->nr_points && p[1].from < end ? p[1].from : end;
		r = hsu_ranges_find(&c->b->haskell, from);
		if (!r) {
			from++;
			r = hsu_ranges_find(&c->b->haskell, from);
		}
		if (!r || from >= to)
			continue;
		p->rule.cls = r->cls;
		hsu_rows_add(sp, from - c->b->base, to - c->b->base, &p->rule);
		c->b->info->nr_sp_rows++;
	}
}

static void debug_rows(struct hsu_builder *b, struct hsu_rows *sp)
{
	struct sp_ctx c = { .b = b };
	size_t i;

	hsu_dwarf_fdes(b->debug, false, take_fde, &c);
	if (!c.nr)
		goto out;
	c.units = hsu_dwarf_ghc_units(b->debug, &c.nr_units);
	qsort(c.fdes, c.nr, sizeof(c.fdes[0]), cmp_fde);
	for (i = 0; i < c.nr; i++)
		add_fde(&c, i, sp);
out:
	sp->failed |= c.failed;
	free(c.points);
	free(c.units);
	free(c.fdes);
}

/*
 * Functions of the program that are written in Cmm may have no info tables. Symbols
 * tell them from blocks of the function in front of them, or what jumps there.
 */
static void find_functions(struct hsu_builder *b, struct hsu_code *code)
{
	struct hsu_symbol *syms;
	struct hsu_entry entry;
	size_t nr, i;

	syms = hsu_elf_symbols(b->elf, code->start, code->end, &nr);
	for (i = 0; i < nr; i++)
		if (syms[i].global &&
		    !hsu_info_entry(code, syms[i].addr, &entry))
			hsu_targets_add(&code->functions, syms[i].addr);
	hsu_targets_sort(&code->functions);
	free(syms);
}

/* Functions that @targets tell of, and that were not known, are added to @news. */
static void learn_functions(struct hsu_code *code,
			    const struct hsu_targets *targets,
			    struct hsu_targets *news)
{
	struct hsu_entry entry;
	u64 addr = code->start - 1;

	while ((addr = hsu_targets_next(targets, addr)) < code->end)
		if (addr % 8 == 0 && !hsu_info_entry(code, addr, &entry) &&
		    !hsu_targets_has(&code->functions, addr))
			hsu_targets_add(news, addr);
	hsu_targets_sort(news);
}

/* Again, where another function has been found in what was taken for one. */
static bool refine(struct hsu_builder *b, struct hsu_code *code, u8 cls,
		   struct hsu_rows *flow, struct hsu_targets *targets)
{
	struct hsu_targets news = { 0 };
	size_t i, nr;

	learn_functions(code, targets, &news);
	for (i = 0; i < news.nr; i++)
		hsu_targets_add(&code->functions, news.addr[i]);
	hsu_targets_sort(&code->functions);
	nr = news.nr;
	if (nr)
		hsu_sp_flow(code, &news, b->base, cls, targets, flow,
			    &b->info->flow);
	targets->failed |= news.failed;
	hsu_targets_free(&news);
	return nr;
}

static bool load_code(struct hsu_builder *b, const struct hsu_range *r,
		      struct hsu_code *code)
{
	u64 len = r->end - r->start;
	u8 *bytes = malloc(len);

	*code = (struct hsu_code){
		.elf = b->elf, .bytes = bytes, .start = r->start, .end = r->end,
		.profiled = b->info->profiled,
		.rts = r->cls == HSUNWIND_CLASS_HS_RTS,
	};
	if (!bytes)
		return false;
	if (hsu_elf_read(b->elf, r->start, bytes, len) != len) {
		code->end = code->start;
		return true;
	}
	if (!hsu_info_map(code))
		return false;
	if (!code->rts)
		find_functions(b, code);
	return true;
}

/* Functions of the run-time system, by their symbols or who points to them. */
static void add_functions(struct hsu_builder *b, const struct hsu_range *r,
			  struct hsu_targets *targets)
{
	struct hsu_symbol *syms;
	size_t nr, i;

	syms = hsu_elf_symbols(b->elf, r->start, r->end, &nr);
	for (i = 0; i < nr; i++)
		hsu_targets_add(targets, syms[i].addr);
	free(syms);
	if (!nr)
		hsu_find_pointers(b, r, targets);
}

static void class_rows(struct hsu_builder *b, struct hsu_code *codes, u8 cls,
		       struct hsu_rows *flow, struct hsu_targets *targets)
{
	size_t i;

	for (i = 0; i < b->haskell.nr; i++)
		if (b->haskell.v[i].cls == cls)
			hsu_sp_flow(&codes[i], NULL, b->base, cls, targets,
				    flow, &b->info->flow);
	hsu_targets_sort(targets);
}

/* Functions without info tables show one after the other, by who calls them. */
static void refine_rows(struct hsu_builder *b, struct hsu_code *codes,
			struct hsu_rows *flow, struct hsu_targets *targets)
{
	bool again = true;
	size_t i;

	while (again && !targets->failed && !flow->failed) {
		again = false;
		for (i = 0; i < b->haskell.nr; i++)
			if (!codes[i].rts)
				again |= refine(b, &codes[i],
						b->haskell.v[i].cls, flow,
						targets);
		hsu_targets_sort(targets);
	}
}

/*
 * Rows from the machine code itself. The run-time system comes last, and again
 * and again: what other code and its own functions jump to there are functions
 * too, until no more are found. Each leads only a few jumps further.
 */
static void flow_rows(struct hsu_builder *b, struct hsu_code *codes,
		      struct hsu_rows *flow)
{
	struct hsu_targets targets = { 0 };
	struct hsu_sp_stats stats;
	size_t i, known;

	for (i = 0; i < b->haskell.nr; i++)
		if (codes[i].rts)
			add_functions(b, &b->haskell.v[i], &targets);
	class_rows(b, codes, HSUNWIND_CLASS_HS, flow, &targets);
	refine_rows(b, codes, flow, &targets);
	stats = b->info->flow;
	do {
		struct hsu_rows rows;

		known = targets.nr;
		hsu_rows_init(&rows);
		class_rows(b, codes, HSUNWIND_CLASS_HS_RTS, &rows, &targets);
		hsu_rows_free(&rows);
		b->info->flow = stats;
	} while (targets.nr > known && !targets.failed);
	class_rows(b, codes, HSUNWIND_CLASS_HS_RTS, flow, &targets);
	flow->failed |= targets.failed;
	hsu_targets_free(&targets);
}

static void code_rows(struct hsu_builder *b, struct hsu_rows *flow)
{
	struct hsu_code *codes = calloc(b->haskell.nr + 1, sizeof(*codes));
	size_t i;

	flow->failed |= !codes;
	for (i = 0; codes && i < b->haskell.nr; i++)
		flow->failed |= !load_code(b, &b->haskell.v[i], &codes[i]);
	if (!flow->failed)
		flow_rows(b, codes, flow);
	for (i = 0; codes && i < b->haskell.nr; i++) {
		flow->failed |= codes[i].functions.failed;
		hsu_targets_free(&codes[i].functions);
		free(codes[i].tables);
		free((void *)codes[i].bytes);
	}
	free(codes);
}

/* Haskell code between the rows that are known. */
static void fill(struct hsu_builder *b, const struct hsu_range *r,
		 const struct hsu_rows *sp, size_t *i, u8 kind)
{
	struct hsunwind_rule rule = { .kind = kind, .cls = r->cls };
	u64 at = r->start - b->base, end = r->end - b->base;

	while (*i < sp->nr_spans && sp->spans[*i].end <= at)
		(*i)++;
	for (; *i < sp->nr_spans && sp->spans[*i].start < end; (*i)++) {
		const struct hsu_span *s = &sp->spans[*i];

		hsu_rows_add(&b->rows, at, s->start, &rule);
		hsu_rows_add(&b->rows, s->start, s->end, &sp->rules[s->rule]);
		at = s->end;
	}
	hsu_rows_add(&b->rows, at, end, &rule);
}

/* Adds to @sp what it does not cover of @more; both are sorted. */
static void supplement(struct hsu_rows *sp, const struct hsu_rows *more)
{
	size_t nr = sp->nr_spans, i, j = 0;

	for (i = 0; i < more->nr_spans; i++) {
		const struct hsunwind_rule *rule;
		u32 at = more->spans[i].start;
		u32 end = more->spans[i].end;

		rule = &more->rules[more->spans[i].rule];
		while (j < nr && sp->spans[j].end <= at)
			j++;
		for (; j < nr && sp->spans[j].start < end; j++) {
			hsu_rows_add(sp, at, sp->spans[j].start, rule);
			at = sp->spans[j].end;
		}
		if (j)
			j--;
		hsu_rows_add(sp, at, end, rule);
	}
	sp->failed |= more->failed;
	hsu_rows_sort(sp);
}

/*
 * The machine code is the better source: it says the same as .debug_frame
 * where that is right, and GHC gets it wrong around unsafe calls (GHC #11353).
 */
void hsu_build_haskell(struct hsu_builder *b, unsigned int flags)
{
	struct hsu_rows sp, dbg;
	size_t i, next = 0;

	hsu_rows_init(&sp);
	if (!(flags & HSU_BUILD_NO_FLOW))
		code_rows(b, &sp);
	hsu_rows_sort(&sp);
	if (!(flags & HSU_BUILD_NO_DEBUG) && b->debug && b->haskell.nr) {
		hsu_rows_init(&dbg);
		debug_rows(b, &dbg);
		hsu_rows_sort(&dbg);
		supplement(&sp, &dbg);
		hsu_rows_free(&dbg);
	}
	for (i = 0; i < b->haskell.nr; i++)
		fill(b, &b->haskell.v[i], &sp, &next,
		     flags & HSU_BUILD_NO_FLOW ? HSUNWIND_RULE_HS_SCAN :
						 HSUNWIND_RULE_HS);
	b->rows.failed |= sp.failed;
	hsu_rows_free(&sp);
}
