// SPDX-License-Identifier: GPL-2.0-only
/*
 * An interpreter of call frame instructions (DWARF 5, 6.4.2).
 *
 * Our own, and not libdw's: it gives all rows of an FDE in one pass, and it
 * can follow GHC's FDEs behind the end that they state.
 */
#include <dwarf.h>
#include <string.h>

#include "cfa.h"
#include "leb.h"

#define MAX_REMEMBERED	16

struct machine {
	const struct hsu_fde *fde;
	struct hsu_cfa_row row;
	struct hsu_cfa_row init;
	struct hsu_cfa_row stack[MAX_REMEMBERED];
	unsigned int depth;
	u64 loc;
	void (*fn)(void *ctx, u64 from, const struct hsu_cfa_row *row);
	void *ctx;
	bool bad;
};

bool hsu_expr_breg(const u8 *expr, size_t len, u64 *reg, s64 *off)
{
	const u8 *p = expr, *end = expr + len;
	bool bad = false;

	if (!len || *p < DW_OP_breg0 || *p > DW_OP_breg31)
		return false;
	*reg = *p++ - DW_OP_breg0;
	*off = hsu_sleb(&p, end, &bad);
	return !bad && p == end;
}

static s64 scaled(const struct machine *m, u64 factor)
{
	return (s64)(factor * (u64)m->fde->data_align);
}

static void set_reg(struct machine *m, u64 reg, enum hsu_reg_how how, s64 off)
{
	if (reg < HSU_CFA_REGS)
		m->row.regs[reg] = (struct hsu_reg_rule){ .how = how,
							  .off = off };
}

static void set_expr(struct machine *m, u64 reg, enum hsu_reg_how how,
		     const u8 **p, const u8 *end)
{
	u64 len = hsu_uleb(p, end, &m->bad);

	if (m->bad || len > (u64)(end - *p)) {
		m->bad = true;
		return;
	}
	if (reg < HSU_CFA_REGS)
		m->row.regs[reg] = (struct hsu_reg_rule){
			.how = how, .expr = *p, .expr_len = len,
		};
	*p += len;
}

static void restore(struct machine *m, u64 reg)
{
	if (reg < HSU_CFA_REGS)
		m->row.regs[reg] = m->init.regs[reg];
}

static void advance(struct machine *m, u64 delta)
{
	m->fn(m->ctx, m->loc, &m->row);
	m->loc += delta * m->fde->code_align;
}

static u64 fixed(const u8 **p, const u8 *end, int size, bool *bad)
{
	u64 v = 0;
	int i;

	if (end - *p < size) {
		*bad = true;
		return 0;
	}
	for (i = size - 1; i >= 0; i--)
		v = v << 8 | (*p)[i];
	*p += size;
	return v;
}

static void def_cfa(struct machine *m, u64 reg, s64 off)
{
	m->row.cfa_expr = NULL;
	m->row.cfa_reg = reg;
	m->row.cfa_off = off;
}

