// SPDX-License-Identifier: GPL-2.0-only
/* Children of forkProcess(), which run on top of their parent's stack. */
#include "hsu_walk.h"

#define THREAD_KILLED	3	/* rts/Constants.h: ThreadKilled */

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
	incall = hsu_find_incall(w, ghc);
	return incall &&
	       hsu_read(w, incall + ghc->incall_suspended, &tso, 8) && !tso &&
	       hsu_read(w, incall + ghc->incall_prev, &incall, 8) && incall &&
	       hsu_read(w, incall + ghc->incall_suspended, &tso, 8) && tso &&
	       thread_is_gone(w, ghc, tso);
}
