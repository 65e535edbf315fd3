// SPDX-License-Identifier: GPL-2.0-only
/*
 * Safe foreign calls. While a thread is in one, its stack may be squeezed and
 * moved: the %rbp it had at the call is then stale. The run-time system's own
 * record is not (rts/Schedule.c, suspendThread(); rts/Task.h).
 */
#include "hsu_walk.h"

#define MAX_INCALLS	16	/* nested calls from C into Haskell looked at */
#define MAX_TRIES	4	/* to read what another CPU is changing */
#define SPILL_BATCH	8	/* words of Haskell code's C stack, */
#define SPILL_BATCHES	4	/* so many times, are searched for a Task */
#define CAP_CODE	2	/* at the end of StgFunTable (stg/Regs.h) */

/* It begins with a table of code, the last of it the run-time system's. */
static bool is_cap(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 cap)
{
	const struct hsunwind_rule *rule;
	u64 code[CAP_CODE];
	u32 i;

	if (!cap || cap % 8 ||
	    !hsu_read(w, cap + ghc->cap_reg - sizeof(code), code, sizeof(code)))
		return false;
	for (i = 0; i < CAP_CODE; i++)
		if (hsu_find(w, code[i], NULL, &rule) != HSU_GO ||
		    rule->cls != HSUNWIND_CLASS_HS_RTS)
			return false;
	return true;
}

/*
 * Words of the heap may point to each other as a Task and its record do. But a
 * Task that runs Haskell has a Capability, and so does a record in which a thread
 * is suspended, next to that; it is another one if the Task has called in since.
 * Between setting the two the thread is the Capability's current one
 * (rts/Schedule.c, suspendThread(); rts/Task.h, GHC 8.8 to 9.10).
 */
static bool is_record(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		      u64 incall, u64 cap)
{
	u64 suspended[2];	/* thread, Capability */
	u64 tso;

	if (!is_cap(w, ghc, cap) ||
	    !hsu_read(w, incall + ghc->incall_suspended, suspended,
		      sizeof(suspended)))
		return false;
	if (suspended[1])
		return suspended[1] == cap || is_cap(w, ghc, suspended[1]);
	return !suspended[0] ||
	       (hsu_read(w, cap + ghc->cap_reg + ghc->reg_tso, &tso, 8) &&
		tso == suspended[0]);
}

/*
 * The innermost call-in record of an OS thread, if this is its Task, and the
 * Capability that it has, or had last.
 */
