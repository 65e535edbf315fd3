// SPDX-License-Identifier: GPL-2.0-only
/*
 * The chunks of a Haskell stack, also while the collector moves them.
 */
#include "hsu_walk.h"

#define MAX_MOVED_WORDS	512	/* of a chunk that is moved: large ones stay */
#define BATCH_WORDS	32
#define MAX_LINKS	64	/* from the header of an object to its info table */
#define UNDERFLOW_BYTES	16	/* of an underflow frame, in profiled code too */

static bool has_type(struct hsu_walk *w, u64 info, u32 type)
{
	u32 found;

	return hsu_info_type(w, info, &found) && found == type;
}

/*
 * While the collector runs, the header of an object that it has copied holds
 * the new address with the lowest bit set. The info table is found there; the rest
 * is still good where it was. The compacting collector links all fields that point
 * to an object to its header, marks such links in the two lowest bits, and keeps
 * the info table at the end (rts/sm/Compact.c).
 */
bool hsu_closure_info(struct hsu_walk *w, u64 addr, u64 *info)
{
	u32 i;

	for (i = 0; i < MAX_LINKS; i++, addr = *info & ~7ull) {
		if (addr % 8 || !hsu_read(w, addr, info, 8))
			return false;
		if (!(*info & 3))
			return true;
	}
	return false;
}

/*
 * While the header of a stack is copied, that of the original says that it is
 * locked (rts/sm/Evac.c, copyPart()).
 */
static bool is_closure(struct hsu_walk *w, u64 addr, u32 type)
{
	u64 info;

	return hsu_closure_info(w, addr, &info) &&
	       (has_type(w, info, type) ||
		(type == HSU_STACK && has_type(w, info, HSU_WHITEHOLE)));
}

static bool read_chunk(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		       u64 stack, struct hsu_chunk *chunk)
{
	u32 words;

	if (!is_closure(w, stack, HSU_STACK) ||
	    !hsu_read(w, stack + ghc->stack_size, &words, 4) ||
	    !hsu_read(w, stack + ghc->stack_sp, &chunk->sp, 8))
		return false;
	chunk->start = stack + ghc->stack_stack;
	chunk->end = chunk->start + words * 8ull;
	return chunk->sp % 8 == 0;
}

bool hsu_chunk_below(struct hsu_walk *w, const struct hsu_chunk *chunk,
		     u64 *addr)
{
	u64 info;

	*addr = chunk->end - UNDERFLOW_BYTES;
	return hsu_read(w, *addr, &info, 8) &&
	       has_type(w, info, HSU_UNDERFLOW_FRAME);
}

/*
 * The copy of a chunk gets its sp after its header, and then its words, up to
 * the stop or underflow frame at its end.
 */
static bool is_complete(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
			const struct hsu_chunk *chunk)
{
	u64 info, addr;

	if (!hsu_in_chunk(chunk, chunk->sp))
		return false;
	return (hsu_read(w, chunk->end - ghc->header, &info, 8) &&
		has_type(w, info, HSU_STOP_FRAME)) ||
	       hsu_chunk_below(w, chunk, &addr);
}

/* From an address inside of it: the chunk that a copy is made of. */
static bool find_original(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
			  u64 copy, u64 near, struct hsu_chunk *chunk)
{
	u64 words[BATCH_WORDS];
	u64 at = near;
	u32 i;

	if (!near || near % 8)
		return false;
	while (near - at < MAX_MOVED_WORDS * 8) {
		at -= sizeof(words);
		if (!hsu_read(w, at, words, sizeof(words)))
			return false;
		for (i = BATCH_WORDS; i--;)
			if (words[i] == (copy | 1))
				return read_chunk(w, ghc, at + i * 8, chunk) &&
				       hsu_in_chunk(chunk, near) &&
				       hsu_in_chunk(chunk, chunk->sp);
	}
	return false;
}

bool hsu_chunk_at(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 stack,
		  u64 near, struct hsu_chunk *chunk)
{
	if (!read_chunk(w, ghc, stack, chunk))
		return false;
	if (is_complete(w, ghc, chunk))
		return true;
	if (!hsu_in_chunk(chunk, chunk->sp))
		near = chunk->sp;
	return find_original(w, ghc, stack, near, chunk);
}

bool hsu_thread_chunk(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		      u64 tso, struct hsu_chunk *chunk)
{
	u64 near = hsu_valid(w, HSU_RBP) ? w->regs[HSU_RBP] : 0;
	u64 stack;

	return is_closure(w, tso, HSU_TSO) &&
	       hsu_read(w, tso + ghc->tso_stackobj, &stack, 8) &&
	       hsu_chunk_at(w, ghc, stack, near, chunk);
}
