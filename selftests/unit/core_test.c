// SPDX-License-Identifier: GPL-2.0-only
/* The core on invented stacks: each kind of frame, each stop reason. */
#include "kselftest_harness.h"

#include "world.h"

#define C_SP	(WORLD_STACK + 0x1008)	/* rsp of Haskell code: 8 mod 16 */
#define HS_SP	(WORLD_HEAP + 0x1000)

FIXTURE(core)
{
	struct world *world;
	struct hsu_walk *w;
};

FIXTURE_SETUP(core)
{
	self->world = world_create();
	self->w = &self->world->w;
	world_info(self->world, AT_CMM + 0x80, 36, 0);	/* stop frame */
	world_info(self->world, AT_CMM + 0x100, 33, 1);	/* update frame */
	world_info(self->world, AT_CMM + 0x180, 35, 0);	/* underflow frame */
	world_info(self->world, AT_CMM + 0x200, 32, 0);	/* RET_FUN */
	world_info(self->world, AT_CMM + 0x280, 29, 0);	/* RET_BCO */
	world_info(self->world, AT_CMM + 0x300, 53, 0);	/* STACK */
	world_info(self->world, AT_CMM + 0x380, 52, 0);	/* TSO */
	world_info(self->world, AT_HS + 0x100, 30, 0);	/* one word */
	world_info(self->world, AT_HS + 0x200, 30, 2 | 0x40);	/* three words */
	world_info(self->world, AT_HS + 0x300, 31, 0x40);	/* RET_BIG */
	world_poke(self->world, CODE(AT_HS + 0x340), 70);
	world_info(self->world, AT_HS + 0x400, 30, 1);
}

FIXTURE_TEARDOWN(core)
{
	world_destroy(self->world);
}

#define STOP_FRAME	CODE(AT_CMM + 0x80)
#define UPDATE_FRAME	CODE(AT_CMM + 0x100)
#define UNDERFLOW_FRAME	CODE(AT_CMM + 0x180)
#define RET_FUN		CODE(AT_CMM + 0x200)
#define RET_BCO		CODE(AT_CMM + 0x280)
#define STACK_INFO	CODE(AT_CMM + 0x300)
#define TSO_INFO	CODE(AT_CMM + 0x380)
#define RET_1		CODE(AT_HS + 0x100)
#define RET_3		CODE(AT_HS + 0x200)
#define RET_BIG		CODE(AT_HS + 0x300)
#define RET_2		CODE(AT_HS + 0x400)

/* Puts words on the Haskell stack, from HS_SP upwards. */
static void push(struct world *world, __u64 at, const __u64 *words, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		world_poke(world, at + 8 * i, words[i]);
}

#define PUSH(at, ...) do {							\
	const __u64 words[] = { __VA_ARGS__ };					\
	push(self->world, (at), words, ARRAY_SIZE(words));			\
} while (0)

/* Haskell code with an Sp row is running; a plain thread is below. */
#define START_IN_HASKELL() do {							\
	world_stgrun(self->world, C_SP, 1);					\
	self->w->ip = CODE(AT_HS_SP + 0x10);					\
	self->w->regs[HSU_RSP] = C_SP;						\
	self->w->regs[HSU_RBP] = HS_SP;						\
} while (0)

#define EXPECT_CHAIN(...) do {							\
	const __u64 want[] = { __VA_ARGS__ };					\
	__u32 nr;								\
	EXPECT_EQ(ARRAY_SIZE(want), self->w->n);				\
	for (nr = 0; nr < self->w->n && nr < ARRAY_SIZE(want); nr++)		\
		EXPECT_EQ(want[nr], self->world->out[nr]);			\
} while (0)

TEST_F(core, c_frames_to_the_bottom)
{
	struct world *world = self->world;

	world_poke(world, C_SP + 8, CODE(AT_LIBC + 0x20));
	world_poke(world, C_SP + 24, CODE(AT_START + 0x20));
	self->w->ip = CODE(AT_MAIN);
	self->w->regs[HSU_RSP] = C_SP;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(world));
	/* No Haskell below: nothing is plumbing, everything is shown. */
	EXPECT_CHAIN(CODE(AT_MAIN), CODE(AT_LIBC + 0x20), CODE(AT_START + 0x20));
	EXPECT_EQ(HSU_LEAF, world->kinds[0]);
	EXPECT_EQ(HSU_C, world->kinds[1]);
}

