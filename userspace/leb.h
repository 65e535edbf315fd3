/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * LEB128 numbers, as DWARF encodes them.
 */
#ifndef HSU_LEB_H
#define HSU_LEB_H

#include <stdbool.h>

#include "hsu_env.h"

/**
 * hsu_uleb() - read an unsigned number
 * @p: in: where; out: behind it.
 * @end: end of the data.
 * @bad: set if the number does not end before @end or is too long.
 */
static inline u64 hsu_uleb(const u8 **p, const u8 *end, bool *bad)
{
	unsigned int shift = 0;
	u64 v = 0;

	for (;;) {
		if (*p >= end || shift > 63) {
			*bad = true;
			return 0;
		}
		v |= (u64)(**p & 0x7f) << shift;
		shift += 7;
		if (!(*(*p)++ & 0x80))
			return v;
	}
}

/**
 * hsu_sleb() - read a signed number
 * @p: in: where; out: behind it.
 * @end: end of the data.
 * @bad: set if the number does not end before @end or is too long.
 */
static inline s64 hsu_sleb(const u8 **p, const u8 *end, bool *bad)
{
	unsigned int shift = 0;
	u64 v = 0;
	u8 byte;

	do {
		if (*p >= end || shift > 63) {
			*bad = true;
			return 0;
		}
		byte = *(*p)++;
		v |= (u64)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		v |= ~0ULL << shift;
	return (s64)v;
}

#endif /* HSU_LEB_H */
