// SPDX-License-Identifier: GPL-2.0-only
/*
 * The caller of Haskell code that runs, or that has called C: where on the
 * Haskell stack its frame is. Below that frame lie the code's own: stack
 * arguments, spilled variables, continuations.
 */
#include "hsu_walk.h"

#define SCAN_WORDS	1024	/* searched for a caller at most */
#define CHECK_FRAMES	6	/* behind a candidate that must be frames too */
#define OWN_CODE_BYTES	4096	/* of code searched for an info table */
#define MAX_INCALLS	16	/* nested calls from C into Haskell looked at */
#define THREAD_KILLED	3	/* rts/Constants.h: ThreadKilled */

/*
 * Does an info table end at this place in the code? Its type is then a closure
 * type, and the upper half of the layout word is small.
 */
static bool info_table_before(const u32 *word)
{
	u32 type = word[-2];

	return type > 0 && type < 64;
}

/*
 * Has the code at ip been entered through the return address ra? Then nothing
 * that starts with an info table lies in between, and the frame that ra stands
 * in is the code's own, not yet popped.
 */
static bool own_continuation(struct hsu_walk *w, u64 ra, u64 ip)
{
	u32 code[64 + 2];
	u64 at;

	if (ra > ip || ip - ra > OWN_CODE_BYTES)
		return false;
	for (at = ra + 8; at <= ip; at += sizeof(code) - 8) {
		u32 bytes = sizeof(code);
		u32 i;

		/* the last piece ends at ip; all of it is code that has run */
		if (at + bytes - 8 > ip + 8)
			bytes = (u32)(ip + 8 - at + 8) & ~7u;
		if (!hsu_read(w, at - 8, code, bytes))
			return false;
		for (i = 2; i < bytes / 4 && at + (i - 2) * 4 <= ip; i += 2)
			if (info_table_before(&code[i]))
				return false;
	}
	return true;
}

/* Do more frames follow, or the end of the chunk? */
static bool leads_on(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		     u64 addr)
{
	struct hsu_frame f;
	u32 i;

	for (i = 0; i < CHECK_FRAMES; i++) {
		if (hsu_frame_at(w, ghc, addr, &f) != HSU_GO)
			return false;
		if (!f.words)
			return true;
		addr += f.words * 8ull;
	}
	return true;
}

/*
 * Without Sp rows: the first word from Sp upwards that is a return address
 * from which the stack can be walked on, unless it is the code's own
 * continuation.
 */
static int scan(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 sp,
		u64 *addr)
{
	bool first = true;
	struct hsu_frame f;
	u64 at;
	int ret;

	w->scanned++;
	for (at = sp; at < sp + SCAN_WORDS * 8; at += 8) {
		ret = hsu_frame_at(w, ghc, at, &f);
		if (ret == HSUNWIND_STOP_READ_SP)
			return ret;
		if (ret != HSU_GO)
			continue;
		if (first && f.words && own_continuation(w, f.ra, w->ip) &&
		    leads_on(w, ghc, at + f.words * 8ull)) {
			*addr = at + f.words * 8ull;
			return HSU_GO;
		}
		first = false;
		if (leads_on(w, ghc, at)) {
			*addr = at;
			return HSU_GO;
		}
	}
	return HSUNWIND_STOP_NO_CALLER;
}

/*
 * Code of the run-time system that is entered from C (stg_returnToStackTop,
 * for one) loads Sp from the thread's stack object first. Until then rbp is
 * still C's, and points outside of that object.
 */
static void entered_from_c(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
			   u64 *sp)
{
	struct hsu_chunk chunk;
	u64 tso;

	if (!hsu_valid(w, HSU_R13) ||
	    !hsu_read(w, w->regs[HSU_R13] + ghc->reg_tso, &tso, 8) ||
	    !hsu_thread_chunk(w, ghc, tso, &chunk))
		return;
	if (*sp < chunk.start || *sp >= chunk.end)
		*sp = chunk.sp;
}

/* The call-in record of the OS thread whose Task is in this register. */
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
 * The code around a safe call keeps what suspendThread() returned, its Task, in
 * a register that C preserves, for resumeThread(), which keeps it in one too
 * while it waits.
 */
static u64 safe_call_incall(struct hsu_walk *w, const struct hsunwind_ghc *ghc)
{
	const u64 task[] = {
		w->regs[HSU_RBX], w->regs[HSU_R14], w->callee[0], w->callee[1],
	};
	u64 incall = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(task) && !incall; i++)
		incall = task_incall(w, ghc, task[i]);
	return incall;
}