TEST_F(core, return_address_behind_the_function)
{
	/* The call was main's last instruction: libc's rule must not be used. */
	world_poke(self->world, C_SP + 8, CODE(AT_LIBC));
	world_poke(self->world, C_SP + 24, CODE(AT_START + 0x20));
	self->w->ip = CODE(AT_LIBC + 0x10);
	self->w->regs[HSU_RSP] = C_SP;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_LIBC + 0x10), CODE(AT_LIBC), CODE(AT_START + 0x20));
}

TEST_F(core, drap_then_lost_register)
{
	self->w->ip = CODE(AT_DRAP + 1);
	self->w->regs[HSU_RSP] = C_SP;
	self->w->regs[HSU_RBP] = C_SP + 64;
	world_poke(self->world, C_SP + 56, C_SP + 256);	/* CFA */
	world_poke(self->world, C_SP + 248, CODE(AT_USER + 1));
	/* The next frame is based on rbp, which is lost. */
	EXPECT_EQ(HSUNWIND_STOP_NO_REG, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_DRAP + 1), CODE(AT_USER + 1));
}

TEST_F(core, registers_saved_below_an_aligned_frame)
{
	self->w->ip = CODE(AT_ALIGNED + 1);
	self->w->regs[HSU_RSP] = C_SP;
	self->w->regs[HSU_RBP] = C_SP + 64;
	world_poke(self->world, C_SP + 64, C_SP + 512);		/* rbp */
	world_poke(self->world, C_SP + 56, C_SP + 256);		/* CFA */
	world_poke(self->world, C_SP + 248, CODE(AT_USER + 1));
	world_poke(self->world, C_SP + 520, CODE(AT_START + 1));
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_ALIGNED + 1), CODE(AT_USER + 1),
		     CODE(AT_START + 1));
}

TEST_F(core, plt_before_and_after_the_push)
{
	world_poke(self->world, C_SP, CODE(AT_START + 1));
	world_poke(self->world, C_SP + 8, CODE(AT_START + 2));
	self->w->regs[HSU_RSP] = C_SP;
	self->w->ip = CODE(AT_PLT + 6);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_PLT + 6), CODE(AT_START + 1));
	self->w->regs[HSU_RSP] = C_SP;
	self->w->ip = CODE(AT_PLT + 11);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_PLT + 11), CODE(AT_START + 2));
}

TEST_F(core, signal_frame_restores_every_register)
{
	const __u64 ctx = C_SP + 8;

	/* A handler called from the trampoline, over code based on r12. */
	self->w->ip = CODE(AT_MAIN);
	self->w->regs[HSU_RSP] = C_SP - 8;
	world_poke(self->world, C_SP, CODE(AT_SIGRETURN + 1));
	world_poke(self->world, ctx + 40 + 4 * 8, C_SP + 0x800);	/* r12 */
	world_poke(self->world, ctx + 40 + 15 * 8, C_SP + 0x700);	/* rsp */
	world_poke(self->world, ctx + 40 + 16 * 8, CODE(AT_R12));
	world_poke(self->world, C_SP + 0x808, CODE(AT_START + 1));
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	/* The interrupted address is no return address: AT_R12, not before. */
	EXPECT_CHAIN(CODE(AT_MAIN), CODE(AT_SIGRETURN + 1), CODE(AT_R12),
		     CODE(AT_START + 1));
}

