/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many reads of the process a walk makes at most. A read is what costs time:
 * everything else in the walk is a small number of instructions for each of them,
 * and a binary search.
 *
 * Each constant is the product of the bounds of the loops of one function of
 * kmod/core/, and names it. A change there that costs more reads than this allows
 * has to be made here too, knowingly.
 */
#ifndef BOUND_H
#define BOUND_H

#include "hsu_env.h"

enum {
	/* hsu_frame_at(): return address, info table, BCO and its size */
	READS_FRAME = 4,
	/* leads_on() */
	READS_LEADS_ON = 64 * READS_FRAME,
	/* own_continuation(): 4096 bytes of code */
	READS_OWN = 16,
	/* scan(): all of that for every word, the latter with and without */
	READS_SCAN = 1024 * (READS_FRAME + READS_OWN + 2 * READS_LEADS_ON),
	/* hsu_chunk_at(): the chunk, its end, 512 words below, the original */
	READS_CHUNK = 6 + 4 + 16 + 6,
	/* hsu_thread_chunk() */
	READS_THREAD = 3 + 1 + READS_CHUNK,
	/* incall_among(), for each word; by way of the Capability */
	READS_TASK = 4,
	READS_TASK_BY_CAP = 1 + READS_TASK + 3,
	/* find_incall(): registers, spilled words, rax and rdi; BaseReg */
	READS_INCALL = (5 + 16) * READS_TASK + 4 * (1 + 8 * READS_TASK) +
		       2 * READS_TASK +
		       (2 + 3) * READS_TASK_BY_CAP + 1 + 8 * READS_TASK_BY_CAP,
	/* hsu_has_forked() */
	READS_FORKED = READS_INCALL + 3 + 4,
	/* current_chunk(), suspended_chunk() */
	READS_CURRENT = 5 + 2 * READS_THREAD,
	READS_SUSPENDED = 4 * (1 + READS_THREAD + 1 + 2),
	/* hsu_safe_call_sp() */
	READS_SAFE_CALL = READS_INCALL + 2 * READS_THREAD +
			  16 * (3 + READS_CURRENT) + READS_SUSPENDED,
	/* hsu_not_moving(), for each frame: its hash, its closure */
	READS_NOT_MOVING = READS_FRAME + 8 + 4,
	/* hsu_first_frame(): two frames, entered_from_c() */
	READS_FIRST = READS_SAFE_CALL + 2 * READS_FRAME + 1 + READS_THREAD +
		      READS_SCAN,
	/* walk_frames(), for each frame: perhaps a gap, or the next chunk */
	READS_WALKED = READS_FRAME + 1 + 1 + READS_CHUNK,
	/* hsu_load_slots(), with what its callers read before */
	READS_SLOTS = 5 + 1,
	/* leave_stgrun() */
	READS_STGRUN = 16 + READS_SLOTS,
	/* step() at a C frame, an adjustor's caller the dearest */
	READS_C = 36 + 1 + READS_SLOTS,
};

/**
 * reads_bound() - reads of one walk at most
 * @max_steps: what the walk may visit.
 * @nr_maps: mappings that it knows.
 *
 * Between two Haskell stacks there is a C frame, or the walk ends.
 */
static inline u64 reads_bound(u64 max_steps, u64 nr_maps)
{
	u64 stacks = (max_steps + 2) / 2;
	u64 stack = READS_FORKED + READS_FIRST + READS_NOT_MOVING * max_steps +
		    2 + (1 + nr_maps) * READS_STGRUN;

	return stacks * stack + (max_steps + 1) * (READS_WALKED + READS_C);
}

#endif /* BOUND_H */
