// SPDX-License-Identifier: GPL-2.0-only
#include "codeflow.h"
#include "grow.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TABLE	1024	/* entries of a jump table */

/*
 * The address that the last lea from rip formed: of a jump table, perhaps. Then
 * the table's entries are that far apart, and so large, in bytes.
 */
struct last_lea {
	ZydisRegister reg;
	u64 addr;
	u8 stride;
	u8 size;
};

static bool is_constant(const struct hsu_code *code, u64 addr)
{
	const struct hsu_load *loads;
	size_t nr, i;

	loads = hsu_elf_loads(code->elf, &nr);
	for (i = 0; i < nr; i++)
		if (addr >= loads[i].vaddr &&
		    addr - loads[i].vaddr < loads[i].memsz)
			return !loads[i].write &&
				(addr < code->start || addr >= code->end);
	return false;
}

/*
 * Finds where tables of addresses may begin, so that none is followed into the
 * next: what indexed jumps and lea refer to among the constants. It does no harm
 * if that are a few bytes that only look so.
 */
static void find_tables(struct hsu_flow *f)
{
	const struct hsu_code *code = f->code;
	const u8 *p = code->bytes;
	size_t len = code->end - code->start, i;
	u64 addr;
	s32 disp;

	for (i = 0; i + 7 <= len; i++) {
		memcpy(&disp, p + i + 3, sizeof(disp));
		if (p[i] == 0xff && p[i + 1] == 0x24 &&
		    (p[i + 2] & 0xc7) == 0xc5)
			addr = (u64)(s64)disp;
		else if (p[i + 1] == 0x8d && (p[i] & 0xfb) == 0x48 &&
			 (p[i + 2] & 0xc7) == 0x05)
			addr = code->start + i + 7 + (u64)(s64)disp;
		else
			continue;
		if (is_constant(code, addr))
			hsu_targets_add(&f->tables, addr);
	}
	hsu_targets_sort(&f->tables);
}

void hsu_flow_init(struct hsu_flow *f, const struct hsu_code *code,
		   const struct hsu_flow_ops *ops)
{
	memset(f, 0, sizeof(*f));
	f->code = code;
	f->ops = ops;
	ZydisDecoderInit(&f->decoder, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	find_tables(f);
}

void hsu_flow_free(struct hsu_flow *f)
{
	free(f->at);
	free(f->size);
	free(f->work);
	hsu_targets_free(&f->tables);
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
	u64 *grown = hsu_grow(f->work, f->nr_work, &f->cap_work,
			      sizeof(*grown));

	if (!grown) {
		f->bad = true;
		return;
	}
	f->work = grown;
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
 * distances from the table itself. In GHC's tables, 0 stands for cases that do
 * not occur. The table ends where it stops naming code of this function, or
 * another one begins.
 */
static bool jump_table(struct hsu_flow *f, const struct hsu_insn *insn,
		       const struct last_lea *lea, u64 base, u64 state)
{
	u64 table = lea->addr;
	u64 end = hsu_targets_next(&f->tables, table);
	bool any = false;
	unsigned int i;

	for (i = 0; i < MAX_TABLE && table + i * lea->stride < end; i++) {
		s64 entry = 0;

		if (hsu_elf_read(f->code->elf, table + i * lea->stride, &entry,
				 lea->size) != lea->size)
			break;
		if (lea->stride == 8 && !entry)
			continue;
		if (lea->size == 4)
			entry = (s32)entry;
		if (!inside(f, base + (u64)entry))
			break;
		reach(f, insn, base + (u64)entry, state);
		any = true;
	}
	return any;
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
		struct last_lea table = { .stride = 8, .size = 8 };

		if (op->mem.base == ZYDIS_REGISTER_NONE)
			table.addr = (u64)op->mem.disp.value;
		else if (op->mem.base == lea->reg)
			table.addr = lea->addr;
		known = table.addr && jump_table(f, insn, &table, 0, state);
	} else if (op->type == ZYDIS_OPERAND_TYPE_REGISTER && lea->stride) {
		known = jump_table(f, insn, lea, lea->addr, state);
	}
	if (!known)
		f->ops->leaves(f, insn, 0, state);
}

/*
 * Notes the address that an instruction forms, or what it loads from there.
 * Returns true for the former.
 */
static bool take_address(const struct hsu_insn *insn, struct last_lea *lea)
{
	const ZydisDecodedOperand *op = &insn->op[1];

	if (insn->d.operand_count_visible < 2 ||
	    op->type != ZYDIS_OPERAND_TYPE_MEMORY)
		return false;
	if (insn->d.mnemonic == ZYDIS_MNEMONIC_LEA) {
		if (op->mem.base != ZYDIS_REGISTER_RIP)
			return false;
		lea->reg = insn->op[0].reg.value;
		lea->addr = insn->addr + insn->d.length +
			(u64)op->mem.disp.value;
		lea->stride = 0;
		return true;
	}
	if (op->mem.base == lea->reg && lea->addr &&
	    op->mem.index != ZYDIS_REGISTER_NONE &&
	    (op->mem.scale == 4 || op->mem.scale == 8) &&
	    (op->size == 32 || op->size == 64)) {
		lea->stride = op->mem.scale;
		lea->size = (u8)(op->size / 8);
	}
	return false;
}

bool hsu_flow_decode(struct hsu_flow *f, u64 addr, u64 end,
		     struct hsu_insn *insn)
{
	const u8 *p = f->code->bytes + (addr - f->code->start);
	ZydisDecoderContext ctx;

	insn->addr = addr;
	return addr < end &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&f->decoder, &ctx, p,
							  end - addr,
							  &insn->d)) &&
	       ZYAN_SUCCESS(ZydisDecoderDecodeOperands(&f->decoder, &ctx,
						       &insn->d, insn->op,
						       insn->d.operand_count_visible));
}

/* From one instruction on, up to the end of its block. */
static void follow(struct hsu_flow *f, u64 addr)
{
	struct last_lea lea = { .reg = ZYDIS_REGISTER_NONE };
	u64 state = f->at[addr - f->start];
	struct hsu_insn insn;
	u64 target;

	while (!f->bad) {
		if (!hsu_flow_decode(f, addr, f->end, &insn)) {
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
			state = f->ops->after(f, &insn, state);
			break;
		default:
			state = f->ops->after(f, &insn, state);
			/* Code whose address is taken is jumped to. */
			if (take_address(&insn, &lea) && inside(f, lea.addr))
				reach(f, &insn, lea.addr, state);
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
