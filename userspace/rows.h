/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tables under construction: spans of code and their rules.
 */
#ifndef HSU_ROWS_H
#define HSU_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "hsu_core.h"

/* Code from @start up to @end has rule @rule; addresses relative to base. */
struct hsu_span {
	u32 start;
	u32 end;
	u16 rule;
};

/**
 * struct hsu_rows - a growing table
 * @spans: the spans, in any order until hsu_rows_sort().
 * @nr_spans: their number.
 * @cap_spans: room for spans.
 * @rules: distinct rules; number 0 is of kind NONE.
 * @nr_rules: their number.
 * @cap_rules: room for rules.
 * @hash: open-addressed table of rule number + 1, 0: free.
 * @hash_size: its size, a power of two.
 * @failed: memory or rule numbers have run out; nothing more is added.
 */
struct hsu_rows {
	struct hsu_span *spans;
	size_t nr_spans;
	size_t cap_spans;
	struct hsunwind_rule *rules;
	size_t nr_rules;
	size_t cap_rules;
	u32 *hash;
	size_t hash_size;
	bool failed;
};

void hsu_rows_init(struct hsu_rows *rows);
void hsu_rows_free(struct hsu_rows *rows);

/* Number of a rule, new or known; 0 if @rows has failed. */
u16 hsu_rows_rule(struct hsu_rows *rows, const struct hsunwind_rule *rule);

/* Adds a span; an empty one is ignored. */
void hsu_rows_add(struct hsu_rows *rows, u64 start, u64 end,
		  const struct hsunwind_rule *rule);

/* Takes away the spans that begin from @start on, up to @end. */
void hsu_rows_cut(struct hsu_rows *rows, u64 start, u64 end);

/*
 * Sorts the spans and cuts them so that they do not overlap. Of two that do,
 * the one that starts first wins.
 */
void hsu_rows_sort(struct hsu_rows *rows);

#endif /* HSU_ROWS_H */
