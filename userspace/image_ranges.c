// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which code an image says is of a class.
 */
#include "image_ranges.h"

void hsu_image_ranges(const struct hsu_built *built, u8 cls,
		      void (*fn)(void *ctx, u64 start, u64 end), void *ctx)
{
	const u8 *p = built->data;
	const struct hsunwind_image *h = built->data;
	const struct hsunwind_rule *rules = (const void *)(p + h->rules);
	const u32 *pcs = (const void *)(p + h->pcs);
	const u16 *ids = (const void *)(p + h->ids);
	u64 start = 0, end = 0;
	bool open = false;
	u32 i;

	for (i = 0; i + 1 < h->nr_rows; i++) {
		const struct hsunwind_rule *r = &rules[ids[i]];

		if (r->kind == HSUNWIND_RULE_NONE)
			continue;
		if (r->cls != cls) {
			if (open)
				fn(ctx, start, end);
			open = false;
			continue;
		}
		if (!open)
			start = h->base + pcs[i];
		open = true;
		end = h->base + pcs[i + 1];
	}
	if (open)
		fn(ctx, start, end);
}
