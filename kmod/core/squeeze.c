// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stacks that are being squeezed. threadPaused() replaces adjacent update frames
 * by the last of them, in place: first it puts a gap, its size and the next lower
 * one, where the others end, then it moves what lies between the gaps up over
 * them, the uppermost piece first, and the thread's saved Sp last of all
 * (rts/ThreadPaused.c, stackSqueeze(); GHC 8.8 to 9.10).
 *
 * Walked from the old Sp, pieces that have not been moved, and the old copies of
 * those that have, are still what they were, until the walk meets a word that has
 * been overwritten. What was there has come from further down, where the walk has
 * been: it finds a frame again that it has seen, or no frame at all. All that is
 * below the uppermost gap, which an update frame is above. So a stack on which no
 * frame that is below an update frame is there twice is not being moved.
 *
 * Recursion has frames twice too. But an update frame that has not been removed
 * is moved with what is below it: if it lies between two equal frames, and does not
 * come again at their distance, it tells that they are different ones.
 */
#include "hsu_walk.h"

#define MAX_FRAMES	1024	/* looked at */

/* Do two frames have the same words? */
static bool same_frames(struct hsu_walk *w, u64 a, u64 b, u32 words)
{
	u64 x, y;
	u32 i;

	for (i = 1; i < words; i++)
		if (!hsu_read(w, a + i * 8, &x, 8) ||
		    !hsu_read(w, b + i * 8, &y, 8))
			return true;
		else if (x != y)
			return false;
	return true;
}

bool hsu_skip_gap(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 *addr)
{
	/* of an update frame: its header and what it updates */
	u64 bytes = ghc->header + 8;
	u64 gap[2];

	if (!w->squeezed || !hsu_read(w, *addr, gap, sizeof(gap)) || !gap[0] ||
	    gap[0] * 8 % bytes || gap[0] * 8 > *addr + bytes - w->squeezed ||
	    gap[1] % 8 || gap[1] < w->squeezed - bytes || gap[1] >= *addr)
		return false;
	*addr += bytes;
	return true;
}

/* Is the update frame at @u one that comes again so many bytes above? */
static bool comes_again(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
			u64 u, u64 distance)
{
	u64 x, y;

	return hsu_read(w, u + ghc->header, &x, 8) &&
	       hsu_read(w, u + distance + ghc->header, &y, 8) && x == y;
}

/*
 * An update frame is removed only after what it updates has become an
 * indirection to what the last one of them updates. threadPaused() makes a
 * WHITEHOLE of a thunk before that is the thread's BLACKHOLE (GHC 9.0.2,
 * threaded run-time system).
 */
static bool is_kept(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 u)
{
	u64 closure, info, to;
	u32 type;

	if (!hsu_read(w, u + ghc->header, &closure, 8) || closure % 8 ||
	    !hsu_read(w, closure, &info, 8) || info % 8 ||
	    !hsu_read(w, info - 8, &type, 4))
		return false;
	if ((type >= HSU_THUNK && type <= HSU_AP_STACK) ||
	    type == HSU_WHITEHOLE)
		return true;
	return type == HSU_BLACKHOLE && w->tso &&
	       hsu_read(w, closure + ghc->header, &to, 8) && to == w->tso;
}

/*
 * Has the same frame been seen further down? Notes it for the next ones. Frames
 * that have so many others in between are not compared.
 */
static bool seen_before(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
			u64 addr, const struct hsu_frame *f, u64 kept)
{
	u32 nr = w->nr_seen;
	u32 i;

	if (nr > HSU_SQUEEZE_FRAMES)
		nr = HSU_SQUEEZE_FRAMES;
	for (i = 0; i < nr; i++) {
		u64 below = w->seen[i].addr;

		if (w->seen[i].ra == f->ra &&
		    same_frames(w, below, addr, f->words) &&
		    (f->type == HSU_UPDATE_FRAME || kept < below ||
		     comes_again(w, ghc, kept, addr - below)))
			return true;
	}
	i = w->nr_seen++ % HSU_SQUEEZE_FRAMES;
	w->seen[i].ra = f->ra;
	w->seen[i].addr = addr;
	return false;
}

bool hsu_not_moving(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 sp)
{
	bool updates = false;
	bool twice = false;
	struct hsu_frame f;
	u64 addr = sp;
	u64 kept = 0;
	u32 i;

	w->squeezed = sp;
	w->nr_seen = 0;
	for (i = 0; i < MAX_FRAMES; i++) {
		if (hsu_frame_at(w, ghc, addr, &f) != HSU_GO) {
			if (!hsu_skip_gap(w, ghc, &addr))
				return false;
			updates = true;
			continue;
		}
		if (!f.words)
			return true;
		twice = twice || seen_before(w, ghc, addr, &f, kept);
		if (f.type == HSU_UPDATE_FRAME) {
			updates = true;
			if (twice)
				return false;
			if (is_kept(w, ghc, addr))
				kept = addr;
		}
		addr += f.words * 8ull;
	}
	/* A long way without anything that can be removed. */
	return !updates;
}
