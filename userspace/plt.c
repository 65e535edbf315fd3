// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows of a procedure linkage table that has no CFI: lld writes none, unlike GNU
 * ld and gold. Its form is given by the psABI, 5.2: a first entry that pushes what
 * identifies the file and jumps to the dynamic linker, then one for each function,
 * which pushes its number and jumps to the first.
 */
#include <stdlib.h>
#include <string.h>

#include "builder.h"

#define ENTRY		16	/* bytes */
#define PUSHED		11	/* of an entry, when its number is on the stack */
#define FIRST_PUSHED	6	/* the same of the first */

static u64 target(const u8 *jump, u64 addr)
{
	s32 by;

	memcpy(&by, jump + 1, sizeof(by));
	return addr + 5 + (u64)(s64)by;
}

/* push x(%rip); jmp *y(%rip) */
static bool is_first(const u8 *p)
{
	return p[0] == 0xff && p[1] == 0x35 && p[6] == 0xff && p[7] == 0x25;
}

/* jmp *x(%rip); push $number; jmp first */
static bool is_entry(const u8 *p, u64 addr, u64 first)
{
	return p[0] == 0xff && p[1] == 0x25 && p[6] == 0x68 && p[11] == 0xe9 &&
		target(p + PUSHED, addr + PUSHED) == first;
}

static void add(struct hsu_builder *b, u64 from, u64 to,
		const struct hsunwind_rule *rule)
{
	hsu_rows_add(&b->rows, from - b->base, to - b->base, rule);
}

static void add_table(struct hsu_builder *b, u64 first, u64 end)
{
	struct hsunwind_rule rule = {
		.kind = HSUNWIND_RULE_CFA, .cls = HSUNWIND_CLASS_C,
		.cfa_reg = HSU_RSP, .cfa_off = 16,
	};

	if (hsu_ranges_find(&b->fdes, first))
		return;
	add(b, first, first + FIRST_PUSHED, &rule);
	rule.cfa_off = 24;
	add(b, first + FIRST_PUSHED, first + ENTRY, &rule);
	memset(&rule, 0, sizeof(rule));
	rule.kind = HSUNWIND_RULE_PLT;
	rule.cls = HSUNWIND_CLASS_C;
	rule.arg = PUSHED;
	add(b, first + ENTRY, end, &rule);
	hsu_ranges_add(&b->fdes, first, end, HSUNWIND_CLASS_C);
}

/* Looks for a table in a section. */
static void find_in(struct hsu_builder *b, u64 start, const u8 *buf, size_t len)
{
	u64 first = 0;
	size_t i, from = (ENTRY - start % ENTRY) % ENTRY;

	for (i = from; i + ENTRY <= len; i += ENTRY) {
		if (is_first(buf + i))
			first = start + i;
		else if (!first || !is_entry(buf + i, start + i, first))
			continue;
		else if (i + 2 * ENTRY > len ||
			 !is_entry(buf + i + ENTRY, start + i + ENTRY, first))
			add_table(b, first, start + i + ENTRY);
	}
}

void hsu_build_plt(struct hsu_builder *b)
{
	const struct hsu_section *s;
	size_t nr, i;
	u8 *buf;

	s = hsu_elf_sections(b->elf, &nr);
	for (i = 0; i < nr; i++) {
		/* Without section headers, there are segments instead. */
		if (!s[i].exec || (s[i].index && strcmp(s[i].name, ".plt")))
			continue;
		buf = malloc(s[i].size);
		b->fdes.failed |= !buf;
		if (buf)
			find_in(b, s[i].addr, buf,
				hsu_elf_read(b->elf, s[i].addr, buf, s[i].size));
		free(buf);
	}
	hsu_ranges_sort(&b->fdes);
}
