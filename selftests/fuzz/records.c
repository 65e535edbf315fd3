// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutation of record lists: whole records are inserted, copied, moved and taken
 * away, and operands changed a little. Sometimes libFuzzer has its own way.
 */
#include "records.h"

size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max,
			       unsigned int seed);
size_t LLVMFuzzerCustomCrossOver(const u8 *a, size_t a_size, const u8 *b,
				 size_t b_size, u8 *out, size_t max,
				 unsigned int seed);

static u32 random_state;

static u32 random_below(u32 n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % n;
}

u32 records_read(const u8 *data, size_t len, struct record *out)
{
	size_t nr = len / sizeof(*out);

	if (nr > MAX_RECORDS)
		nr = MAX_RECORDS;
	if (nr)
		memcpy(out, data, nr * sizeof(*out));
	return (u32)nr;
}

static s32 nearby(s32 v)
{
	switch (random_below(6)) {
	case 0:
		return (s32)((u32)v + 8);
	case 1:
		return (s32)((u32)v - 8);
	case 2:
		return (s32)((u32)v + random_below(65) - 32);
	case 3:
		return (s32)((u32)v ^ 1u << random_below(32));
	case 4:
		return (s32)random_below(64) * 8;
	default:
		return 0;
	}
}

static void change(struct record *r)
{
	switch (random_below(5)) {
	case 0:
		r->op = (u8)random_below(256);
		break;
	case 1:
		r->a = (u8)random_below(random_below(2) ? 16 : 256);
		break;
	case 2:
		r->b = (u16)random_below(random_below(2) ? 32 : 65536);
		break;
	case 3:
		r->b = (u16)nearby(r->b);
		break;
	default:
		r->c = nearby(r->c);
	}
}

static u32 mutate(struct record *r, u32 nr, u32 max)
{
	u32 at = nr ? random_below(nr) : 0;
	u32 from = nr ? random_below(nr) : 0;
	struct record one = { 0 };

	switch (nr ? random_below(6) : 0) {
	case 0:
		one = (struct record){ .op = (u8)random_below(256),
				       .a = (u8)random_below(16),
				       .b = (u16)random_below(32),
				       .c = (s32)random_below(32) * 8 };
		break;
	case 1:
		one = r[from];
		break;
	case 2:
		memmove(&r[at], &r[at + 1], (nr - at - 1) * sizeof(*r));
		return nr - 1;
	case 3:
		one = r[at];
		r[at] = r[from];
		r[from] = one;
		return nr;
	default:
		change(&r[at]);
		return nr;
	}
	if (nr == max) {
		r[at] = one;
		return nr;
	}
	memmove(&r[at + 1], &r[at], (nr - at) * sizeof(*r));
	r[at] = one;
	return nr + 1;
}

size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max,
			       unsigned int seed)
{
	struct record r[MAX_RECORDS];
	u32 limit = max / sizeof(*r) < MAX_RECORDS ? (u32)(max / sizeof(*r)) :
						    MAX_RECORDS;
	u32 nr, i;

	random_state = seed | 1;
	if (random_below(8) == 0)
		return LLVMFuzzerMutate(data, size, max);
	if (!limit)
		return size;
	nr = records_read(data, size, r);
	for (i = 1 + random_below(3); i; i--)
		nr = mutate(r, nr, limit);
	memcpy(data, r, nr * sizeof(*r));
	return nr * sizeof(*r);
}

/* The beginning of one list, and the end of another. */
size_t LLVMFuzzerCustomCrossOver(const u8 *a, size_t a_size, const u8 *b,
				 size_t b_size, u8 *out, size_t max,
				 unsigned int seed)
{
	const size_t unit = sizeof(struct record);
	size_t head, skip, tail;

	random_state = seed | 1;
	head = random_below((u32)(a_size / unit) + 1) * unit;
	skip = random_below((u32)(b_size / unit) + 1) * unit;
	if (head > max)
		head = max - max % unit;
	tail = b_size - b_size % unit - skip;
	if (tail > max - head)
		tail = (max - head) - (max - head) % unit;
	memcpy(out, a, head);
	memcpy(out + head, b + skip, tail);
	return head + tail;
}
