// SPDX-License-Identifier: GPL-2.0-only
#include "targets.h"
#include "grow.h"

#include <stdlib.h>
#include <string.h>

void hsu_targets_free(struct hsu_targets *targets)
{
	free(targets->addr);
	memset(targets, 0, sizeof(*targets));
}

void hsu_targets_clear(struct hsu_targets *targets)
{
	targets->nr = 0;
	targets->sorted = 0;
}

void hsu_targets_add(struct hsu_targets *t, u64 addr)
{
	u64 *grown;

	if (t->failed)
		return;
	grown = hsu_grow(t->addr, t->nr, &t->cap, sizeof(*grown));
	if (!grown) {
		t->failed = true;
		return;
	}
	t->addr = grown;
	t->addr[t->nr++] = addr;
}

static int by_address(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

void hsu_targets_sort(struct hsu_targets *t)
{
	size_t i, n = 0;

	/* Nothing has been added: most procedures tell of no function. */
	if (t->nr == t->sorted)
		return;
	qsort(t->addr, t->nr, sizeof(*t->addr), by_address);
	for (i = 0; i < t->nr; i++)
		if (!n || t->addr[i] != t->addr[n - 1])
			t->addr[n++] = t->addr[i];
	t->nr = n;
	t->sorted = n;
}

bool hsu_targets_has(const struct hsu_targets *t, u64 addr)
{
	return t->sorted && bsearch(&addr, t->addr, t->sorted, sizeof(addr),
				    by_address);
}

u64 hsu_targets_next(const struct hsu_targets *t, u64 addr)
{
	size_t lo = 0, hi = t->sorted, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (t->addr[mid] <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->sorted ? t->addr[lo] : ~0ull;
}
