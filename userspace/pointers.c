// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pointers to functions of the run-time system that are written in Cmm, which
 * have no info tables: in its code, among the constants, and in tables by kind of
 * function. For programs without symbols at fixed addresses; libraries have dynamic symbols.
 */
#include <string.h>

#include "builder.h"

#define WINDOW	4096	/* bytes read at a time */
#define OVERLAP	8
#define MAX_KINDS	64	/* of functions: ARG_* of rts/storage/FunTypes.h */

struct search {
	struct hsu_builder *b;
	const struct hsu_range *r;
	struct hsu_targets *targets;
	struct hsu_targets jumps;	/* jump tables */
};

/* Functions are aligned like info tables. */
static bool is_function(const struct search *s, u64 addr)
{
	return addr >= s->r->start && addr < s->r->end && addr % 8 == 0;
}

static void each_window(struct search *s, u64 start, u64 end,
			void (*look)(struct search *s, u64 at, const u8 *p,
				     size_t n))
{
	u8 buf[WINDOW];
	size_t n;
	u64 at;

	for (at = start; at + OVERLAP <= end; at += n - OVERLAP) {
		n = end - at < WINDOW ? end - at : WINDOW;
		if (hsu_elf_read(s->b->elf, at, buf, n) != n)
			return;
		look(s, at, buf, n);
		if (n <= OVERLAP)
			return;
	}
}

/* Is the constant at @i one that a mov loads or stores? */
static bool is_moved(const u8 *p, size_t i)
{
	static const u8 before[] = { 2, 3, 4, 6, 7 };	/* by operand */
	size_t j;

	if (i && (p[i - 1] & 0xf8) == 0xb8)
		return true;
	for (j = 0; j < ARRAY_SIZE(before); j++)
		if (i >= before[j] && p[i - before[j]] == 0xc7)
			return true;
	return false;
}

/* An address as the operand of an instruction. */
static void look_in_code(struct search *s, u64 at, const u8 *p, size_t n)
{
	size_t i;
	u32 v;

	(void)at;
	for (i = 0; i + 4 <= n; i++) {
		memcpy(&v, p + i, sizeof(v));
		if (is_function(s, v) && is_moved(p, i))
			hsu_targets_add(s->targets, v);
	}
}

/* jmp *table(%reg), where the register has bytes: the kind of a function. */
static void look_for_tables(struct search *s, u64 at, const u8 *p, size_t n)
{
	u64 v, table;
	size_t i, j;
	s32 disp;

	(void)at;
	for (i = 0; i + 6 <= n; i++) {
		if (p[i] != 0xff || (p[i + 1] & 0xf8) != 0xa0)
			continue;
		memcpy(&disp, p + i + 2, sizeof(disp));
		table = (u64)(s64)disp;
		for (j = 0; j < MAX_KINDS; j++) {
			if (hsu_elf_read(s->b->elf, table + 8 * j, &v,
					 sizeof(v)) != sizeof(v))
				break;
			if (is_function(s, v))
				hsu_targets_add(s->targets, v);
			else if (v)
				break;
		}
	}
}

/* An address among the constants, but not one of a block in a jump table. */
static void look_in_constants(struct search *s, u64 at, const u8 *p, size_t n)
{
	bool in_table = false;
	size_t i;
	u64 v;

	for (i = (8 - at % 8) % 8; i + 8 <= n; i += 8) {
		memcpy(&v, p + i, sizeof(v));
		in_table |= hsu_targets_has(&s->jumps, at + i);
		in_table &= !v || (v >= s->r->start && v < s->r->end);
		if (!in_table && is_function(s, v))
			hsu_targets_add(s->targets, v);
	}
}

/* jmp *table(,%reg,8) */
static void look_for_jumps(struct search *s, u64 at, const u8 *p, size_t n)
{
	size_t i;
	s32 disp;

	(void)at;
	for (i = 0; i + 7 <= n; i++) {
		if (p[i] != 0xff || p[i + 1] != 0x24 ||
		    (p[i + 2] & 0xc7) != 0xc5)
			continue;
		memcpy(&disp, p + i + 3, sizeof(disp));
		hsu_targets_add(&s->jumps, (u64)(s64)disp);
	}
}

void hsu_find_pointers(struct hsu_builder *b, const struct hsu_range *r,
		       struct hsu_targets *targets)
{
	struct search s = { .b = b, .r = r, .targets = targets };
	const struct hsu_range *cls;
	const struct hsu_load *loads;
	size_t nr, i;

	each_window(&s, r->start, r->end, look_in_code);
	each_window(&s, r->start, r->end, look_for_tables);
	each_window(&s, r->start, r->end, look_for_jumps);
	hsu_targets_sort(&s.jumps);
	for (i = 0; i < b->fdes.nr; i++) {
		cls = hsu_ranges_find(&b->classes, b->fdes.v[i].start);
		if (cls && cls->cls == HSUNWIND_CLASS_RTS)
			each_window(&s, b->fdes.v[i].start, b->fdes.v[i].end,
				    look_in_code);
	}
	/* Constants may be in one segment with code. */
	loads = hsu_elf_loads(b->elf, &nr);
	for (i = 0; i < nr; i++)
		each_window(&s, loads[i].vaddr,
			    loads[i].vaddr + loads[i].filesz,
			    look_in_constants);
	targets->failed |= s.jumps.failed;
	hsu_targets_free(&s.jumps);
}
