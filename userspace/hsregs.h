/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What registers have to do with the Haskell stack, at an instruction of code
 * that GHC has compiled. LLVM keeps Sp in any register, where it is to move later,
 * and loads return addresses before it jumps there.
 */
#ifndef HSU_HSREGS_H
#define HSU_HSREGS_H

#include "codeflow.h"

#define HSU_NR_GPRS	16
#define HSU_GPR_RBP	5	/* in the order of the encoding */
#define HSU_UNWRITTEN	0x7fffffff	/* no word of the stack has been */

/**
 * struct hsu_hs_regs - what is known of the registers
 * @unknown: number of the unknown that all words count from.
 * @address: mask of those that hold addresses on the stack.
 * @loaded: mask of those that hold a word of the stack that the code may not
 *	own: a return address, unless it is used for something else.
 * @ret: mask of those that hold a return address of Haskell code.
 * @own_written: the word at Sp on entry has been written.
 * @saved: Sp is saved in the thread, and registers may be stale.
 * @sp: what has been saved, in words up to the caller's frame.
 * @written: the uppermost word that has been written, in the same way.
 * @pushed: frames have been pushed, one on top of the other.
 * @frame: where the lowest of them begins, in the same way.
 * @above: where the uppermost of them ends.
 * @words: of each register, up to the caller's frame: of the address that it
 *	holds, or that its value has been loaded from; or of the frame that it returns to.
 */
struct hsu_hs_regs {
	u32 unknown;
	u16 address;
	u16 loaded;
	u16 ret;
	u8 own_written;
	u8 saved;
	u8 pushed;
	u8 pad[3];
	s32 sp;
	s32 written;
	s32 frame;
	s32 above;
	s32 words[HSU_NR_GPRS];
};

_Static_assert(sizeof(struct hsu_hs_regs) % 8 == 0, "hashed by words");

/**
 * struct hsu_hs_states - states that have come up in a procedure, by number
 * @v: the states.
 * @nr: their number.
 *
 * The rest is private.
 */
struct hsu_hs_states {
	struct hsu_hs_regs *v;
	u32 nr;

	/* private: */
	u32 cap;
	u32 *slots;
};

/* Forgets all states. */
void hsu_hs_states_reset(struct hsu_hs_states *s);
void hsu_hs_states_free(struct hsu_hs_states *s);

/**
 * hsu_hs_states_add() - number of a state
 * @s: the states.
 * @regs: the state; what it says of registers that are in no mask is ignored.
 *
 * Return: a number, from 0; or -1 if memory has run out.
 */
s64 hsu_hs_states_add(struct hsu_hs_states *s, const struct hsu_hs_regs *regs);

/* Number of a general register of any width, in the order of the encoding; -1. */
int hsu_gpr(ZydisRegister reg);

/**
 * hsu_hs_address() - does an operand refer to the stack by a known register?
 * @regs: what is known.
 * @op: the operand.
 * @words: out: from there up to the caller's frame.
 */
bool hsu_hs_address(const struct hsu_hs_regs *regs,
		    const ZydisDecodedOperand *op, s32 *words);

/**
 * hsu_hs_write() - what an instruction does to the registers that it writes
 * @regs: what is known; changed.
 * @insn: the instruction.
 */
void hsu_hs_write(struct hsu_hs_regs *regs, const struct hsu_insn *insn);

/**
 * hsu_hs_meet() - keep what holds in another state too
 * @regs: what is known; changed.
 * @other: the other state.
 * @excess: words that @other counts more.
 */
void hsu_hs_meet(struct hsu_hs_regs *regs, const struct hsu_hs_regs *other,
		 s32 excess);

#endif /* HSU_HSREGS_H */
