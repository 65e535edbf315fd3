// SPDX-License-Identifier: GPL-2.0-only
/* Children of forkProcess(), which run on top of their parent's stack. */
#include "hsu_walk.h"

#define THREAD_KILLED	3	/* rts/Constants.h: ThreadKilled */

/*
 * Killed, or something else is where it was. Memory that cannot be read tells
 * nothing: right after fork, most of it.
 */
static bool thread_is_gone(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
			   u64 tso, bool collects)
{
	const struct hsunwind_rule *rule;
	u16 what_next;
	bool is_tso;
	u32 type;
	u64 info;

	if (!hsu_read(w, tso, &info, 8) ||
	    !hsu_read(w, tso + ghc->tso_stackobj + 8, &what_next, 2))
		return false;
	is_tso = hsu_closure_info(w, tso, &info) &&
		 hsu_find(w, info, NULL, &rule) != HSUNWIND_STOP_NO_CODE;
	if (is_tso) {
		if (!hsu_info_type(w, info, &type))
			return false;
		is_tso = type == HSU_TSO;
	}
	return is_tso ? what_next == THREAD_KILLED : !collects;
}

/*
 * The scheduler, on top of a call of forkProcess(): in the child, the thread
 * that has made the call is killed, and its memory given to others in time. The
 * innermost record is the scheduler's own then. A thread that is in the middle
 * of suspendThread() or resumeThread() looks the same, save that the threads
 * below it are alive. So does one that calls the collector, whose record has no
 * thread of its own; where the compacting collector moves threads, there may be
 * something else for a while.
 */
bool hsu_has_forked(struct hsu_walk *w, const struct hsunwind_ghc *ghc)
{
	u64 incall, bound, tso;

	if (w->exact || w->nr_incalls || w->callee_cls != HSUNWIND_CLASS_RTS)
		return false;
	incall = hsu_find_incall(w, ghc);
	return incall && hsu_read(w, incall, &bound, 8) &&
	       hsu_read(w, incall + ghc->incall_suspended, &tso, 8) && !tso &&
	       hsu_read(w, incall + ghc->incall_prev, &incall, 8) && incall &&
	       hsu_read(w, incall + ghc->incall_suspended, &tso, 8) && tso &&
	       thread_is_gone(w, ghc, tso, !bound);
}
