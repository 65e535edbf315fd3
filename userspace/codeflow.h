/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Follows every path through a piece of machine code, and what is known at each
 * instruction of it. What that is, its users say: a state is any number but 0.
 */
#ifndef HSU_CODEFLOW_H
#define HSU_CODEFLOW_H

#include <Zydis/Zydis.h>

#include "elffile.h"
#include "targets.h"

/**
 * struct hsu_code - a contiguous piece of code
 * @elf: the file it is in.
 * @bytes: its bytes.
 * @start: its virtual address.
 * @end: virtual address behind it.
 * @profiled: it is profiled Haskell code.
 * @rts: it is the run-time system's own.
 * @functions: functions in it that have no info table, as far as symbols tell.
 * @tables: a bit for each multiple of 8 in it that an info table is in front
 *	of, or NULL if none has been looked for; see infotable.h.
 */
struct hsu_code {
	struct hsu_elf *elf;
	const u8 *bytes;
	u64 start;
	u64 end;
	bool profiled;
	bool rts;
	struct hsu_targets functions;
	u64 *tables;
};

/**
 * struct hsu_insn - one decoded instruction
 * @addr: its virtual address.
 * @d: the instruction.
 * @op: its visible operands.
 */
struct hsu_insn {
	u64 addr;
	ZydisDecodedInstruction d;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT_VISIBLE];
};

struct hsu_flow;

/**
 * struct hsu_flow_ops - what is followed
 * @after: state behind an instruction that is no jump or return, or a
 *	conditional jump that is not taken.
 * @follows: is a jump to (or falling into) @target, an address of the function,
 *	part of the path? @insn is the jump, or NULL.
 * @leaves: the path ends with @insn: a return, a jump out of the function to
 *	@target, or one to an unknown place (@target is 0).
 * @join: two paths meet in states @old and @state. Returns @old if nothing
 *	changes, or the state to go on with from there.
 */
struct hsu_flow_ops {
	u64 (*after)(struct hsu_flow *f, const struct hsu_insn *insn,
		     u64 state);
	bool (*follows)(struct hsu_flow *f, const struct hsu_insn *insn,
			u64 target, u64 state);
	void (*leaves)(struct hsu_flow *f, const struct hsu_insn *insn,
		       u64 target, u64 state);
	u64 (*join)(struct hsu_flow *f, u64 old, u64 state);
};

/**
 * struct hsu_flow - the paths through one function
 * @code: the code that the function is in.
 * @ops: what is followed.
 * @start: its first address.
 * @end: first address behind it.
 * @at: by byte from @start: state before the instruction there, 0 if none.
 * @size: by byte from @start: length of the instruction there.
 * @bad: the code is not understood; set by anyone, ends the work.
 *
 * The rest is private.
 */
struct hsu_flow {
	const struct hsu_code *code;
	const struct hsu_flow_ops *ops;
	u64 start;
	u64 end;
	u64 *at;
	u8 *size;
	bool bad;

	/* private: */
	ZydisDecoder decoder;
	struct hsu_targets tables;
	size_t cap;
	u64 *work;
	size_t nr_work;
	size_t cap_work;
};

void hsu_flow_init(struct hsu_flow *f, const struct hsu_code *code,
		   const struct hsu_flow_ops *ops);
void hsu_flow_free(struct hsu_flow *f);

/**
 * hsu_flow_begin() - start anew with a function
 * @f: the flow.
 * @start: its first address.
 * @end: first address behind it.
 */
void hsu_flow_begin(struct hsu_flow *f, u64 start, u64 end);

/**
 * hsu_flow_enter() - follow all paths from an entry
 * @f: the flow.
 * @addr: an address of the function; nothing happens if it has been reached.
 * @state: what is known there.
 */
void hsu_flow_enter(struct hsu_flow *f, u64 addr, u64 state);

/**
 * hsu_flow_decode() - decode one instruction
 * @f: the flow.
 * @addr: its address, not below the start of the code.
 * @end: no instruction goes beyond; not behind the end of the code.
 * @insn: out: the instruction.
 */
bool hsu_flow_decode(struct hsu_flow *f, u64 addr, u64 end,
		     struct hsu_insn *insn);

/* Value of an immediate operand. */
s64 hsu_insn_imm(const ZydisDecodedOperand *op);

static inline bool hsu_insn_is_reg(const ZydisDecodedOperand *op,
				   ZydisRegister reg)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->reg.value == reg;
}

/**
 * hsu_insn_adds() - does an instruction add a constant to a register?
 * @insn: the instruction.
 * @reg: the register, 64 bits wide.
 * @by: out: the constant, for add, sub and lea.
 *
 * Return: false if it is no such instruction.
 */
bool hsu_insn_adds(const struct hsu_insn *insn, ZydisRegister reg, s64 *by);

#endif /* HSU_CODEFLOW_H */
