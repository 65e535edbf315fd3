// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adjustors: the code that "foreign import wrapper" makes at run time, in
 * anonymous memory that no file describes. It inserts an argument and jumps to
 * the C stub of the wrapper's type.
 *
 * As made by createAdjustor() for the System V calling convention
 * (rts/Adjustor.c, GHC 8.8 to 9.2; rts/adjustor/NativeAmd64.c later).
 */
#include "hsu_walk.h"

/*
 * Up to five integer arguments: they move up by one register, the new one is
 * loaded, and nothing is pushed.
 */
static const u8 shuffle[] = {
	0x4d, 0x89, 0xc1,	/* mov %r8,%r9 */
	0x49, 0x89, 0xc8,	/* mov %rcx,%r8 */
	0x48, 0x89, 0xd1,	/* mov %rdx,%rcx */
	0x48, 0x89, 0xf2,	/* mov %rsi,%rdx */
	0x48, 0x89, 0xfe,	/* mov %rdi,%rsi */
	0x48, 0x8b, 0x3d,	/* mov disp(%rip),%rdi */
};

/*
 * Six and more: first the last register goes to the stack, then an address in
 * the run-time system to return to, which takes both off again.
 */
static const u8 push_first[] = {
	0x41, 0x51,		/* push %r9 */
	0xff, 0x35,		/* push disp(%rip) */
};

#define LEN_JUMP	13	/* displacement of the load, and the jump */
#define LEN_PUSH1	2
#define LEN_PUSHES	8

static bool matches(const u8 *code, const u8 *pattern, u32 len)
{
	return memcmp(code, pattern, len) == 0;
}

/* Bytes pushed at @at bytes into the adjustor. */
static u32 pushed(u32 at)
{
	if (at < LEN_PUSH1)
		return 0;
	return at < LEN_PUSHES ? 8 : 16;
}

bool hsu_step_adjustor(struct hsu_walk *w)
{
	static const struct hsunwind_rule nothing_saved;
	u8 code[LEN_PUSHES + sizeof(shuffle)];
	u32 at;

	for (at = 0; at < LEN_PUSHES + sizeof(shuffle) + LEN_JUMP; at++) {
		u64 cfa = w->regs[HSU_RSP] + 8;

		if (!hsu_read(w, w->ip - at, code, sizeof(code)))
			return false;
		if (matches(code, push_first, sizeof(push_first)) &&
		    matches(code + LEN_PUSHES, shuffle, sizeof(shuffle)))
			cfa += pushed(at);
		else if (!matches(code, shuffle, sizeof(shuffle)) ||
			 at >= sizeof(shuffle) + LEN_JUMP)
			continue;
		return cfa % 8 == 0 &&
			hsu_load_slots(w, &nothing_saved, cfa) == HSU_GO;
	}
	return false;
}