/*
 * Killed, or something else is where it was. Memory that cannot be read tells
 * nothing: right after fork, most of it.
 */
static bool thread_is_gone(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
			   u64 tso)
{
	const struct hsunwind_rule *rule;
	u16 what_next;
	u32 type;
	u64 info;

	if (!hsu_read(w, tso, &info, 8) ||
	    !hsu_read(w, tso + ghc->tso_stackobj + 8, &what_next, 2))
		return false;
	if (what_next == THREAD_KILLED)
		return true;
	if (info & 1 && !hsu_read(w, info & ~7ull, &info, 8))
		return true;
	if (hsu_find(w, info, NULL, &rule) == HSUNWIND_STOP_NO_CODE)
		return true;
	return hsu_read(w, info - 8, &type, 4) && type != HSU_TSO;
}

/*
 * The scheduler, on top of a call of forkProcess(): in the child, the thread
 * that has made the call is killed, and its memory given to others in time. The
 * innermost record is the scheduler's own then. A thread that is in the middle
 * of suspendThread() or resumeThread() looks the same, save that the threads
 * below it are alive.
 */
bool hsu_has_forked(struct hsu_walk *w, const struct hsunwind_ghc *ghc)
{
	u64 incall, tso;

	if (w->exact || w->nr_incalls || w->callee_cls != HSUNWIND_CLASS_RTS)
		return false;
	incall = safe_call_incall(w, ghc);
	return incall &&
	       hsu_read(w, incall + ghc->incall_suspended, &tso, 8) && !tso &&
	       hsu_read(w, incall + ghc->incall_prev, &incall, 8) && incall &&
	       hsu_read(w, incall + ghc->incall_suspended, &tso, 8) && tso &&
	       thread_is_gone(w, ghc, tso);
}

/*
 * A Task's stack of call-in records has one for every Haskell stack of the OS
 * thread, innermost first, which names the thread that is suspended there. In
 * front of those may stand records of calls into Haskell that have not got there
 * yet.
 */
bool hsu_safe_call_sp(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		      u64 *sp)
{
	u64 incall = safe_call_incall(w, ghc);
	struct hsu_chunk chunk;
	u64 tso;
	u32 i;

	for (i = 0; i < MAX_INCALLS && incall; i++) {
		if (!hsu_read(w, incall + ghc->incall_suspended, &tso, 8) ||
		    !hsu_read(w, incall + ghc->incall_prev, &incall, 8))
			return false;
		if (i < w->nr_incalls)
			continue;
		if (tso) {
			if (!hsu_thread_chunk(w, ghc, tso, &chunk))
				return false;
			*sp = chunk.sp;
			w->nr_incalls = i + 1;
			w->incall_used = true;
			return true;
		}
		/*
		 * In suspendThread() or resumeThread(), and not suspended yet or
		 * any more: Sp is where it was.
		 */
		if (w->callee_cls == HSUNWIND_CLASS_RTS)
			return false;
	}
	return false;
}

int hsu_first_frame(struct hsu_walk *w, const struct hsu_map *map,
		    const struct hsunwind_rule *rule, u64 *addr)
{
	const struct hsunwind_ghc *ghc = &map->img->hdr->ghc;
	struct hsu_frame f;
	u64 sp;

	if (!hsu_valid(w, HSU_RBP))
		return HSUNWIND_STOP_NO_REG;
	sp = w->regs[HSU_RBP];
	/*
	 * The topmost frame of a suspended thread is the continuation of the
	 * function that made the call: that function is in the chain already.
	 */
	if (!w->exact && hsu_safe_call_sp(w, ghc, &sp)) {
		if (sp != w->regs[HSU_RBP])
			w->resynced++;
		if (hsu_frame_at(w, ghc, sp, &f) == HSU_GO && f.words) {
			*addr = sp + f.words * 8ull;
			return HSU_GO;
		}
	}
	if (w->exact && rule->cls == HSUNWIND_CLASS_HS_RTS)
		entered_from_c(w, ghc, &sp);
	if (!sp || sp % 8)
		return HSUNWIND_STOP_BAD_SP;
	if (rule->kind == HSUNWIND_RULE_HS_SP) {
		*addr = sp + rule->cfa_off;
		if (hsu_frame_at(w, ghc, *addr, &f) == HSU_GO)
			return HSU_GO;
	}
	return scan(w, ghc, sp, addr);
}