TEST_F(core, haskell_frames_of_every_size)
{
	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, RET_1, RET_3, 7, 7, RET_2, 7, RET_BIG);
	PUSH(HS_SP + 8 * (9 + 70), UPDATE_FRAME, 7, RET_FUN, 2, 7, 8, 9, RET_1,
	     RET_BCO, WORLD_HEAP + 0x100, 1, 2, 3, RET_1, STOP_FRAME);
	world_poke(self->world, WORLD_HEAP + 0x100 + 40, 3);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	/* The run-time system's frames, main and below are hidden. */
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1, RET_3, RET_2, RET_BIG, RET_1,
		     RET_1);
	EXPECT_EQ(HSU_HASKELL, self->world->kinds[1]);
	EXPECT_EQ(0, self->w->scanned);
}

TEST_F(core, everything_is_shown_on_demand)
{
	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, UPDATE_FRAME, 7, RET_1, STOP_FRAME);
	self->w->flags = HSU_SHOW_ALL;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), UPDATE_FRAME, RET_1, STOP_FRAME,
		     CODE(STGRUN_RETURN), CODE(AT_MAIN + 0x20),
		     CODE(AT_LIBC + 0x20), CODE(AT_START + 0x20));
}

TEST_F(core, c_code_that_calls_haskell_stays)
{
	START_IN_HASKELL();
	world_stgrun(self->world, C_SP, 2);
	PUSH(HS_SP, 1, 2, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1, CODE(AT_MAIN + 0x20),
		     CODE(AT_MAIN + 0x20), CODE(AT_LIBC + 0x20),
		     CODE(AT_START + 0x20));
}

TEST_F(core, pushed_arguments)
{
	int words;

	for (words = 1; words < 20; words++) {
		START_IN_HASKELL();
		PUSH(HS_SP, 1, 2, RET_1, STOP_FRAME);
		self->w->regs[HSU_RSP] = C_SP - 8 * words;
		EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
		EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1);
	}
}

TEST_F(core, underflow_into_the_next_chunk)
{
	const __u64 chunk = WORLD_HEAP + 0x4000;

	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, RET_1, UNDERFLOW_FRAME, chunk);
	PUSH(chunk, STACK_INFO, 0x100, chunk + 0x200);
	PUSH(chunk + 0x200, RET_2, 7, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1, RET_2);

	/*
	 * The collector is copying the chunk: the header is forwarded, the copy
	 * has nothing but a header yet.
	 */
	PUSH(chunk, (chunk + 0x1000) | 1);
	PUSH(chunk + 0x1000, STACK_INFO, 0, 0);
	START_IN_HASKELL();
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1, RET_2);
}

TEST_F(core, chunks_in_a_circle_end)
{
	const __u64 chunk = WORLD_HEAP + 0x4000;

	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, UNDERFLOW_FRAME, chunk);
	PUSH(chunk, STACK_INFO, 0x100, chunk + 0x200);
	PUSH(chunk + 0x200, UNDERFLOW_FRAME, chunk);
	EXPECT_EQ(HSUNWIND_STOP_STEPS, world_walk(self->world));
}

TEST_F(core, callback_haskell_c_haskell)
{
	const __u64 inner = C_SP, outer = C_SP + STGRUN_SIZE + 0x108;
	const __u64 outer_sp = WORLD_HEAP + 0x6000;

	/* outer Haskell called AT_USER, which called the scheduler */
	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, RET_1, STOP_FRAME);
	world_poke(self->world, inner + STGRUN_SIZE - 6 * 8, outer - 0x18);
	world_poke(self->world, inner + STGRUN_SIZE + 8, CODE(AT_USER + 1));
	world_poke(self->world, outer - 0x18, outer_sp);
	world_poke(self->world, outer - 0x10, CODE(AT_HS_SP + 0x40));
	world_stgrun(self->world, outer, 1);
	PUSH(outer_sp, 1, 2, RET_2, 7, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1, CODE(AT_USER + 1),
		     CODE(AT_HS_SP + 0x40), RET_2);
}

