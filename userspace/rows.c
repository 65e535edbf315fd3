// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables under construction: spans of code and their rules.
 */
#include <stdlib.h>
#include <string.h>

#include "rows.h"

void hsu_rows_init(struct hsu_rows *rows)
{
	static const struct hsunwind_rule none;

	memset(rows, 0, sizeof(*rows));
	hsu_rows_rule(rows, &none);
}

void hsu_rows_free(struct hsu_rows *rows)
{
	free(rows->spans);
	free(rows->rules);
	free(rows->hash);
	memset(rows, 0, sizeof(*rows));
}

static size_t hash_rule(const struct hsunwind_rule *rule)
{
	const u8 *p = (const u8 *)rule;
	u64 h = 0xcbf29ce484222325;	/* FNV-1a */
	size_t i;

	for (i = 0; i < sizeof(*rule); i++)
		h = (h ^ p[i]) * 0x100000001b3;
	return (size_t)(h ^ h >> 32);
}

static void hash_insert(struct hsu_rows *rows, u32 nr)
{
	size_t i = hash_rule(&rows->rules[nr]);

	while (rows->hash[i & (rows->hash_size - 1)])
		i++;
	rows->hash[i & (rows->hash_size - 1)] = nr + 1;
}

static bool grow_rules(struct hsu_rows *rows)
{
	size_t cap = rows->cap_rules ? 2 * rows->cap_rules : 64;
	struct hsunwind_rule *rules;
	u32 *hash;
	size_t i;

	rules = reallocarray(rows->rules, cap, sizeof(*rules));
	if (!rules)
		return false;
	rows->rules = rules;
	hash = calloc(4 * cap, sizeof(*hash));
	if (!hash)
		return false;
	free(rows->hash);
	rows->hash = hash;
	rows->hash_size = 4 * cap;
	rows->cap_rules = cap;
	for (i = 0; i < rows->nr_rules; i++)
		hash_insert(rows, i);
	return true;
}

u16 hsu_rows_rule(struct hsu_rows *rows, const struct hsunwind_rule *rule)
{
	size_t i;
	u32 nr;

	if (rows->failed)
		return 0;
	if (rows->hash_size) {
		i = hash_rule(rule);
		while ((nr = rows->hash[i & (rows->hash_size - 1)])) {
			if (!memcmp(&rows->rules[nr - 1], rule, sizeof(*rule)))
				return nr - 1;
			i++;
		}
	}
	if (rows->nr_rules == HSUNWIND_MAX_RULES ||
	    (rows->nr_rules == rows->cap_rules && !grow_rules(rows))) {
		rows->failed = true;
		return 0;
	}
	rows->rules[rows->nr_rules] = *rule;
	hash_insert(rows, rows->nr_rules);
	return rows->nr_rules++;
}

void hsu_rows_add(struct hsu_rows *rows, u64 start, u64 end,
		  const struct hsunwind_rule *rule)
{
	struct hsu_span *spans;
	size_t cap;
	u16 nr;

	if (start >= end || end > 0xffffffff || rows->failed)
		return;
	nr = hsu_rows_rule(rows, rule);
	if (rows->nr_spans == rows->cap_spans) {
		cap = rows->cap_spans ? 2 * rows->cap_spans : 1024;
		spans = NULL;
		if (cap <= 2 * (size_t)HSUNWIND_MAX_ROWS)
			spans = reallocarray(rows->spans, cap, sizeof(*spans));
		if (!spans) {
			rows->failed = true;
			return;
		}
		rows->spans = spans;
		rows->cap_spans = cap;
	}
	rows->spans[rows->nr_spans++] = (struct hsu_span){
		.start = (u32)start, .end = (u32)end, .rule = nr,
	};
}

void hsu_rows_cut(struct hsu_rows *rows, u64 start, u64 end)
{
	size_t i, n = 0;

	for (i = 0; i < rows->nr_spans; i++)
		if (rows->spans[i].start < start || rows->spans[i].start >= end)
			rows->spans[n++] = rows->spans[i];
	rows->nr_spans = n;
}

static int cmp_span(const void *a, const void *b)
{
	const struct hsu_span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool is_sorted(const struct hsu_rows *rows)
{
	size_t i;

	for (i = 1; i < rows->nr_spans; i++)
		if (rows->spans[i].start < rows->spans[i - 1].start)
			return false;
	return true;
}

void hsu_rows_sort(struct hsu_rows *rows)
{
	size_t i, n = 0;
	u32 end = 0;

	/* glibc's qsort() is a stable merge sort; ties are damaged input. */
	if (!is_sorted(rows))
		qsort(rows->spans, rows->nr_spans, sizeof(rows->spans[0]),
		      cmp_span);
	for (i = 0; i < rows->nr_spans; i++) {
		struct hsu_span s = rows->spans[i];

		if (s.start < end)
			s.start = end;
		if (s.start >= s.end)
			continue;
		end = s.end;
		rows->spans[n++] = s;
	}
	rows->nr_spans = n;
}