/* One instruction whose code has no operand in its low bits. */
static void step(struct machine *m, u8 op, const u8 **p, const u8 *end,
		 u64 addr)
{
	bool *bad = &m->bad;
	u64 reg, v;

	switch (op) {
	case DW_CFA_nop:
		return;
	case DW_CFA_set_loc:
		if (!hsu_dwarf_addr(p, end, m->fde->encoding, addr, &v)) {
			*bad = true;
			return;
		}
		m->fn(m->ctx, m->loc, &m->row);
		m->loc = v;
		return;
	case DW_CFA_advance_loc1:
	case DW_CFA_advance_loc2:
	case DW_CFA_advance_loc4:
		v = fixed(p, end, 1 << (op - DW_CFA_advance_loc1), bad);
		if (!*bad)
			advance(m, v);
		return;
	case DW_CFA_MIPS_advance_loc8:
		v = fixed(p, end, 8, bad);
		if (!*bad)
			advance(m, v);
		return;
	case DW_CFA_remember_state:
		if (m->depth == MAX_REMEMBERED)
			*bad = true;
		else
			m->stack[m->depth++] = m->row;
		return;
	case DW_CFA_restore_state:
		if (!m->depth)
			*bad = true;
		else
			m->row = m->stack[--m->depth];
		return;
	case DW_CFA_def_cfa:
		reg = hsu_uleb(p, end, bad);
		def_cfa(m, reg, (s64)hsu_uleb(p, end, bad));
		return;
	case DW_CFA_def_cfa_sf:
		reg = hsu_uleb(p, end, bad);
		def_cfa(m, reg, scaled(m, (u64)hsu_sleb(p, end, bad)));
		return;
	case DW_CFA_def_cfa_register:
		m->row.cfa_reg = hsu_uleb(p, end, bad);
		return;
	case DW_CFA_def_cfa_offset:
		m->row.cfa_off = (s64)hsu_uleb(p, end, bad);
		return;
	case DW_CFA_def_cfa_offset_sf:
		m->row.cfa_off = scaled(m, (u64)hsu_sleb(p, end, bad));
		return;
	case DW_CFA_def_cfa_expression:
		v = hsu_uleb(p, end, bad);
		if (*bad || v > (u64)(end - *p)) {
			*bad = true;
			return;
		}
		m->row.cfa_expr = *p;
		m->row.cfa_expr_len = v;
		*p += v;
		return;
	case DW_CFA_GNU_args_size:
		hsu_uleb(p, end, bad);
		return;
	}

	/* The rest begins with a register. */
	reg = hsu_uleb(p, end, bad);
	switch (op) {
	case DW_CFA_undefined:
		set_reg(m, reg, HSU_REG_UNDEFINED, 0);
		return;
	case DW_CFA_same_value:
		set_reg(m, reg, HSU_REG_SAME, 0);
		return;
	case DW_CFA_offset_extended:
		set_reg(m, reg, HSU_REG_AT, scaled(m, hsu_uleb(p, end, bad)));
		return;
	case DW_CFA_offset_extended_sf:
		set_reg(m, reg, HSU_REG_AT,
			scaled(m, (u64)hsu_sleb(p, end, bad)));
		return;
	case DW_CFA_GNU_negative_offset_extended:
		set_reg(m, reg, HSU_REG_AT,
			(s64)(0 - (u64)scaled(m, hsu_uleb(p, end, bad))));
		return;
	case DW_CFA_val_offset:
		set_reg(m, reg, HSU_REG_IS, scaled(m, hsu_uleb(p, end, bad)));
		return;
	case DW_CFA_val_offset_sf:
		set_reg(m, reg, HSU_REG_IS,
			scaled(m, (u64)hsu_sleb(p, end, bad)));
		return;
	case DW_CFA_register:
		set_reg(m, reg, HSU_REG_IN, (s64)hsu_uleb(p, end, bad));
		return;
	case DW_CFA_expression:
		set_expr(m, reg, HSU_REG_AT_EXPR, p, end);
		return;
	case DW_CFA_val_expression:
		set_expr(m, reg, HSU_REG_IS_EXPR, p, end);
		return;
	case DW_CFA_restore_extended:
		restore(m, reg);
		return;
	}
	*bad = true;
}

static void run(struct machine *m, const u8 *p, const u8 *end, u64 addr)
{
	const u8 *base = p;
	u8 op;

	while (p < end && !m->bad) {
		op = *p++;
		switch (op & 0xc0) {
		case DW_CFA_advance_loc:
			advance(m, op & 0x3f);
			break;
		case DW_CFA_offset:
			set_reg(m, op & 0x3f, HSU_REG_AT,
				scaled(m, hsu_uleb(&p, end, &m->bad)));
			break;
		case DW_CFA_restore:
			restore(m, op & 0x3f);
			break;
		default:
			step(m, op, &p, end, addr + (u64)(p - base));
		}
	}
}

static void ignore(void *ctx, u64 from, const struct hsu_cfa_row *row)
{
	(void)ctx;
	(void)from;
	(void)row;
}

bool hsu_cfa_run(const struct hsu_fde *fde,
		 void (*fn)(void *ctx, u64 from, const struct hsu_cfa_row *row),
		 void *ctx)
{
	struct machine m;

	memset(&m, 0, offsetof(struct machine, stack));
	m.fde = fde;
	m.fn = ignore;
	m.loc = fde->start;
	m.depth = 0;
	m.bad = false;
	run(&m, fde->init, fde->init_end, 0);
	if (m.bad)
		return false;
	m.init = m.row;
	m.loc = fde->start;
	m.fn = fn;
	m.ctx = ctx;
	run(&m, fde->insn, fde->insn_end, fde->insn_addr);
	if (!m.bad)
		fn(ctx, m.loc, &m.row);
	return !m.bad;
}
