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
 * is moved with what is below it: equal frames that it lies between are different
 * ones as long as it does not come again itself.
 */
#include "hsu_walk.h"

#define HASHED_WORDS	8	/* read at once */
#define MAX_WORDS	64	/* of a frame that are compared */

/* A number for the contents of a frame, 0: cannot be read. */
static u64 frame_hash(struct hsu_walk *w, u64 addr, u64 words)
{
	u64 x[HASHED_WORDS];
	u64 hash = words;
	u64 i, j, n;

	if (words > MAX_WORDS)
		words = MAX_WORDS;
	for (i = 0; i < words; i += n) {
		n = words - i < HASHED_WORDS ? words - i : HASHED_WORDS;
		if (!hsu_read(w, addr + i * 8, x, n * 8))
			return 0;
		for (j = 0; j < n; j++) {
			hash = (hash ^ x[j]) * 0x9e3779b97f4a7c15ull;
			hash ^= hash >> 32;
		}
	}
	return hash ? hash : 1;
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
	    !hsu_read(w, closure, &info, 8) || !hsu_info_type(w, info, &type))
		return false;
	if ((type >= HSU_THUNK && type <= HSU_AP_STACK) ||
	    type == HSU_WHITEHOLE)
		return true;
	return type == HSU_BLACKHOLE && w->tso &&
	       hsu_read(w, closure + ghc->header, &to, 8) && to == w->tso;
}

/*
 * Has the same frame been seen further down, but not below @kept? Notes it for the
 * next ones. Of the frames with much else in between some are forgotten.
 */
static bool seen_before(struct hsu_walk *w, u64 addr, const struct hsu_frame *f,
			u64 kept)
{
	u64 hash = frame_hash(w, addr, f->words);
	struct hsu_seen *set = w->seen[hash % HSU_SEEN_SETS];
	u32 i;

	if (!hash)
		return true;
	for (i = 0; i < HSU_SEEN_WAYS; i++)
		if (set[i].hash == hash && set[i].addr >= kept)
			return true;
	for (i = HSU_SEEN_WAYS - 1; i > 0; i--)
		set[i] = set[i - 1];
	set[0].hash = hash;
	set[0].addr = addr;
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
	memset(w->seen, 0, sizeof(w->seen));
	/* What is above the last frame that will be walked does not matter. */
	for (i = w->steps; i < w->max_steps; i++) {
		if (hsu_frame_at(w, ghc, addr, &f) != HSU_GO) {
			if (!hsu_skip_gap(w, ghc, &addr))
				return false;
			updates = true;
			continue;
		}
		if (!f.words)
			return true;
		if (f.type == HSU_UPDATE_FRAME) {
			updates = true;
			if (twice || seen_before(w, addr, &f, 0))
				return false;
			if (is_kept(w, ghc, addr))
				kept = addr;
		} else {
			twice = twice || seen_before(w, addr, &f, kept);
		}
		addr += f.words * 8ull;
	}
	/* A long way, and nothing is there twice or nothing can be removed. */
	return !twice || !updates;
}