static u64 task_incall(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		       u64 task, u64 *cap)
{
	u64 incall, back, at;
	u32 i;

	if (!task || task % 8)
		return 0;
	for (i = 0; i < ARRAY_SIZE(ghc->task_incall); i++) {
		at = task + ghc->task_incall[i];
		if (hsu_read(w, at, &incall, 8) && incall && incall % 8 == 0 &&
		    hsu_read(w, incall + ghc->incall_task, &back, 8) &&
		    back == task && hsu_read(w, at - ghc->task_cap, cap, 8) &&
		    is_record(w, ghc, incall, *cap))
			return incall;
	}
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
 * The Task of this OS thread, if that is one of some words: itself, or as what
 * runs on the Capability that BaseReg points into. Returns its innermost record.
 */
static u64 incall_among(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
			const u64 *words, u32 nr, bool base_reg)
{
	u64 incall = 0;
	u64 task, cap;
	u32 i;

	for (i = 0; i < nr && !incall; i++) {
		task = words[i];
		if (base_reg && (!task || task % 8 ||
				 !hsu_read(w, task + ghc->reg_task, &task, 8)))
			continue;
		incall = task_incall(w, ghc, task, &cap);
		if (incall && base_reg && cap + ghc->cap_reg != words[i])
			incall = 0;
	}
	return incall;
}

/*
 * The code around a safe call keeps what suspendThread() returned, its Task, for
 * resumeThread(), which keeps it too while it waits: in a register that C
 * preserves, or where Haskell code spills registers. There it may also be left
 * over from an earlier call of the same OS thread. suspendThread() has BaseReg
 * instead, in a register or saved by it, and so has the code before the call and
 * behind it: resumeThread() returns it. But another Capability than in r13, if the
 * thread has moved there.
 */
static u64 find_incall(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		       bool saved, bool *spilled, bool *by_cap)
{
	bool at_call = w->exact || w->steps == 2;
	const u64 regs[] = {
		w->regs[HSU_RBX], w->regs[HSU_R14], w->callee[0], w->callee[1],
		w->regs[HSU_RBP],	/* in code made with LLVM */
	};
	const u64 passed[] = { w->regs[HSU_RAX], w->regs[HSU_RDI] };
	const u64 result[] = {
		w->regs[HSU_RAX], w->regs[HSU_RAX] + ghc->cap_reg,
	};
	const u64 base[] = {
		w->callee[0], w->callee[1], w->regs[HSU_R13],
	};
	u64 words[SPILL_BATCH];
	u64 incall;
	bool below;
	u32 i;

	*spilled = false;
	*by_cap = false;
	incall = incall_among(w, ghc, regs, ARRAY_SIZE(regs), false);
	if (!incall && saved && w->exact)
		incall = incall_among(w, ghc, w->regs, HSU_NR_REGS, false);
	/* An interrupted instruction is seldom in between: not worth it. */
	if (incall || (w->exact && !saved) || !hsu_valid(w, HSU_RSP))
		return incall;
	*spilled = true;
	for (i = 0; i < SPILL_BATCHES && !incall; i++) {
		if (!hsu_read(w, w->regs[HSU_RSP] + i * sizeof(words), words,
			      sizeof(words)))
			break;
		incall = incall_among(w, ghc, words, SPILL_BATCH, false);
	}
	/*
	 * suspendThread() is about to return it, or resumeThread() has just got
	 * it, or is about to return what is nearly the Capability.
	 */
	if (!incall && saved && at_call)
		incall = incall_among(w, ghc, passed, ARRAY_SIZE(passed), false);
	if (!incall && saved && at_call)
		incall = incall_among(w, ghc, result, ARRAY_SIZE(result), true);
	if (incall || !saved)
		return incall;
	/* Those two themselves, if they keep everything in their frames. */
	below = !w->exact &&
		hsu_read(w, w->regs[HSU_RSP] - 8 - sizeof(words), words,
			 sizeof(words));
	if (below && w->callee_cls == HSUNWIND_CLASS_RTS)
		incall = incall_among(w, ghc, words, SPILL_BATCH, false);
	if (incall)
		return incall;
	*by_cap = true;
	incall = incall_among(w, ghc, base, ARRAY_SIZE(base), true);
	if (incall || !below)
		return incall;
	return incall_among(w, ghc, words, SPILL_BATCH, true);
}

u64 hsu_find_incall(struct hsu_walk *w, const struct hsunwind_ghc *ghc)
{
	bool spilled, by_cap;

	return find_incall(w, ghc, false, &spilled, &by_cap);
}

/*
 * A thread that is in suspendThread() and not suspended yet is still the
 * Capability's current one. So is one in resumeThread() again, save for a few
 * instructions, in which that function has it in a register.
 */
static bool current_chunk(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
			  u64 incall, struct hsu_chunk *chunk)
{
	u64 task, cap;
	u32 i;

	if (!hsu_read(w, incall + ghc->incall_task, &task, 8) ||
	    task_incall(w, ghc, task, &cap) != incall ||
	    !hsu_read(w, cap + ghc->cap_reg + ghc->reg_tso, &w->tso, 8))
		return false;
	if (w->tso)
		return hsu_thread_chunk(w, ghc, w->tso, chunk);
	for (i = 0; i < ARRAY_SIZE(w->callee); i++)
		if (hsu_thread_chunk(w, ghc, w->callee[i], chunk))
			return true;
	return false;
}

/*
 * The stack of a thread that is suspended can be moved by another CPU between
 * any two reads: then what has just been read is old, and there is a new one.
 */
static bool suspended_chunk(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
			    u64 incall, struct hsu_chunk *chunk)
{
	u32 i;

	for (i = 0; i < MAX_TRIES; i++) {
		if (!hsu_read(w, incall + ghc->incall_suspended, &w->tso, 8) ||
		    !w->tso)
			return false;
		if (hsu_thread_chunk(w, ghc, w->tso, chunk) &&
		    hsu_read(w, w->tso + ghc->tso_stackobj, &w->stackobj, 8)) {
			w->incall = incall;
			if (hsu_stays_suspended(w, ghc))
				return true;
		}
	}
	w->incall = 0;
	return false;
}

bool hsu_stays_suspended(struct hsu_walk *w, const struct hsunwind_ghc *ghc)
{
	u64 tso, stack;

	return !w->incall ||
	       (hsu_read(w, w->incall + ghc->incall_suspended, &tso, 8) &&
		tso == w->tso &&
		hsu_read(w, tso + ghc->tso_stackobj, &stack, 8) &&
		stack == w->stackobj);
}

/* Is what rbp has in the chunk? */
static bool has_sp(const struct hsu_walk *w, const struct hsu_chunk *chunk)
{
	return hsu_in_chunk(chunk, w->regs[HSU_RBP]);
}

/* resumeThread() at its end, when nothing leads to the Task any more. */
static bool resumed(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		    struct hsu_chunk *chunk)
{
	u32 i;

	if (w->exact || w->nr_incalls || w->callee_cls != HSUNWIND_CLASS_RTS)
		return false;
	for (i = 0; i < ARRAY_SIZE(w->callee); i++)
		if (hsu_thread_chunk(w, ghc, w->callee[i], chunk) &&
		    has_sp(w, chunk))
			return true;
	return false;
}

/*
 * The Task's stack of call-in records has one for every Haskell stack of the OS
 * thread, innermost first, which names the thread that is suspended there. In
 * front of those may stand records of calls into Haskell that have not got there
 * yet, and others have none at all: see has_stack().
 */
bool hsu_safe_call_sp(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		      bool saved, u64 *sp, bool *running)
{
	struct hsu_chunk chunk;
	bool spilled, by_cap, found;
	u64 incall, prev, tso;
	u32 seen = 0;
	u32 i;

	incall = find_incall(w, ghc, saved, &spilled, &by_cap);
	if (!incall && saved && resumed(w, ghc, &chunk)) {
		*sp = chunk.sp;
		*running = true;
		return true;
	}
	for (i = 0; i < MAX_INCALLS && incall; i++, incall = prev) {
		if (!hsu_read(w, incall + ghc->incall_suspended, &tso, 8) ||
		    !hsu_read(w, incall + ghc->incall_prev, &prev, 8))
			return false;
		if (!has_stack(w, incall, prev) || seen++ < w->nr_incalls)
			continue;
		/*
		 * Not in a safe call, or in suspendThread() or resumeThread()
		 * and not suspended yet or any more.
		 */
		if (!tso && !saved && (spilled || w->exact ||
				       w->callee_cls == HSUNWIND_CLASS_RTS))
			return false;
		if (!tso && !saved)
			continue;
		found = tso ? suspended_chunk(w, ghc, incall, &chunk) :
			current_chunk(w, ghc, incall, &chunk);
		/*
		 * In a linkage table, perhaps, on the way to suspendThread():
		 * Sp has just been saved. Else the record is the scheduler's,
		 * which runs none of its threads now.
		 */
		if (!tso && !w->exact && w->callee_cls != HSUNWIND_CLASS_RTS &&
		    (!found || chunk.sp != w->regs[HSU_RBP]))
			continue;
		if (!found)
			return false;
		/*
		 * The Capability may be another thread's by now, unless the
		 * code has just loaded its own from there.
		 */
		if (by_cap && w->tso != w->regs[HSU_RAX] && !has_sp(w, &chunk))
			return false;
		*sp = chunk.sp;
		*running = !tso;
		w->nr_incalls = seen;
		w->incall_used = true;
		return true;
	}
	return false;
}
