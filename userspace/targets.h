/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses that code jumps to. */
#ifndef HSU_TARGETS_H
#define HSU_TARGETS_H

#include <stdbool.h>
#include <stddef.h>

#include "hsu_core.h"

/**
 * struct hsu_targets - addresses outside of a piece of code that it jumps to
 * @addr: the addresses; sorted and distinct after hsu_targets_sort().
 * @nr: their number.
 * @sorted: of them, those that hsu_targets_sort() has seen.
 * @cap: room.
 * @failed: memory has run out; some are missing.
 */
struct hsu_targets {
	u64 *addr;
	size_t nr;
	size_t sorted;
	size_t cap;
	bool failed;
};

void hsu_targets_add(struct hsu_targets *targets, u64 addr);
void hsu_targets_sort(struct hsu_targets *targets);
/* Forgets all, and keeps the room. */
void hsu_targets_clear(struct hsu_targets *targets);
void hsu_targets_free(struct hsu_targets *targets);

/* The lowest of the sorted ones that is above, or the highest number. */
u64 hsu_targets_next(const struct hsu_targets *targets, u64 addr);
/* Is it one of the sorted ones? */
bool hsu_targets_has(const struct hsu_targets *targets, u64 addr);

#endif /* HSU_TARGETS_H */
