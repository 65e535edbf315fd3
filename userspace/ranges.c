// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists of address ranges.
 */
#include <stdlib.h>

#include "builder.h"
#include "grow.h"

void hsu_ranges_add(struct hsu_ranges *r, u64 start, u64 end, u8 cls)
{
	struct hsu_range *v;

	if (start >= end || r->failed)
		return;
	v = hsu_grow(r->v, r->nr, &r->cap, sizeof(*v));
	if (!v) {
		r->failed = true;
		return;
	}
	r->v = v;
	r->v[r->nr++] = (struct hsu_range){ start, end, cls };
}

static int cmp_range(const void *a, const void *b)
{
	const struct hsu_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void hsu_ranges_sort(struct hsu_ranges *r)
{
	if (r->nr)
		qsort(r->v, r->nr, sizeof(r->v[0]), cmp_range);
}

const struct hsu_range *hsu_ranges_find(const struct hsu_ranges *r, u64 addr)
{
	size_t lo = 0, hi = r->nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (r->v[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (!lo || addr >= r->v[lo - 1].end)
		return NULL;
	return &r->v[lo - 1];
}
