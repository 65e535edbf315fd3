// SPDX-License-Identifier: GPL-2.0-only
/*
 * StgRun, the hand-written function by which C enters Haskell code, and other
 * hand-written code of GHC's RTS.
 *
 * Its CFI is right while Haskell code runs, but not in its prologue and
 * epilogue. These are straight-line code that we can follow.
 */
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>

#include "builder.h"

#define MAX_CODE	512

struct follow {
	s64 cfa;		/* CFA - rsp */
	bool alias_ok;		/* a scratch register holds a stack address */
	ZydisRegister alias;
	s64 alias_cfa;		/* CFA - that address */
	struct hsunwind_rule rule;
};

static s16 *slot_of(struct hsunwind_rule *rule, ZydisRegister reg)
{
	switch (reg) {
	case ZYDIS_REGISTER_RBP:
		return &rule->rbp;
	case ZYDIS_REGISTER_RBX:
		return &rule->rbx;
	case ZYDIS_REGISTER_R14:
		return &rule->r14;
	default:
		return NULL;
	}
}

/* CFA - address of a memory operand; false if it is not on the stack. */
static bool stack_operand(const struct follow *f, const ZydisDecodedOperand *op,
			  s64 *dist)
{
	s64 disp = op->mem.disp.has_displacement ? op->mem.disp.value : 0;

	if (op->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    op->mem.index != ZYDIS_REGISTER_NONE)
		return false;
	if (op->mem.base == ZYDIS_REGISTER_RSP)
		*dist = f->cfa - disp;
	else if (f->alias_ok && op->mem.base == f->alias)
		*dist = f->alias_cfa - disp;
	else
		return false;
	return true;
}

static void follow_mov(struct follow *f, const ZydisDecodedOperand *ops)
{
	s64 dist;
	s16 *slot;

	if (ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		if (f->alias_ok && ops[0].reg.value == f->alias)
			f->alias_ok = false;
		if (ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ops[1].reg.value == ZYDIS_REGISTER_RSP) {
			f->alias_ok = true;
			f->alias = ops[0].reg.value;
			f->alias_cfa = f->cfa;
		}
		slot = slot_of(&f->rule, ops[0].reg.value);
		if (slot && stack_operand(f, &ops[1], &dist) &&
		    dist == -8 * (s64)*slot)
			*slot = HSUNWIND_SLOT_SAME;	/* restored */
		return;
	}
	if (ops[1].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    !stack_operand(f, &ops[0], &dist) || dist % 8 || dist <= 0 ||
	    dist / 8 > 32767)
		return;
	slot = slot_of(&f->rule, ops[1].reg.value);
	if (slot && *slot == HSUNWIND_SLOT_SAME)
		*slot = (s16)(-dist / 8);
}

/* Updates the state for one instruction; false if it is not understood. */
static bool follow_insn(struct follow *f, const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *ops)
{
	s64 n;
	s16 *slot;

	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_ADD:
		if (ops[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    ops[0].reg.value != ZYDIS_REGISTER_RSP)
			return true;
		if (ops[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return false;
		n = ops[1].imm.value.s;
		f->cfa += insn->mnemonic == ZYDIS_MNEMONIC_SUB ? n : -n;
		return true;
	case ZYDIS_MNEMONIC_PUSH:
		f->cfa += 8;
		slot = slot_of(&f->rule, ops[0].reg.value);
		if (ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER && slot &&
		    *slot == HSUNWIND_SLOT_SAME)
			*slot = (s16)(-f->cfa / 8);
		return true;
	case ZYDIS_MNEMONIC_POP:
		slot = slot_of(&f->rule, ops[0].reg.value);
		if (ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER && slot &&
		    f->cfa == -8 * (s64)*slot)
			*slot = HSUNWIND_SLOT_SAME;
		f->cfa -= 8;
		return true;
	case ZYDIS_MNEMONIC_MOV:
		follow_mov(f, ops);
		return true;
	case ZYDIS_MNEMONIC_RET:
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_ENDBR64:
		return true;
	default:
		return false;
	}
}

static bool same_frame(const struct hsunwind_rule *a,
		       const struct hsunwind_rule *b)
{
	return a->cfa_off == b->cfa_off && a->rbp == b->rbp &&
	       a->rbx == b->rbx && a->r14 == b->r14;
}

/*
 * Follows the code of StgRun from its entry. Haskell code runs behind its
 * indirect jump, and comes back to the instruction behind that jump: nothing
 * changes there. Returns false if the code does not agree with the CFI.
 */
static bool follow_stgrun(const struct hsu_stgrun *s, const u8 *code, size_t len,
			  u64 base, struct hsu_rows *rows)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	struct follow f = { .cfa = 8, .rule = s->rule };
	ZydisDecodedInstruction insn;
	ZydisDecoder dec;
	bool agreed = false;
	size_t i;

	f.rule.rbp = HSUNWIND_SLOT_SAME;
	f.rule.rbx = HSUNWIND_SLOT_SAME;
	f.rule.r14 = HSUNWIND_SLOT_SAME;
	ZydisDecoderInit(&dec, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	for (i = 0; i < len; i += insn.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&dec, code + i,
							 len - i, &insn, ops)))
			return false;
		f.rule.cfa_off = (s32)f.cfa;
		if (f.cfa < 8 || f.cfa > 1 << 18)
			return false;
		hsu_rows_add(rows, s->entry + i - base,
			     s->entry + i + insn.length - base, &f.rule);
		if (insn.mnemonic == ZYDIS_MNEMONIC_RET)
			return agreed && f.cfa == 8;
		if (insn.mnemonic == ZYDIS_MNEMONIC_JMP) {
			if (!same_frame(&f.rule, &s->rule))
				return false;
			agreed = true;
		}
		if (!follow_insn(&f, &insn, ops))
			return false;
	}
	return false;
}

