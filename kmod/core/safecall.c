// SPDX-License-Identifier: GPL-2.0-only
/*
 * Safe foreign calls. While a thread is in one, its stack may be squeezed and
 * moved: the %rbp it had at the call is then stale. The run-time system's own
 * record is not (rts/Schedule.c, suspendThread(); rts/Task.h).
 */
#include "hsu_walk.h"

#define MAX_INCALLS	16	/* nested calls from C into Haskell looked at */
#define SPILL_BATCH	8	/* words of Haskell code's C stack, */
#define SPILL_BATCHES	4	/* so many times, are searched for a Task */

/* The innermost call-in record of an OS thread, if this is its Task. */
static u64 task_incall(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		       u64 task)
{
	u64 incall, back;
	u32 i;

	if (!task || task % 8)
		return 0;
	for (i = 0; i < ARRAY_SIZE(ghc->task_incall); i++)
		if (hsu_read(w, task + ghc->task_incall[i], &incall, 8) &&
		    incall && incall % 8 == 0 &&
		    hsu_read(w, incall + ghc->incall_task, &back, 8) &&
		    back == task)
			return incall;
	return 0;
}

/*
 * A record that belongs to no Haskell stack has no thread bound to it, although
 * it is not that of a worker, which has no other below: performGC() adds one
 * while it collects, and so does hs_try_putmvar(). The bound thread is the first
 * member of struct InCall_ (rts/Task.h, GHC 8.8 to 9.10).
 */
static bool has_stack(struct hsu_walk *w, u64 incall, u64 prev)
{
	u64 bound;

	return !prev || !hsu_read(w, incall, &bound, 8) || bound;
}

/*
 * The code around a safe call keeps what suspendThread() returned, its Task, for
 * resumeThread(), which keeps it too while it waits: in a register that C
 * preserves, or where Haskell code spills registers. There it may also be left
 * over from an earlier call of the same OS thread.
 */
u64 hsu_find_incall(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		    bool *spilled)
{
	const u64 regs[] = {
		w->regs[HSU_RBX], w->regs[HSU_R14], w->callee[0], w->callee[1],
		w->regs[HSU_RBP],	/* in code made with LLVM */
	};
	u64 words[SPILL_BATCH];
	u64 incall = 0;
	u32 i, j;

	*spilled = false;
	for (i = 0; i < ARRAY_SIZE(regs) && !incall; i++)
		incall = task_incall(w, ghc, regs[i]);
	/* An interrupted instruction is seldom in between: not worth it. */
	if (incall || w->exact || !hsu_valid(w, HSU_RSP))
		return incall;
	*spilled = true;
	for (i = 0; i < SPILL_BATCHES && !incall; i++) {
		if (!hsu_read(w, w->regs[HSU_RSP] + i * sizeof(words), words,
			      sizeof(words)))
			break;
		for (j = 0; j < SPILL_BATCH && !incall; j++)
			incall = task_incall(w, ghc, words[j]);
	}
	return incall;
}

/*
 * The Task's stack of call-in records has one for every Haskell stack of the OS
 * thread, innermost first, which names the thread that is suspended there. In
 * front of those may stand records of calls into Haskell that have not got there
 * yet, and others have none at all: see has_stack().
 */
bool hsu_safe_call_sp(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		      u64 *sp)
{
	struct hsu_chunk chunk;
	bool spilled;
	u64 incall, prev, tso;
	u32 seen = 0;
	u32 i;

	incall = hsu_find_incall(w, ghc, &spilled);
	for (i = 0; i < MAX_INCALLS && incall; i++, incall = prev) {
		if (!hsu_read(w, incall + ghc->incall_suspended, &tso, 8) ||
		    !hsu_read(w, incall + ghc->incall_prev, &prev, 8))
			return false;
		if (!has_stack(w, incall, prev) || seen++ < w->nr_incalls)
			continue;
		if (tso) {
			if (!hsu_thread_chunk(w, ghc, tso, &chunk))
				return false;
			*sp = chunk.sp;
			w->nr_incalls = seen;
			w->incall_used = true;
			return true;
		}
		/*
		 * Not in a safe call, or in suspendThread() or resumeThread()
		 * and not suspended yet or any more: Sp is where it was.
		 */
		if (spilled || w->exact ||
		    w->callee_cls == HSUNWIND_CLASS_RTS)
			return false;
	}
	return false;
}
