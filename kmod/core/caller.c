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
 * The code around a safe call keeps what suspendThread() returned, its Task, in
 * a register that C preserves, for resumeThread(), which keeps it in one too
 * while it waits. The Task's stack of call-in records has one for every Haskell
 * stack of the OS thread, innermost first, which names the thread that is
 * suspended there. In front of those may stand records of calls into Haskell
 * that have not got there yet, and others have none at all: see has_stack().
 */
bool hsu_safe_call_sp(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		      u64 *sp)
{
	const u64 task[] = {
		w->regs[HSU_RBX], w->regs[HSU_R14], w->callee[0], w->callee[1],
	};
	struct hsu_chunk chunk;
	u64 incall = 0;
	u64 prev, tso;
	u32 seen = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(task) && !incall; i++)
		incall = task_incall(w, ghc, task[i]);
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
