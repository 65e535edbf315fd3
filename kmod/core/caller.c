// SPDX-License-Identifier: GPL-2.0-only
/*
 * The caller of Haskell code that runs, or that has called C: where on the
 * Haskell stack its frame is. Below that frame lie the code's own: stack
 * arguments, spilled variables, continuations.
 */
#include "hsu_walk.h"

#define SCAN_WORDS	1024	/* searched for a caller at most */
#define CHECK_FRAMES	64	/* behind a candidate that must be frames too */
#define OWN_CODE_BYTES	4096	/* of code searched for an info table */

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

/* Do more frames follow, up to the end of the chunk as a rule? */
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
 * From here on upwards there are only arguments in front of the caller's frame:
 * the first word that is a return address from which the stack can be walked on
 * is the caller's. In an image without the analysis of the machine code, code
 * may also have a frame of its own there, its continuation.
 */
static int scan(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u8 cls,
		u64 from, u64 *addr)
{
	struct hsu_frame f;
	u64 at;
	int ret;

	for (at = from; at < from + SCAN_WORDS * 8; at += 8) {
		ret = hsu_frame_at(w, ghc, at, &f);
		if (ret == HSUNWIND_STOP_READ_SP)
			return ret;
		if (ret != HSU_GO)
			continue;
		if (cls == HSUNWIND_CLASS_HS && f.words &&
		    own_continuation(w, f.ra, w->ip) &&
		    leads_on(w, ghc, at + f.words * 8ull)) {
			w->scanned++;
			*addr = at + f.words * 8ull;
			return HSU_GO;
		}
		if (leads_on(w, ghc, at)) {
			w->scanned += at != from;
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
	if (!hsu_in_chunk(&chunk, *sp))
		*sp = chunk.sp;
}

/*
 * Sp is saved in the thread, and rbp may be stale: no call is safe otherwise.
 * The function's own frame there is as large as the distance to its caller.
 */
static int saved_frame(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		       const struct hsunwind_rule *rule, u64 *addr)
{
	struct hsu_frame f;
	bool running;
	u64 sp;
	int ret;

	w->tso = 0;
	if (!hsu_safe_call_sp(w, ghc, true, &sp, &running)) {
		bool called = !w->exact && w->callee_cls == HSUNWIND_CLASS_RTS;

		if (!called && (rule->cls == HSUNWIND_CLASS_HS || !w->tso))
			return HSUNWIND_STOP_NO_CALLER;
		/*
		 * raiseExceptionHelper() has left the chunk of the thread that
		 * it works for, where all frames still are. Or suspendThread()
		 * or resumeThread() has the thread, or the Task, where it cannot
		 * be found: then rbp is right if the frames there are whole.
		 */
		sp = w->regs[HSU_RBP];
		running = rule->cls == HSUNWIND_CLASS_HS;
	}
	/* Something that is called squeezes the stack: see squeeze.c. */
	if (running && !w->exact && sp == w->regs[HSU_RBP] &&
	    (w->steps > 2 || rule->cls == HSUNWIND_CLASS_HS_RTS) &&
	    !hsu_not_moving(w, ghc, sp))
		return HSUNWIND_STOP_BAD_FRAME;
	if (sp != w->regs[HSU_RBP])
		w->resynced++;
	*addr = sp + rule->cfa_off;
	if (rule->cls == HSUNWIND_CLASS_HS_RTS) {
		ret = hsu_frame_at(w, ghc, *addr, &f);
		return ret == HSU_GO ? ret :
			scan(w, ghc, rule->cls, *addr, addr);
	}
	ret = hsu_frame_at(w, ghc, sp, &f);
	if (ret == HSU_GO && f.words * 8ull != (u64)rule->cfa_off)
		ret = HSUNWIND_STOP_BAD_FRAME;
	return ret;
}

int hsu_first_frame(struct hsu_walk *w, const struct hsu_map *map,
		    const struct hsunwind_rule *rule, u64 *addr)
{
	const struct hsunwind_ghc *ghc = &map->img->hdr->ghc;
	struct hsu_frame f;
	bool running;
	u64 sp;
	int ret;

	if (!hsu_valid(w, HSU_RBP))
		return HSUNWIND_STOP_NO_REG;
	sp = w->regs[HSU_RBP];
	/*
	 * The topmost frame of a suspended thread is the continuation of the
	 * function that made the call: that function is in the chain already.
	 * It may also be just about to make it.
	 */
	if (rule->kind == HSUNWIND_RULE_HS_SAVED)
		return saved_frame(w, ghc, rule, addr);
	if ((!w->exact || rule->cls == HSUNWIND_CLASS_HS) &&
	    hsu_safe_call_sp(w, ghc, false, &sp, &running)) {
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
	*addr = sp + rule->cfa_off;
	if (rule->kind == HSUNWIND_RULE_HS)
		return HSUNWIND_STOP_NO_CALLER;
	if (rule->kind == HSUNWIND_RULE_HS_SP) {
		ret = hsu_frame_at(w, ghc, *addr, &f);
		if (ret == HSU_GO || rule->cls == HSUNWIND_CLASS_HS)
			return ret;
		/* The function it works for may have arguments on the stack. */
	} else if (rule->arg) {
		if (!hsu_valid(w, rule->cfa_reg))
			return HSUNWIND_STOP_NO_REG;
		if (w->regs[rule->cfa_reg] > SCAN_WORDS)
			return HSUNWIND_STOP_NO_CALLER;
		*addr += rule->arg * w->regs[rule->cfa_reg];
	}
	return scan(w, ghc, rule->cls, *addr, addr);
}
