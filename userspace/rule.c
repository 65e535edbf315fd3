// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a row of call frame information to a rule of the image.
 */
#include <dwarf.h>
#include <string.h>

#include "cfa.h"
#include "leb.h"

/* What hsu_image_init() accepts. */
#define MAX_CFA_OFF	(1 << 28)

/* The caller's value of a register that the walk tracks, as a slot. */
static s16 slot(const struct hsu_reg_rule *r, u8 slots)
{
	s64 off = r->off;
	u64 reg;

	if (r->how == HSU_REG_SAME)
		return HSUNWIND_SLOT_SAME;
	if (slots == HSUNWIND_SLOTS_RBP) {
		if (r->how != HSU_REG_AT_EXPR ||
		    !hsu_expr_breg(r->expr, r->expr_len, &reg, &off) ||
		    reg != HSU_RBP)
			return HSUNWIND_SLOT_LOST;
		off -= 16;
	} else if (r->how != HSU_REG_AT) {
		return HSUNWIND_SLOT_LOST;
	}
	if (off % 8 || off / 8 < -32767 || off / 8 > 32767 || !off)
		return HSUNWIND_SLOT_LOST;
	return (s16)(off / 8);
}

/*
 * Where the registers are saved. GCC describes those of a function that aligns
 * its stack by their distance from rbp, and goes on to do so at its return,
 * when they have been restored, and rbp too.
 */
static void slots_rule(const struct hsu_cfa_row *row,
		       struct hsunwind_rule *rule)
{
	const struct hsu_reg_rule *rbp = &row->regs[HSU_RBP];
	u64 reg;
	s64 off;

	if (rbp->how == HSU_REG_AT_EXPR &&
	    hsu_expr_breg(rbp->expr, rbp->expr_len, &reg, &off) &&
	    reg == HSU_RBP && !off) {
		if (!row->cfa_expr && row->cfa_reg == HSU_RSP &&
		    row->cfa_off == 8)
			return;
		rule->slots = HSUNWIND_SLOTS_RBP;
	}
	rule->rbp = slot(rbp, rule->slots);
	rule->rbx = slot(&row->regs[HSU_RBX], rule->slots);
	rule->r14 = slot(&row->regs[HSU_R14], rule->slots);
}

/*
 * The expression that linkers write for a lazy PLT: 8 bytes more once the
 * entry has pushed its index, which is after @arg bytes of its 16.
 */
static bool plt_expr(const u8 *e, size_t len, s16 *arg)
{
	static const u8 head[] = {
		DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,
	};
	static const u8 tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };

	if (len != sizeof(head) + 1 + sizeof(tail) ||
	    memcmp(e, head, sizeof(head)) ||
	    memcmp(e + sizeof(head) + 1, tail, sizeof(tail)) ||
	    e[sizeof(head)] < DW_OP_lit0 || e[sizeof(head)] > DW_OP_lit15)
		return false;
	*arg = e[sizeof(head)] - DW_OP_lit0;
	return true;
}

/* breg, deref, optionally a constant added: a saved stack pointer. */
static bool deref_expr(const u8 *e, size_t len, struct hsunwind_rule *rule)
{
	const u8 *p = e, *end = e + len;
	bool bad = false;
	s64 off;
	u64 add = 0;

	if (!len || *p < DW_OP_breg0 || *p > DW_OP_breg15)
		return false;
	rule->cfa_reg = *p++ - DW_OP_breg0;
	off = hsu_sleb(&p, end, &bad);
	if (bad || p == end || *p++ != DW_OP_deref)
		return false;
	if (p < end) {
		if (*p++ != DW_OP_plus_uconst)
			return false;
		add = hsu_uleb(&p, end, &bad);
	}
	if (bad || p != end || off != (s16)off || add > MAX_CFA_OFF)
		return false;
	rule->arg = (s16)off;
	rule->cfa_off = (s32)add;
	return true;
}

/* Where struct sigcontext begins, from where it says that r8 is: its start. */
static bool signal_rule(const struct hsu_cfa_row *row,
			struct hsunwind_rule *rule)
{
	const struct hsu_reg_rule *r8 = &row->regs[HSU_R8];
	const struct hsu_reg_rule *ra = &row->regs[HSU_CFA_RA];
	u64 reg, ra_reg;
	s64 off, ra_off;

	/* rip is the 17th word of struct sigcontext. */
	if (r8->how != HSU_REG_AT_EXPR || ra->how != HSU_REG_AT_EXPR ||
	    !hsu_expr_breg(r8->expr, r8->expr_len, &reg, &off) ||
	    !hsu_expr_breg(ra->expr, ra->expr_len, &ra_reg, &ra_off) ||
	    reg != HSU_RSP || ra_reg != HSU_RSP || ra_off - off != 16 * 8 ||
	    off < 0 || off > 4096)
		return false;
	rule->kind = HSUNWIND_RULE_SIGNAL;
	rule->cls = HSUNWIND_CLASS_LIBC;
	rule->arg = (s16)off;
	return true;
}

static bool convert(const struct hsu_cfa_row *row, bool signal,
		    struct hsunwind_rule *rule)
{
	const struct hsu_reg_rule *ra = &row->regs[HSU_CFA_RA];

	if (ra->how == HSU_REG_UNDEFINED) {
		rule->kind = HSUNWIND_RULE_BOTTOM;
		rule->cls = HSUNWIND_CLASS_LIBC;
		return true;
	}
	if (signal)
		return signal_rule(row, rule);
	if (ra->how == HSU_REG_IN && row->regs[HSU_RSP].how == HSU_REG_SAME &&
	    ra->off >= 0 && ra->off < HSU_NR_REGS)
		rule->kind = HSUNWIND_RULE_RA_REG;
	else if (ra->how != HSU_REG_AT || ra->off != -8)
		return false;
	slots_rule(row, rule);
	if (!row->cfa_expr) {
		if (row->cfa_reg >= HSU_NR_REGS ||
		    row->cfa_off > MAX_CFA_OFF || row->cfa_off < -MAX_CFA_OFF)
			return false;
		if (rule->kind == HSUNWIND_RULE_RA_REG)
			rule->arg = (s16)ra->off;
		else
			rule->kind = HSUNWIND_RULE_CFA;
		rule->cfa_reg = (u8)row->cfa_reg;
		rule->cfa_off = (s32)row->cfa_off;
		return true;
	}
	if (rule->kind == HSUNWIND_RULE_RA_REG)
		return false;
	if (plt_expr(row->cfa_expr, row->cfa_expr_len, &rule->arg)) {
		rule->kind = HSUNWIND_RULE_PLT;
		return true;
	}
	rule->kind = HSUNWIND_RULE_DEREF;
	return deref_expr(row->cfa_expr, row->cfa_expr_len, rule);
}

bool hsu_rule_from_row(const struct hsu_cfa_row *row, bool signal,
		       struct hsunwind_rule *rule)
{
	memset(rule, 0, sizeof(*rule));
	rule->cls = HSUNWIND_CLASS_C;
	if (convert(row, signal, rule))
		return true;
	memset(rule, 0, sizeof(*rule));
	return false;
}