TEST_F(core, safe_call_with_moved_stack)
{
	const __u64 task = WORLD_HEAP + 0x100, incall = WORLD_HEAP + 0x200;
	const __u64 tso = WORLD_HEAP + 0x300, stack = WORLD_HEAP + 0x4000;

	/* C code, called from Haskell whose stack has moved since. */
	world_poke(self->world, C_SP - 8, CODE(AT_HS_SP + 0x40));
	world_stgrun(self->world, C_SP, 1);
	self->w->ip = CODE(AT_MAIN);
	self->w->regs[HSU_RSP] = C_SP - 16;
	self->w->regs[HSU_RBP] = WORLD_HEAP + 0x9000;	/* stale */
	self->w->regs[HSU_RBX] = task;
	world_poke(self->world, task + 0x78, incall);
	world_poke(self->world, incall + 8, tso);
	world_poke(self->world, incall + 0x28, task);
	PUSH(tso, TSO_INFO, 0, 0, stack);
	PUSH(stack, STACK_INFO, 0x100, stack + 0x200);
	/* own continuation, then the caller */
	PUSH(stack + 0x200, RET_3, 7, 7, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_MAIN), CODE(AT_HS_SP + 0x40), RET_1);
	EXPECT_EQ(1, self->w->resynced);
}

/* performGC() is called from Haskell that C has called, and has a record too. */
TEST_F(core, record_without_a_stack_before_that_of_a_safe_call)
{
	const __u64 task = WORLD_HEAP + 0x100, gc = WORLD_HEAP + 0x180;
	const __u64 inner = WORLD_HEAP + 0x200, outer = WORLD_HEAP + 0x280;
	const __u64 tso = WORLD_HEAP + 0x300, other = WORLD_HEAP + 0x380;
	const __u64 stack = WORLD_HEAP + 0x4000;

	world_poke(self->world, C_SP - 8, CODE(AT_HS_SP + 0x40));
	world_stgrun(self->world, C_SP, 1);
	self->w->ip = CODE(AT_SCHEDULE + 8);
	self->w->regs[HSU_RSP] = C_SP - 16;
	self->w->regs[HSU_RBP] = WORLD_HEAP + 0x9000;	/* stale */
	self->w->regs[HSU_RBX] = task;
	world_poke(self->world, task + 0x78, gc);
	PUSH(gc, 0, 0, 0, 0, 0, task, inner);
	PUSH(inner, tso, tso, 0, 0, 0, task, outer);
	PUSH(outer, other, other, 0, 0, 0, task, 0);
	PUSH(tso, TSO_INFO, 0, 0, stack);
	PUSH(stack, STACK_INFO, 0x100, stack + 0x200);
	PUSH(stack + 0x200, RET_3, 7, 7, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_SCHEDULE + 8), CODE(AT_HS_SP + 0x40), RET_1);
}

TEST_F(core, scan_skips_the_own_continuation)
{
	START_IN_HASKELL();
	/* The code at RET_3 runs; its frame is not popped yet. */
	self->w->ip = RET_3 + 0x10;
	memset(&self->world->text[AT_HS + 0x200], 0xcc, 0x30);
	PUSH(HS_SP, RET_3, 7, 7, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(RET_3 + 0x10, RET_1);
	EXPECT_EQ(1, self->w->scanned);
	/* The same frame under code of another function is the caller's. */
	self->w->ip = RET_BIG + 0x10;
	START_IN_HASKELL();
	self->w->ip = RET_BIG + 0x10;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(RET_BIG + 0x10, RET_3, RET_1);
}

TEST_F(core, entered_from_c_before_sp_is_loaded)
{
	const __u64 reg = WORLD_HEAP + 0x400, tso = WORLD_HEAP + 0x300;
	const __u64 stack = WORLD_HEAP + 0x4000;

	START_IN_HASKELL();
	self->w->ip = CODE(AT_CMM + 0x10);
	self->w->regs[HSU_RBP] = C_SP + 0x40;	/* still C's */
	self->w->regs[HSU_R13] = reg;
	world_poke(self->world, reg + 872, tso);
	PUSH(tso, TSO_INFO, 0, 0, stack);
	PUSH(stack, STACK_INFO, 0x100, stack + 0x200);
	PUSH(stack + 0x200, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_CMM + 0x10), RET_1);
}

