/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Running call frame instructions, and turning their result into rules.
 */
#ifndef HSU_CFA_H
#define HSU_CFA_H

#include "elffile.h"

#define HSU_CFA_REGS	17	/* 16 and the return address */
#define HSU_CFA_RA	16

/* How to get the caller's value of a register (DWARF 5, 6.4.1). */
enum hsu_reg_how {
	HSU_REG_SAME,		/* also: no rule given */
	HSU_REG_UNDEFINED,
	HSU_REG_AT,		/* saved at CFA + off */
	HSU_REG_IS,		/* equal to CFA + off */
	HSU_REG_AT_EXPR,	/* saved at the address that expr gives */
	HSU_REG_IS_EXPR,	/* equal to what expr gives */
	HSU_REG_IN,		/* in the register off */
	HSU_REG_OTHER,		/* not understood */
};

struct hsu_reg_rule {
	enum hsu_reg_how how;
	s64 off;
	const u8 *expr;
	size_t expr_len;
};

/**
 * struct hsu_cfa_row - one row of the table that CFI stands for
 * @cfa_expr: expression of the CFA; NULL: it is @cfa_reg + @cfa_off.
 * @cfa_expr_len: its length in bytes.
 * @cfa_reg: DWARF number of a register.
 * @cfa_off: bytes.
 * @regs: rules of the registers.
 */
struct hsu_cfa_row {
	const u8 *cfa_expr;
	size_t cfa_expr_len;
	u64 cfa_reg;
	s64 cfa_off;
	struct hsu_reg_rule regs[HSU_CFA_REGS];
};

/**
 * hsu_cfa_run() - run the instructions of an FDE
 * @fde: the FDE.
 * @fn: called when the location advances and at the end, with the address
 *	from which @row holds.
 * @ctx: for @fn.
 *
 * Addresses may go back, and lie behind the end that the FDE states.
 *
 * Return: false if an instruction is damaged or not known; @fn has then been
 * called for the rows before it.
 */
bool hsu_cfa_run(const struct hsu_fde *fde,
		 void (*fn)(void *ctx, u64 from, const struct hsu_cfa_row *row),
		 void *ctx);

/**
 * hsu_expr_breg() - take "register + constant" from an expression
 * @expr: DWARF expression.
 * @len: its length.
 * @reg: out: register.
 * @off: out: constant.
 *
 * Return: false if it is anything else.
 */
bool hsu_expr_breg(const u8 *expr, size_t len, u64 *reg, s64 *off);

/**
 * hsu_rule_from_row() - the rule of C code that a row stands for
 * @row: the row.
 * @signal: it belongs to a signal frame.
 * @rule: out: the rule; of kind NONE and class C if it cannot be expressed.
 *
 * Return: false if the rule cannot be expressed.
 */
bool hsu_rule_from_row(const struct hsu_cfa_row *row, bool signal,
		       struct hsunwind_rule *rule);

#endif /* HSU_CFA_H */
