// SPDX-License-Identifier: GPL-2.0-only
/*
 * Deep Haskell stacks: there is time for the frames of their leaf and their root
 * only. What lies between is stepped over chunk by chunk, for the next chunk can
 * be found without looking at a frame, but the frames of a chunk only one after
 * the other from its top.
 */
#include "hsu_walk.h"

/* Words of stack for an entry of the chain, more than frames have on average. */
#define ENTRY_WORDS	16

bool hsu_is_deep(const struct hsu_walk *w)
{
	return !w->skipped &&
	       (w->gapped || w->n == w->cap || w->steps > w->max_steps / 2);
}

/*
 * The uppermost chunk to walk, as many back from the last as it takes to have
 * enough for the root, of @nr that have been seen.
 */
static u32 root_chunk(const struct hsu_walk *w, u32 nr)
{
	u32 first = nr > HSU_ROOT_CHUNKS ? nr - HSU_ROOT_CHUNKS : 0;
	u32 wanted = (w->root ? w->root : w->cap / 2) * ENTRY_WORDS;
	u32 i = nr - 1;
	u32 words;

	for (words = 0; ; i--) {
		words += w->root_words[i % HSU_ROOT_CHUNKS];
		if (words >= wanted || i == first)
			return i;
	}
}

int hsu_skip_chunks(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		    u64 *addr)
{
	struct hsu_chunk chunk;
	u32 nr = 0;
	u32 root;
	int ret;

	w->skipped = true;
	do {
		ret = w->steps++ < w->max_steps ? HSU_GO : HSUNWIND_STOP_STEPS;
		if (ret == HSU_GO)
			ret = hsu_next_chunk(w, ghc, *addr, &chunk);
		if (ret != HSU_GO) {
			hsu_chain_leave_out(w);
			return ret;
		}
		w->root_sp[nr % HSU_ROOT_CHUNKS] = chunk.sp;
		w->root_words[nr % HSU_ROOT_CHUNKS] = (chunk.end - chunk.sp) / 8;
		nr++;
	} while (hsu_chunk_below(w, &chunk, addr));
	root = root_chunk(w, nr);
	if (root && !hsu_chain_leave_out(w))
		return HSUNWIND_STOP_STEPS;
	*addr = w->root_sp[root % HSU_ROOT_CHUNKS];
	return HSU_GO;
}
