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

#define LEN_LOAD_JUMP	10	/* displacement of the load, then the jump */
#define LEN_PUSHES	8	/* push_first with its displacement */

/* Bytes pushed @at bytes into an adjustor that pushes. */
static u32 pushed(u32 at)
{
	if (at < 2)
		return 0;
	return at < LEN_PUSHES ? 8 : 16;
}

bool hsu_step_adjustor(struct hsu_walk *w)
{
	static const struct hsunwind_rule nothing_saved;
	u64 cfa = w->regs[HSU_RSP] + 8;
	/* where the shuffling starts, at most */
	u64 start = w->ip + LEN_PUSHES;
	u8 pushes[sizeof(push_first)];
	u8 code[sizeof(shuffle)];

	for (;; start--) {
		if (w->ip >= start + sizeof(shuffle) + LEN_LOAD_JUMP)
			return false;
		if (hsu_read(w, start, code, sizeof(code)) &&
		    !memcmp(code, shuffle, sizeof(code)))
			break;
	}
	if (hsu_read(w, start - LEN_PUSHES, pushes, sizeof(pushes)) &&
	    !memcmp(pushes, push_first, sizeof(pushes)))
		cfa += pushed(w->ip - (start - LEN_PUSHES));
	else if (w->ip < start)
		return false;
	return cfa % 8 == 0 &&
		hsu_load_slots(w, &nothing_saved, cfa) == HSU_GO;
}