TEST_F(core, thread_that_ends)
{
	/* stg_stop_thread has taken the stop frame off: only C is below. */
	START_IN_HASKELL();
	self->w->ip = CODE(AT_HS_END + 8);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_END + 8));
}

TEST_F(core, waiting_to_resume_after_a_safe_call)
{
	const __u64 task = WORLD_HEAP + 0x100, incall = WORLD_HEAP + 0x200;
	const __u64 tso = WORLD_HEAP + 0x300, stack = WORLD_HEAP + 0x4000;

	/*
	 * AT_USER stands for resumeThread(): it has the Task in rbx, and has
	 * saved its caller's, which is no Task.
	 */
	world_stgrun(self->world, C_SP, 1);
	self->w->ip = CODE(AT_USER + 8);
	self->w->regs[HSU_RSP] = C_SP - 0x30;
	self->w->regs[HSU_RBP] = C_SP - 0x18;
	self->w->regs[HSU_RBX] = task;
	world_poke(self->world, C_SP - 0x20, 12345);	/* rbx */
	world_poke(self->world, C_SP - 0x18, WORLD_HEAP + 0x9000);	/* stale */
	world_poke(self->world, C_SP - 0x10, CODE(AT_HS_SP + 0x40));
	world_poke(self->world, task + 0x78, incall);
	world_poke(self->world, incall + 8, tso);
	world_poke(self->world, incall + 0x28, task);
	PUSH(tso, TSO_INFO, 0, 0, stack);
	PUSH(stack, STACK_INFO, 0x100, stack + 0x200);
	PUSH(stack + 0x200, RET_3, 7, 7, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_USER + 8), CODE(AT_HS_SP + 0x40), RET_1);
}

TEST_F(core, adjustor_of_a_callback)
{
	static const __u8 few[] = {
		0x4d, 0x89, 0xc1, 0x49, 0x89, 0xc8, 0x48, 0x89, 0xd1, 0x48,
		0x89, 0xf2, 0x48, 0x89, 0xfe, 0x48, 0x8b, 0x3d, 10, 0, 0, 0,
		0xff, 0x25, 12, 0, 0, 0,
	};
	static const __u8 many[] = {
		0x41, 0x51, 0xff, 0x35, 0x20, 0, 0, 0,
	};
	const __u64 at = WORLD_HEAP + 0x2000;
	unsigned int i;

	memcpy(&self->world->heap[0x2000], many, sizeof(many));
	memcpy(&self->world->heap[0x2000 + sizeof(many)], few, sizeof(few));
	memcpy(&self->world->heap[0x3000], few, sizeof(few));
	for (i = 0; i < sizeof(many) + sizeof(few); i++) {
		__u64 pushed = i < 2 ? 0 : i < 8 ? 8 : 16;

		self->w->ip = at + i;
		self->w->regs[HSU_RSP] = C_SP;
		world_poke(self->world, C_SP, 1);
		world_poke(self->world, C_SP + 8, 1);
		world_poke(self->world, C_SP + pushed, CODE(AT_START + 1));
		EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
		EXPECT_CHAIN(at + i, CODE(AT_START + 1));
	}
	for (i = 0; i < sizeof(few); i++) {
		self->w->ip = WORLD_HEAP + 0x3000 + i;
		self->w->regs[HSU_RSP] = C_SP;
		world_poke(self->world, C_SP, CODE(AT_START + 1));
		EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	}
	self->w->ip = WORLD_HEAP + 0x3000 - 1;
	EXPECT_EQ(HSUNWIND_STOP_NO_CODE, world_walk(self->world));
}

TEST_F(core, full_chain)
{
	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, RET_1, RET_1, RET_1, STOP_FRAME);
	self->w->cap = 2;
	EXPECT_EQ(HSUNWIND_STOP_BUDGET, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1);
}

