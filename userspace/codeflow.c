// SPDX-License-Identifier: GPL-2.0-only
#include "codeflow.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TABLE	1024	/* entries of a jump table */

/* The address that the last lea from rip formed: of a jump table, perhaps. */
struct last_lea {
	ZydisRegister reg;
	u64 addr;
};

void hsu_flow_init(struct hsu_flow *f, const struct hsu_code *code,
		   const struct hsu_flow_ops *ops)
{
	memset(f, 0, sizeof(*f));
	f->code = code;
	f->ops = ops;
	ZydisDecoderInit(&f->decoder, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
}

void hsu_flow_free(struct hsu_flow *f)
{
	free(f->at);
	free(f->size);
	free(f->work);
}

s64 hsu_insn_imm(const ZydisDecodedOperand *op)
{
	return op->imm.is_signed ? op->imm.value.s : (s64)op->imm.value.u;
}

bool hsu_insn_adds(const struct hsu_insn *insn, ZydisRegister reg, s64 *by)
{
	const ZydisDecodedOperand *op = insn->op;

	if (insn->d.operand_count_visible < 2 || !hsu_insn_is_reg(&op[0], reg))
		return false;
	switch (insn->d.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (op[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return false;
		*by = hsu_insn_imm(&op[1]);
		if (insn->d.mnemonic == ZYDIS_MNEMONIC_SUB)
			*by = -*by;
		return true;
	case ZYDIS_MNEMONIC_LEA:
		*by = op[1].mem.disp.value;
		return op[1].mem.base == reg &&
			op[1].mem.index == ZYDIS_REGISTER_NONE;
	default:
		return false;
	}
}

static void push_work(struct hsu_flow *f, u64 addr)
{
	if (f->nr_work == f->cap_work) {
		size_t cap = f->cap_work ? 2 * f->cap_work : 256;
		u64 *grown = reallocarray(f->work, cap, sizeof(*grown));

		if (!grown) {
			f->bad = true;
			return;
		}
		f->work = grown;
		f->cap_work = cap;
	}
	f->work[f->nr_work++] = addr;
}

/* Control reaches an address of the function in this state. */
static void reach(struct hsu_flow *f, const struct hsu_insn *insn, u64 addr,
		  u64 state)
{
	u64 *at = &f->at[addr - f->start];
	u64 joined = state;

	if (!f->ops->follows(f, insn, addr, state))
		return;
	if (*at)
		joined = f->ops->join(f, *at, state);
	if (joined == *at)
		return;
	*at = joined;
	push_work(f, addr);
}

static bool inside(const struct hsu_flow *f, u64 addr)
{
	return addr >= f->start && addr < f->end;
}

/*
 * A dense case compiles to a jump through a table: of addresses, or of
 * distances from the table itself, which have 4 bytes in code of C compilers
 * and 8 in GHC's. The end of the table is where it stops naming code of this
 * function.
 */
static bool jump_table(struct hsu_flow *f, const struct hsu_insn *insn,
		       u64 table, unsigned int size, u64 base, u64 state)
{
	unsigned int i;

	for (i = 0; i < MAX_TABLE; i++) {
		s64 entry = 0;

		if (hsu_elf_read(f->code->elf, table + i * size, &entry,
				 size) != size)
			break;
		if (size == 4)
			entry = (s32)entry;
		if (!inside(f, base + (u64)entry))
			break;
		reach(f, insn, base + (u64)entry, state);
	}
	return i > 0;
}

static void jump(struct hsu_flow *f, const struct hsu_insn *insn,
		 const struct last_lea *lea, u64 state)
{
	const ZydisDecodedOperand *op = &insn->op[0];
	bool known = false;

	if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		u64 target = insn->addr + insn->d.length + hsu_insn_imm(op);

		if (inside(f, target))
			reach(f, insn, target, state);
		else
			f->ops->leaves(f, insn, target, state);
		return;
	}
	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    op->mem.index != ZYDIS_REGISTER_NONE) {
		if (op->mem.base == ZYDIS_REGISTER_NONE)
			known = jump_table(f, insn, op->mem.disp.value, 8, 0,
					   state);
		else if (op->mem.base == lea->reg)
			known = jump_table(f, insn, lea->addr, 8, 0, state);
	} else if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && lea->addr) {
		known = jump_table(f, insn, lea->addr, 8, lea->addr, state) ||
			jump_table(f, insn, lea->addr, 4, lea->addr, state);
	}
	if (!known)
		f->ops->leaves(f, insn, 0, state);
}

