/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many reads of the process a walk makes at most. A read is what costs time:
 * between two of them there is a small number of instructions, and a binary
 * search.
 */
#ifndef BOUND_H
#define BOUND_H

#include "hsu_core.h"

/**
 * reads_bound() - reads of one walk at most
 * @max_steps: what the walk may visit.
 */
static inline u64 reads_bound(u64 max_steps)
{
	return max_steps * HSU_READS_PER_STEP + HSU_READS_MORE;
}

/**
 * refused_bound() - reads that a walk tries to make when it has made all, at most
 * @nr_maps: mappings that it knows.
 *
 * No frame can be read any more, of C neither, so only what is being searched is
 * searched to its end. That is where StgRun was called, 16 places for each mapping;
 * or 1,024 words, of which each block that is still there can hold 32 frames; or
 * the records of the Task.
 */
static inline u64 refused_bound(u64 nr_maps)
{
	return 16 * (nr_maps + 1) + 4096;
}

#endif /* BOUND_H */