/*
 * C compilers put their own prologue before the hand-written code if they do
 * not optimise, so the entry must be searched: the last address from which the
 * code agrees with the CFI.
 */
static bool find_entry(struct hsu_builder *b, const u8 *code, size_t len)
{
	struct hsu_stgrun *s = &b->stgrun;
	size_t n = b->rows.nr_spans;

	for (s->entry = s->body; s->entry-- > s->start;) {
		if (follow_stgrun(s, code + (s->entry - s->start),
				  len - (s->entry - s->start), b->base,
				  &b->rows))
			return true;
		b->rows.nr_spans = n;
	}
	s->entry = s->start;
	return false;
}

static void replace_rows(struct hsu_builder *b)
{
	const struct hsu_stgrun *s = &b->stgrun;
	struct hsunwind_rule rule = s->rule;
	u8 code[MAX_CODE];
	size_t len, i, n = 0;

	/* The rows of the CFI go; nothing else covers this function. */
	for (i = 0; i < b->rows.nr_spans; i++)
		if (b->rows.spans[i].start < s->start - b->base ||
		    b->rows.spans[i].start >= s->end - b->base)
			b->rows.spans[n++] = b->rows.spans[i];
	b->rows.nr_spans = n;

	len = s->end - s->start;
	if (len <= sizeof(code) &&
	    hsu_elf_read(b->elf, s->start, code, len) == len &&
	    find_entry(b, code, len))
		return;
	/* A StgRun that we have not seen yet: trust its CFI. */
	rule.cfa_off = 8;
	rule.rbp = HSUNWIND_SLOT_SAME;
	rule.rbx = HSUNWIND_SLOT_SAME;
	rule.r14 = HSUNWIND_SLOT_SAME;
	hsu_rows_add(&b->rows, s->start - b->base, s->body - b->base, &rule);
	hsu_rows_add(&b->rows, s->body - b->base, s->end - b->base, &s->rule);
}

static void take_call(void *ctx, u64 after, u64 target, bool call)
{
	struct hsu_builder *b = ctx;

	if (call && target == b->stgrun.entry &&
	    b->nr_rets < HSUNWIND_MAX_STGRUN_RETS)
		b->rets[b->nr_rets++] = after;
}

/*
 * An adjustor for more than five integer arguments calls the C function with
 * this return address: "add $8, %rsp; ret". Its CFI describes a function that
 * was called, but it is only ever returned to, with one word more on the stack.
 */
static void fix_obscure_ccall(struct hsu_builder *b)
{
	static const u8 code[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };
	struct hsunwind_rule rule = {
		.kind = HSUNWIND_RULE_CFA,
		.cls = HSUNWIND_CLASS_GLUE,
		.cfa_reg = HSU_RSP,
		.cfa_off = 16,
	};
	u8 buf[sizeof(code)];
	size_t i, j;

	for (i = 0; i < b->fdes.nr; i++) {
		const struct hsu_range *f = &b->fdes.v[i];
		u64 at = f->start - b->base;

		if (f->end - f->start < sizeof(code) ||
		    f->end - f->start > 2 * sizeof(code) ||
		    hsu_elf_read(b->elf, f->start, buf, sizeof(buf)) <
		    sizeof(buf) || memcmp(buf, code, sizeof(code)))
			continue;
		for (j = 0; j < b->rows.nr_spans; j++)
			if (b->rows.spans[j].start == at)
				b->rows.spans[j].start = (u32)at + 4;
		/* One byte more: that is where a return address is looked up. */
		hsu_rows_add(&b->rows, at - 1, at + 4, &rule);
	}
}

void hsu_build_stgrun(struct hsu_builder *b)
{
	size_t i;

	if (!b->stgrun.found)
		return;
	replace_rows(b);
	fix_obscure_ccall(b);
	for (i = 0; i < b->fdes.nr; i++)
		hsu_each_branch(b, b->fdes.v[i].start, b->fdes.v[i].end,
				take_call, b);
}