static bool decode(struct hsu_flow *f, u64 addr, struct hsu_insn *insn)
{
	const u8 *p = f->code->bytes + (addr - f->code->start);
	ZydisDecoderContext ctx;

	insn->addr = addr;
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&f->decoder, &ctx, p,
							  f->end - addr,
							  &insn->d)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&f->decoder, &ctx,
						       &insn->d, insn->op,
						       insn->d.operand_count_visible));
}

/* From one instruction on, up to the end of its block. */
static void follow(struct hsu_flow *f, u64 addr)
{
	struct last_lea lea = { ZYDIS_REGISTER_NONE, 0 };
	u64 state = f->at[addr - f->start];
	struct hsu_insn insn;
	u64 target;

	while (!f->bad) {
		if (!decode(f, addr, &insn)) {
			f->bad = true;
			return;
		}
		f->size[addr - f->start] = insn.d.length;

		switch (insn.d.meta.category) {
		case ZYDIS_CATEGORY_UNCOND_BR:
			jump(f, &insn, &lea, state);
			return;
		case ZYDIS_CATEGORY_RET:
			f->ops->leaves(f, &insn, 0, state);
			return;
		case ZYDIS_CATEGORY_INTERRUPT:
			return;
		case ZYDIS_CATEGORY_COND_BR:
			target = addr + insn.d.length + hsu_insn_imm(insn.op);
			if (inside(f, target))
				reach(f, &insn, target, state);
			else
				f->ops->leaves(f, &insn, target, state);
			break;
		case ZYDIS_CATEGORY_CALL:
			break;
		default:
			state = f->ops->after(f, &insn, state);
			if (insn.d.mnemonic == ZYDIS_MNEMONIC_LEA &&
			    insn.op[1].mem.base == ZYDIS_REGISTER_RIP) {
				lea.reg = insn.op[0].reg.value;
				lea.addr = addr + insn.d.length +
					insn.op[1].mem.disp.value;
				/* Code whose address is taken is jumped to. */
				if (inside(f, lea.addr))
					reach(f, &insn, lea.addr, state);
			}
			break;
		}
		addr += insn.d.length;
		if (!inside(f, addr)) {
			f->bad = true;
			return;
		}
		if (f->at[addr - f->start] ||
		    !f->ops->follows(f, NULL, addr, state)) {
			reach(f, NULL, addr, state);
			return;
		}
		f->at[addr - f->start] = state;
	}
}

void hsu_flow_begin(struct hsu_flow *f, u64 start, u64 end)
{
	size_t len = end - start;

	f->start = start;
	f->end = end;
	f->bad = false;
	f->nr_work = 0;
	if (len > f->cap) {
		free(f->at);
		free(f->size);
		f->at = reallocarray(NULL, len, sizeof(*f->at));
		f->size = malloc(len);
		f->cap = f->at && f->size ? len : 0;
	}
	if (!len || len > f->cap)
		f->bad = true;
	else
		memset(f->at, 0, len * sizeof(*f->at));
}

void hsu_flow_enter(struct hsu_flow *f, u64 addr, u64 state)
{
	if (f->bad || f->at[addr - f->start])
		return;
	f->at[addr - f->start] = state;
	push_work(f, addr);
	while (f->nr_work && !f->bad)
		follow(f, f->work[--f->nr_work]);
}
