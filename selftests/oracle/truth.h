/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The true logical stack, kept up to date by watching what the program does.
 *
 * C: every call pushes a return address, which is gone once rsp has passed it.
 *
 * Haskell: what counts as a caller's frame is decided where code jumps to a
 * function, thunk or other entry: all frames that lie on the stack at that
 * moment wait for what is entered. A return takes the topmost one off, and its
 * code then owns the frame. So nothing needs to be known of how far Sp is from
 * the caller's frame inside of a function, which is what is tested. The future
 * tells whether it was right: each return must find the frame on top.
 */
#ifndef ORACLE_TRUTH_H
#define ORACLE_TRUTH_H

#include "code.h"

struct truth;

/**
 * struct truth_checks - does the truth deserve its name?
 * @returns: returns that found their frame on top.
 * @entries: jumps to entries, with frames found on the stack.
 * @dropped: frames that were never returned to: exceptions.
 * @resumed: times that Sp was loaded from memory.
 * @doubts: what could not be explained; must be 0. Each is reported when it
 *	happens, and the truth is then taken from the stack anew.
 */
struct truth_checks {
	unsigned long returns;
	unsigned long entries;
	unsigned long dropped;
	unsigned long resumed;
	unsigned long doubts;
};

/* What the program is doing, for the account of exactness. */
#define STATES(X)							\
	X(ENTRY, "first instruction of Haskell code")			\
	X(RETURNED, "after a return, frame not popped yet")		\
	X(OWN_FRAME, "own frame pushed, not yet jumped")		\
	X(SP_MOVED, "Sp moved inside of a block")			\
	X(SP_AT_CALLER, "Sp at the caller's frame")			\
	X(APPLY, "run-time system: stg_ap_*")				\
	X(RTS_HASKELL, "run-time system: other Haskell code")		\
	X(LINKER, "linker's stubs, between Haskell functions")		\
	X(STGRUN, "StgRun, StgReturn")					\
	X(C_ENTRY, "C: first instruction")				\
	X(C_END, "C: return instruction")				\
	X(C_FRAME, "C: in the middle of its frame's making")		\
	X(C_UNSAFE, "C: called from Haskell")				\
	X(C_SUSPENDED, "C: Haskell thread is suspended")		\
	X(C_RTS, "C: scheduler, collector")				\
	X(SIGNAL, "signal handler")

#define STATE_ENUM(sym, text) STATE_##sym,
enum state {
	STATES(STATE_ENUM)
	STATE_NR
};

#undef STATE_ENUM

/**
 * truth_stgrun() - where to start
 *
 * Return: address of StgRun. It has no symbol in shared objects, but StgReturn
 * has, which is the end of the same function.
 */
u64 truth_stgrun(void);

/**
 * truth_start() - begin where a thread is about to call StgRun
 * @t: the program, stopped at StgRun's first instruction, with nothing but C
 *	code on its stack.
 * @dwfl: session of libdwfl, which unwinds that C code.
 *
 * Return: NULL if there is something else below.
 */
struct truth *truth_start(struct tracee *t, Dwfl *dwfl);

/**
 * truth_end() - no more to be followed
 * @truth: the truth.
 * @sum: its checks are added here.
 */
void truth_end(struct truth *truth, struct truth_checks *sum);

/**
 * truth_step() - follow one instruction, or the call of a signal handler
 * @truth: the truth.
 * @before: registers before it.
 *
 * Return: false if the thread's outermost function has ended.
 */
bool truth_step(struct truth *truth, const struct user_regs_struct *before);

/**
 * struct caller - one entry of the true chain
 * @ra: return address, or interrupted instruction.
 * @haskell: on a Haskell stack; else on the C stack.
 */
struct caller {
	u64 ra;
	bool haskell;
};

/**
 * truth_chain() - all callers, innermost first
 * @truth: the truth.
 * @chain: where they go.
 * @cap: how many fit.
 *
 * Return: their number, at most @cap.
 */
size_t truth_chain(const struct truth *truth, struct caller *chain, size_t cap);

/* What the thread is about to do. */
enum state truth_state(const struct truth *truth);

#endif /* ORACLE_TRUTH_H */