TEST_F(core, stop_reasons)
{
	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, RET_1, 0x1234);
	EXPECT_EQ(HSUNWIND_STOP_BAD_FRAME, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1);

	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, RET_1, RET_BIG);
	world_poke(self->world, CODE(AT_HS + 0x340), 1ull << 40);
	EXPECT_EQ(HSUNWIND_STOP_BAD_SIZE, world_walk(self->world));

	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, RET_1, UNDERFLOW_FRAME, WORLD_HEAP + 0x8000);
	EXPECT_EQ(HSUNWIND_STOP_BAD_CHUNK, world_walk(self->world));

	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, RET_1, STOP_FRAME);
	world_poke(self->world, C_SP + STGRUN_SIZE - 8, CODE(AT_MAIN + 1));
	EXPECT_EQ(HSUNWIND_STOP_NO_STGRUN, world_walk(self->world));

	START_IN_HASKELL();
	self->w->regs[HSU_RBP] = HS_SP + 4;
	EXPECT_EQ(HSUNWIND_STOP_BAD_SP, world_walk(self->world));

	START_IN_HASKELL();
	self->w->regs[HSU_RBP] = 0x1000;
	EXPECT_EQ(HSUNWIND_STOP_READ_SP, world_walk(self->world));

	START_IN_HASKELL();
	self->w->regs[HSU_RBP] = WORLD_HEAP + 0xa000;	/* zeroes only */
	EXPECT_EQ(HSUNWIND_STOP_NO_CALLER, world_walk(self->world));

	self->w->ip = 0x1000;
	EXPECT_EQ(HSUNWIND_STOP_NO_CODE, world_walk(self->world));
	EXPECT_CHAIN(0x1000);

	self->w->ip = CODE(AT_HOLE);
	EXPECT_EQ(HSUNWIND_STOP_NO_RULE, world_walk(self->world));

	self->w->ip = CODE(AT_MAIN);
	self->w->regs[HSU_RSP] = 0x1000;
	EXPECT_EQ(HSUNWIND_STOP_READ_C, world_walk(self->world));

	self->w->ip = CODE(AT_USER);
	self->w->regs[HSU_RSP] = C_SP;
	self->w->regs[HSU_RBP] = C_SP - 16;	/* CFA == rsp */
	EXPECT_EQ(HSUNWIND_STOP_BAD_CFA, world_walk(self->world));
}

TEST_F(core, info_table_that_is_not_readable)
{
	const __u64 bias = WORLD_BASE - 0x3000;

	START_IN_HASKELL();
	self->world->map.start -= 0x3000;
	self->world->map.bias = bias;
	/* The rows now cover addresses before the text that can be read. */
	world_info(self->world, AT_HS_SP - 0x3000 + 0x100, 30, 0);
	self->w->ip = bias + AT_HS_SP + 0x10;
	PUSH(HS_SP, 1, 2, bias + AT_HS_SP + 0x100, bias + AT_HS + 0x800);
	EXPECT_EQ(HSUNWIND_STOP_READ_INFO, world_walk(self->world));
}

TEST_F(core, any_read_may_fail)
{
	int nr;

	/* However the walk ends, it ends, and shows nothing that is not code. */
	for (nr = 1; nr < 64; nr++) {
		__u32 i;

		START_IN_HASKELL();
		PUSH(HS_SP, 1, 2, RET_1, RET_3, 7, 7, UPDATE_FRAME, 7,
		     STOP_FRAME);
		self->world->fail_read = nr;
		EXPECT_GT(HSUNWIND_STOP_NR, world_walk(self->world));
		for (i = 0; i < self->w->n; i++)
			EXPECT_TRUE(self->world->out[i] >= WORLD_BASE &&
				    self->world->out[i] <
				    WORLD_BASE + WORLD_TEXT);
	}
}

TEST(stop_reasons_have_names)
{
	unsigned int i, j;

	for (i = 0; i < HSUNWIND_STOP_NR; i++) {
		EXPECT_STRNE("unknown", hsu_stop_name(i));
		EXPECT_LT(0, strlen(hsu_stop_text(i)));
		for (j = 0; j < i; j++)
			EXPECT_STRNE(hsu_stop_name(j), hsu_stop_name(i));
	}
	EXPECT_STREQ("unknown", hsu_stop_name(HSUNWIND_STOP_NR));
}

TEST_HARNESS_MAIN
