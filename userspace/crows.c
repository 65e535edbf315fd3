// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows of C code, from .eh_frame and from the .debug_frame of C compilers.
 */
#include <stdlib.h>
#include <string.h>

#include "builder.h"

struct c_ctx {
	struct hsu_builder *b;
	bool eh;
	const struct hsu_fde *fde;
	u64 end;		/* of the FDE, cut to its section */
	u64 from;		/* the row below holds from here */
	bool have;
	struct hsunwind_rule rule;
	bool foreign;		/* an FDE that is not of C code */
	struct hsu_ranges added;
};

/*
 * StgRun is the one function whose CFI says that the caller's rsp is a
 * constant above the current one, and that nothing else changes.
 */
static bool is_stgrun(struct c_ctx *c, u64 from, const struct hsu_cfa_row *row)
{
	const struct hsu_reg_rule *rsp = &row->regs[HSU_RSP];
	const struct hsu_reg_rule *ra = &row->regs[HSU_CFA_RA];
	const struct hsu_reg_rule *rbp = &row->regs[HSU_RBP];
	const struct hsu_reg_rule *rbx = &row->regs[HSU_RBX];
	const struct hsu_reg_rule *r14 = &row->regs[HSU_R14];
	struct hsu_stgrun *s = &c->b->stgrun;
	u64 reg;
	s64 n;

	if (s->found || row->cfa_expr || row->cfa_reg != HSU_RSP ||
	    row->cfa_off || rsp->how != HSU_REG_IS_EXPR ||
	    !hsu_expr_breg(rsp->expr, rsp->expr_len, &reg, &n) ||
	    reg != HSU_RSP || n < 64 || n % 8 || n > 1 << 18)
		return false;
	if (ra->how != HSU_REG_AT || ra->off != n - 8 ||
	    rbp->how != HSU_REG_AT || rbp->off % 8 ||
	    rbx->how != HSU_REG_AT || rbx->off % 8 ||
	    r14->how != HSU_REG_AT || r14->off % 8 ||
	    rbp->off < 0 || rbp->off >= n || rbx->off < 0 || rbx->off >= n ||
	    r14->off < 0 || r14->off >= n)
		return false;
	s->found = true;
	s->start = c->fde->start;
	s->entry = s->start;
	s->end = c->end;
	s->body = from;
	memset(&s->rule, 0, sizeof(s->rule));
	s->rule.kind = HSUNWIND_RULE_CFA;
	s->rule.cls = HSUNWIND_CLASS_RTS;
	s->rule.cfa_reg = HSU_RSP;
	s->rule.cfa_off = (s32)n;
	s->rule.rbp = (s16)((rbp->off - n) / 8);
	s->rule.rbx = (s16)((rbx->off - n) / 8);
	s->rule.r14 = (s16)((r14->off - n) / 8);
	return true;
}

static void add(struct c_ctx *c, u64 from, u64 to,
		const struct hsunwind_rule *rule)
{
	if (from < to)
		hsu_rows_add(&c->b->rows, from - c->b->base, to - c->b->base,
			     rule);
}

/*
 * A function that aligns its stack ends with "lea -8(%r10),%rsp", or another
 * register that the CFA is in. By then all registers are restored, rbp among
 * them, but GCC's CFI has those in memory still, at a distance from rbp.
 *
 * Returns where that instruction begins, or @to.
 */
static u64 restored_at(const struct c_ctx *c, u64 to)
{
	const struct hsunwind_rule *r = &c->rule;
	const u8 lea[] = { 0x49, 0x8d, 0x60 | (r->cfa_reg & 7), 0xf8 };
	u8 code[sizeof(lea)];

	if (r->kind != HSUNWIND_RULE_CFA || r->slots != HSUNWIND_SLOTS_RBP ||
	    r->cfa_reg < HSU_R8 || to - c->from < sizeof(lea) ||
	    hsu_elf_read(c->b->elf, to - sizeof(lea), code, sizeof(code)) !=
	    sizeof(code) || memcmp(code, lea, sizeof(lea)))
		return to;
	return to - sizeof(lea);
}

static void flush(struct c_ctx *c, u64 to)
{
	struct hsunwind_rule same = c->rule;
	u64 restored;

	if (to > c->end)
		to = c->end;
	if (!c->have || c->from >= to)
		return;
	restored = restored_at(c, to);
	add(c, c->from, restored, &c->rule);
	same.slots = HSUNWIND_SLOTS_CFA;
	same.rbp = HSUNWIND_SLOT_SAME;
	same.rbx = HSUNWIND_SLOT_SAME;
	same.r14 = HSUNWIND_SLOT_SAME;
	add(c, restored, to, &same);
}

static void take_row(void *ctx, u64 from, const struct hsu_cfa_row *row)
{
	struct c_ctx *c = ctx;

	if (c->foreign)
		return;
	if (!c->have && !c->eh &&
	    (row->regs[HSU_CFA_RA].how != HSU_REG_AT ||
	     row->regs[HSU_CFA_RA].off != -8)) {
		c->foreign = true;
		return;
	}
	if (from < c->fde->start || (c->have && from < c->from))
		return;
	flush(c, from);
	if (!hsu_rule_from_row(row, c->fde->signal, &c->rule) &&
	    !is_stgrun(c, from, row))
		c->b->info->nr_inexpressible++;
	c->from = from;
	c->have = true;
}

/* End of the executable section that @addr lies in, 0 if in none. */
static u64 section_end(const struct hsu_builder *b, u64 addr)
{
	const struct hsu_section *s;
	size_t nr, i;

	s = hsu_elf_sections(b->elf, &nr);
	for (i = 0; i < nr; i++)
		if (s[i].exec && addr >= s[i].addr &&
		    addr - s[i].addr < s[i].size)
			return s[i].addr + s[i].size;
	return 0;
}

static void take_fde(void *ctx, const struct hsu_fde *fde)
{
	struct c_ctx *c = ctx;
	struct hsu_builder *b = c->b;
	u64 end = section_end(b, fde->start);

	if (!end || fde->start < b->base)
		return;
	if (!c->eh && hsu_ranges_find(&b->fdes, fde->start))
		return;
	c->fde = fde;
	c->end = fde->end < end ? fde->end : end;
	c->have = false;
	c->foreign = false;
	if (!hsu_cfa_run(fde, take_row, c) && !c->foreign) {
		/* What lies behind a damaged instruction has no rule. */
		b->info->nr_damaged++;
		c->have = false;
	}
	if (c->foreign)
		return;
	flush(c, c->end);
	b->info->nr_fdes++;
	hsu_ranges_add(&c->added, fde->start, c->end, HSUNWIND_CLASS_C);
}

static void run_pass(struct hsu_builder *b, struct hsu_elf *elf, bool eh)
{
	struct c_ctx c = { .b = b, .eh = eh };
	size_t i;

	b->info->nr_damaged += hsu_dwarf_fdes(elf, eh, take_fde, &c);
	for (i = 0; i < c.added.nr; i++)
		hsu_ranges_add(&b->fdes, c.added.v[i].start, c.added.v[i].end,
			       HSUNWIND_CLASS_C);
	b->fdes.failed |= c.added.failed;
	free(c.added.v);
	hsu_ranges_sort(&b->fdes);
}

void hsu_build_c_rows(struct hsu_builder *b)
{
	run_pass(b, b->elf, true);
	if (b->debug)
		run_pass(b, b->debug, false);
}
