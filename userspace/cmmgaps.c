// SPDX-License-Identifier: GPL-2.0-only
/*
 * Haskell code without info tables. A program's own Cmm may have none, and when
 * C code stands around it in the file, nothing else in the gap tells what it is.
 * But how it ends does: it goes on at an address on the Haskell stack, in a
 * closure or in BaseReg's table, or at other Haskell code, and never returns
 * with ret, as all assembler code without CFI does.
 */
#include <Zydis/Zydis.h>

#include "builder.h"

#define WINDOW	4096
#define LOOK	16	/* bytes that an instruction may have */

/* jmp *(%rbp), jmp *(%rbx), jmp *-16(%r13): Sp, R1, BaseReg. */
static bool goes_on(const struct hsu_builder *b,
		    const ZydisDecodedInstruction *insn,
		    const ZydisDecodedOperand *op, u64 addr)
{
	const struct hsu_gap *to;
	ZyanU64 target;
	size_t i;

	if (insn->mnemonic != ZYDIS_MNEMONIC_JMP)
		return false;
	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return op->mem.index == ZYDIS_REGISTER_NONE &&
		       (op->mem.base == ZYDIS_REGISTER_RBP ||
			op->mem.base == ZYDIS_REGISTER_RBX ||
			op->mem.base == ZYDIS_REGISTER_R13);
	if (!ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(insn, op, addr, &target)))
		return false;
	for (i = 0; i < b->nr_gaps; i++) {
		to = &b->gaps[i];
		if (target >= to->crt_end && target < to->end)
			return hsu_gap_has_tables(to) && target % 8 == 0;
	}
	return false;
}

bool hsu_gap_ends_as_haskell(struct hsu_builder *b, const struct hsu_gap *g)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder dec;
	size_t ends = 0;
	u8 buf[WINDOW];
	u64 at = g->crt_end;
	size_t n, i;

	ZydisDecoderInit(&dec, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	while (at < g->end) {
		n = g->end - at < WINDOW ? g->end - at : WINDOW;
		n = hsu_elf_read(b->elf, at, buf, n);
		if (!n)
			break;
		for (i = 0; i < n; i += insn.length) {
			if (i && i + LOOK > n && at + n < g->end)
				break;
			if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&dec, buf + i,
								 n - i, &insn,
								 ops))) {
				insn.length = 1;
				continue;
			}
			if (insn.meta.category == ZYDIS_CATEGORY_RET)
				return false;
			ends += goes_on(b, &insn, ops, at + i);
		}
		at += i;
	}
	return ends > 0;
}
