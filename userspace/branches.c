// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finding direct calls and jumps without decoding instructions.
 */
#include <string.h>

#include "builder.h"

#define WINDOW	4096

void hsu_each_branch(struct hsu_builder *b, u64 start, u64 end,
		     void (*fn)(void *ctx, u64 after, u64 target, bool call),
		     void *ctx)
{
	u8 buf[WINDOW];
	u64 at = start;
	size_t n, i;
	s32 disp;

	while (at + 5 <= end) {
		n = end - at < WINDOW ? end - at : WINDOW;
		n = hsu_elf_read(b->elf, at, buf, n);
		if (n < 5)
			return;
		for (i = 0; i + 5 <= n; i++) {
			bool call = buf[i] == 0xe8;
			bool jcc = (buf[i] & 0xf0) == 0x80 && i &&
				   buf[i - 1] == 0x0f;

			if (!call && !jcc && buf[i] != 0xe9)
				continue;
			memcpy(&disp, &buf[i + 1], 4);
			fn(ctx, at + i + 5, at + i + 5 + (u64)(s64)disp, call);
		}
		at += i;
	}
}
