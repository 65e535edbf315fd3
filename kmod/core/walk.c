// SPDX-License-Identifier: GPL-2.0-only
/*
 * The walk: alternates between C frames and whole Haskell stacks, and decides
 * what is put in the chain.
 */
#include "hsu_walk.h"

int hsu_find(const struct hsu_walk *w, u64 addr, const struct hsu_map **map,
	     const struct hsunwind_rule **rule)
{
	const struct hsu_map *m;
	u32 lo = 0;
	u32 hi = w->nr_maps;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		m = &w->maps[mid];
		if (addr < m->start)
			hi = mid;
		else if (addr >= m->end)
			lo = mid + 1;
		else
			break;
	}
	if (lo >= hi)
		return HSUNWIND_STOP_NO_CODE;
	m = &w->maps[lo + (hi - lo) / 2];
	if (map)
		*map = m;
	if (addr - m->bias > 0xffffffffu)
		return HSUNWIND_STOP_NO_RULE;
	*rule = hsu_image_rule(m->img, addr - m->bias);
	if (!*rule || (*rule)->kind == HSUNWIND_RULE_NONE)
		return HSUNWIND_STOP_NO_RULE;
	return HSU_GO;
}

int hsu_emit_haskell(struct hsu_walk *w, u64 addr, u8 cls)
{
	int ret;

	w->have_tail = false;
	if (cls == HSUNWIND_CLASS_HS_RTS && !(w->flags & HSUNWIND_SHOW_INTERNAL))
		return HSU_GO;
	ret = hsu_chain_add(w, addr, HSU_HASKELL);
	w->own = w->nr;
	return ret;
}

/*
 * What remains below the outermost plumbing is start-up code if it belongs to
 * the C library, save for one frame: the main() that GHC generates. Leaving it
 * out gives the main thread, bound threads and workers one root. Two frames of
 * their own are C code that calls Haskell (its main() and an exported
 * function's stub), and stay.
 */
static bool may_be_startup(const struct hsu_walk *w)
{
	return w->have_tail && w->tail_own <= 1 &&
	       !(w->flags & HSUNWIND_SHOW_RTS);
}

/*
 * The run-time system's own frames directly below a Haskell stack (schedule,
 * rts_evalIO, hs_main, workerStart, …) are plumbing and left out. Elsewhere,
 * the collector for example, they are what the thread is doing, and shown.
 */
static int emit_c(struct hsu_walk *w, u64 addr, u8 cls)
{
	if (cls == HSUNWIND_CLASS_GC)
		cls = HSUNWIND_CLASS_RTS;
	if (cls == HSUNWIND_CLASS_GLUE) {
		if (!(w->flags & HSUNWIND_SHOW_RTS))
			return HSU_GO;
	} else if (w->below_haskell && cls == HSUNWIND_CLASS_RTS) {
		w->have_tail = true;
		w->tail = w->nr;
		w->tail_own = 0;
		if (!(w->flags & HSUNWIND_SHOW_RTS))
			return HSU_GO;
	} else {
		w->below_haskell = false;
		if (cls != HSUNWIND_CLASS_LIBC)
			w->tail_own++;
	}
	return may_be_startup(w) ? hsu_chain_hold(w, addr, HSU_C)
				 : hsu_chain_add(w, addr, HSU_C);
}

/*
 * The collector runs on top of whatever stack was there when it was time for it,
 * or on threads of its own, and calls the program's code for nothing but
 * finalizers. One entry for all of it, without a caller; what a finalizer does
 * stays, and hangs from that.
 */
static int collector(struct hsu_walk *w, const struct hsu_map *map)
{
	w->collecting = true;
	w->have_tail = false;
	hsu_chain_cut(w, w->own);
	if (!(w->flags & HSUNWIND_GC_DROP))
		hsu_chain_add(w, map->bias + map->img->hdr->gc_frame,
			      HSU_COLLECTOR);
	return HSUNWIND_STOP_COMPLETE;
}

static int step(struct hsu_walk *w, bool leaf)
{
	const struct hsunwind_rule *rule;
	const struct hsu_map *map;
	int ret;

	if (w->steps++ >= w->max_steps)
		return HSUNWIND_STOP_STEPS;
	/*
	 * A call may be the last instruction of its function: look a return
	 * address up inside the call.
	 */
	ret = hsu_find(w, w->exact ? w->ip : w->ip - 1, &map, &rule);
	if (ret == HSUNWIND_STOP_NO_CODE && w->exact && hsu_step_adjustor(w))
		return HSU_GO;
	if (ret != HSU_GO)
		return ret;
	/*
	 * Nothing but the run-time system between two Haskell stacks:
	 * forkProcess(). The child runs its action on top of the C stack of the
	 * thread that has forked, but that thread is no more. It never gets
	 * control again, and its Haskell stack is garbage for the collector.
	 */
	if (!leaf && hsu_is_haskell(rule) &&
	    (w->below_haskell || hsu_has_forked(w, &map->img->hdr->ghc)))
		return HSUNWIND_STOP_COMPLETE;
	if (rule->cls == HSUNWIND_CLASS_GC && map->img->hdr->gc_frame &&
	    !(w->flags & HSUNWIND_GC_SHOW))
		return collector(w, map);
	if (!leaf) {
		ret = hsu_is_haskell(rule) ?
			hsu_emit_haskell(w, w->ip, rule->cls) :
			emit_c(w, w->ip, rule->cls);
		if (ret != HSU_GO)
			return ret;
	}
	/* But for a call by a linkage table, which is anybody's. */
	if (hsu_is_haskell(rule) || (rule->cls == HSUNWIND_CLASS_C &&
				     rule->kind != HSUNWIND_RULE_PLT))
		w->own = w->nr;
	if (hsu_is_haskell(rule))
		return hsu_step_haskell(w, map, rule);
	return hsu_step_c(w, rule);
}

enum hsunwind_stop hsu_walk(struct hsu_walk *w)
{
	int ret;

	w->valid = HSU_ALL_REGS;
	w->exact = true;
	w->max_reads = w->max_steps * HSU_READS_PER_STEP + HSU_READS_MORE;
	ret = hsu_chain_add(w, w->ip, HSU_LEAF);
	if (ret == HSU_GO)
		ret = step(w, true);
	while (ret == HSU_GO)
		ret = step(w, false);
	if (ret == HSUNWIND_STOP_COMPLETE && may_be_startup(w))
		hsu_chain_cut(w, w->tail);
	else if (ret != HSUNWIND_STOP_COMPLETE && w->reads > w->max_reads)
		ret = HSUNWIND_STOP_STEPS;
	if (hsu_chain_settle(w) != HSU_GO && ret == HSUNWIND_STOP_COMPLETE)
		ret = HSUNWIND_STOP_BUDGET;
	if (ret == HSUNWIND_STOP_STEPS)
		hsu_chain_leave_out(w);
	hsu_chain_finish(w);
	return ret;
}
