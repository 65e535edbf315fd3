// SPDX-License-Identifier: GPL-2.0-only
/*
 * Functions in Cmm have no info tables. What tells them from blocks of the function
 * in front of them.
 */
#include "hsflow.h"

#include <string.h>

#define MAX_INSN	15	/* bytes of an instruction */
#define MAX_PADDING	8	/* in front of a function */
#define JMP_REL32	0xe9
#define JMP_REL8	0xeb
#define JMP_INDIRECT	0xff
#define NOP		0x90

/* The padding that GHC's assembler puts in front of what it aligns. */
static bool is_padding(const u8 *p, size_t len)
{
	static const char *const nops[] = {
		"", "\x90", "\x66\x90", "\x0f\x1f\0", "\x0f\x1f\x40\0",
		"\x0f\x1f\x44\0\0", "\x66\x0f\x1f\x44\0\0",
		"\x0f\x1f\x80\0\0\0\0",
	};

	return len && len < ARRAY_SIZE(nops) && !memcmp(p, nops[len], len);
}

/* An instruction behind which there is only what something else jumps to. */
static bool is_jump(const u8 *p)
{
	return *p == JMP_REL32 || *p == JMP_REL8 ||
		(*p == JMP_INDIRECT && (p[1] & 0x38) == 0x20);
}

/*
 * Does a function begin at @addr, which is jumped to? If what is in front of it has
 * been padded: code has no gaps, but functions are aligned. The linker leaves a
 * nop where it has made an indirect jump a direct one. Or if there is nothing to
 * pad, and it has been @called.
 */
static bool is_function(const struct sp_flow *f, u64 addr, bool called)
{
	const struct hsu_flow *flow = &f->flow;
	const u8 *p = flow->code->bytes + (addr - flow->code->start);
	size_t i, size, pad;

	for (i = 1; i <= MAX_INSN + MAX_PADDING && addr - flow->start >= i; i++) {
		size = flow->at[addr - i - flow->start] ?
			flow->size[addr - i - flow->start] : 0;
		if (!size || size > i)
			continue;
		pad = i - size;
		if (pad && *(p - i) == JMP_REL32 && *(p - pad) == NOP)
			pad--;
		return pad ? is_padding(p - pad, pad) :
			called && is_jump(p - i);
	}
	return false;
}

static void take_functions(struct sp_flow *f, struct hsu_targets *from,
			   bool called)
{
	size_t i;

	hsu_targets_sort(from);
	for (i = 0; i < from->nr; i++)
		if (is_function(f, from->addr[i], called))
			hsu_targets_add(f->functions, from->addr[i]);
	hsu_targets_clear(from);
}

bool hsu_hs_learn_functions(struct sp_flow *f)
{
	size_t known = f->functions->sorted;

	take_functions(f, &f->far, false);
	take_functions(f, &f->called, true);
	hsu_targets_sort(f->functions);
	return f->functions->sorted > known && !f->functions->failed;
}
