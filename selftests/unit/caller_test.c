// SPDX-License-Identifier: GPL-2.0-only
/* The core on invented stacks: the caller of Haskell code. */
#include "core_fixture.h"

#define CAP		(WORLD_HEAP + 0xa00)
#define OTHER_CAP	(WORLD_HEAP + 0xc00)

/* A thread in a safe call, whose stack has moved to @stack since. */
static void suspend(struct world *world, __u64 task, __u64 stack)
{
	const __u64 incall = WORLD_HEAP + 0x200, tso = WORLD_HEAP + 0x300;

	world_poke(world, task + 0x70, CAP);
	world_poke(world, task + 0x78, incall);
	world_poke(world, incall + 8, tso);
	world_poke(world, incall + 0x10, CAP);
	world_cap(world, CAP);
	world_poke(world, incall + 0x28, task);
	world_poke(world, tso, TSO_INFO);
	world_poke(world, tso + 24, stack);
	put_chunk(world, stack, stack + 0x200);
}

TEST_F(core, safe_call_with_moved_stack)
{
	const __u64 task = WORLD_HEAP + 0x100, stack = WORLD_HEAP + 0x4000;

	/* C code, called from Haskell whose stack has moved since. */
	world_poke(self->world, C_SP - 8, CODE(AT_HS_SP + 0x40));
	world_stgrun(self->world, C_SP, 1);
	self->w->ip = CODE(AT_MAIN);
	self->w->regs[HSU_RSP] = C_SP - 16;
	self->w->regs[HSU_RBP] = WORLD_HEAP + 0x9000;	/* stale */
	self->w->regs[HSU_RBX] = task;
	suspend(self->world, task, stack);
	/* own continuation, then the caller */
	PUSH(stack + 0x200, RET_3, 7, 7, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_MAIN), CODE(AT_HS_SP + 0x40), RET_1);
	EXPECT_EQ(1, self->w->resynced);
}

TEST_F(core, waiting_to_resume_after_a_safe_call)
{
	const __u64 task = WORLD_HEAP + 0x100, stack = WORLD_HEAP + 0x4000;

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
	suspend(self->world, task, stack);
	PUSH(stack + 0x200, RET_3, 7, 7, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_USER + 8), CODE(AT_HS_SP + 0x40), RET_1);
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
	world_cap(self->world, CAP);
	world_poke(self->world, task + 0x70, CAP);
	world_poke(self->world, task + 0x78, gc);
	PUSH(gc, 0, 0, 0, 0, 0, task, inner);
	PUSH(inner, tso, tso, CAP, 0, 0, task, outer);
	PUSH(outer, other, other, 0, 0, 0, task, 0);
	PUSH(tso, TSO_INFO, 0, 0, stack);
	put_chunk(self->world, stack, stack + 0x200);
	PUSH(stack + 0x200, RET_3, 7, 7, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_SCHEDULE + 8), CODE(AT_HS_SP + 0x40), RET_1);
}

TEST_F(core, scan_skips_the_own_continuation)
{
	START_IN_HASKELL();
	/* The code at OWN runs; its frame is not popped yet. */
	self->w->ip = OWN + 0x10;
	memset(&self->world->text[AT_HS_SCAN + 0x100], 0xcc, 0x30);
	PUSH(HS_SP, 0, OWN, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(OWN + 0x10, RET_1);
	EXPECT_EQ(1, self->w->scanned);
	/* A word in front of it looks like a frame. */
	START_IN_HASKELL();
	self->w->ip = OWN + 0x10;
	PUSH(HS_SP, RET_2, 7, 7, OWN, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(OWN + 0x10, RET_1);
	PUSH(HS_SP, 0, OWN, RET_1, STOP_FRAME);
	/* The same frame under code of another function is the caller's. */
	START_IN_HASKELL();
	self->w->ip = CODE(AT_HS_SCAN + 0x10);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SCAN + 0x10), OWN, RET_1);
	EXPECT_EQ(0, self->w->scanned);
}

TEST_F(core, scan_behind_what_a_register_counts)
{
	START_IN_HASKELL();
	self->w->ip = CODE(AT_CMM_SCAN + 0x10);
	self->w->regs[HSU_RAX] = 3;
	/* Three words that are being filled, an argument, the caller. */
	PUSH(HS_SP, RET_3, RET_1, RET_1, 7, RET_3, 7, 7, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_CMM_SCAN + 0x10), RET_3, RET_1);
	EXPECT_EQ(1, self->w->scanned);

	START_IN_HASKELL();
	self->w->ip = CODE(AT_CMM_SCAN + 0x10);
	self->w->regs[HSU_RAX] = 1ull << 60;
	EXPECT_EQ(HSUNWIND_STOP_NO_CALLER, world_walk(self->world));
}

TEST_F(core, scan_takes_no_frame_that_leads_nowhere)
{
	START_IN_HASKELL();
	self->w->ip = CODE(AT_CMM_SCAN + 0x10);
	self->w->regs[HSU_RAX] = 0;
	PUSH(HS_SP, RET_3, RET_1, 7, 7, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_CMM_SCAN + 0x10), RET_1);
}

TEST_F(core, search_that_would_go_on_for_long)
{
	const __u64 nr = 1000, run = 64, steps = 100;
	__u64 i;

	/* Frames that lead on, but never far enough. */
	START_IN_HASKELL();
	world_poke(self->world, CODE(AT_HS + 0x340), 0);
	for (i = 0; i < nr; i++)
		world_poke(self->world, HS_SP + 8 * i,
			   i % run == run - 1 ? 7 : RET_BIG);
	PUSH(HS_SP + 8 * nr, 7, STOP_FRAME);
	self->w->ip = CODE(AT_CMM + 0x10);
	self->w->max_steps = steps;
	EXPECT_EQ(HSUNWIND_STOP_STEPS, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_CMM + 0x10), CODE(GAP_FRAME));
	EXPECT_GE(steps * HSU_READS_PER_STEP + HSU_READS_MORE,
		  self->world->reads);
	START_IN_HASKELL();
	self->w->ip = CODE(AT_CMM + 0x10);
	self->w->max_steps = HSU_MAX_STEPS;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_LT(nr * run / 2, self->world->reads);
}

TEST_F(core, nothing_is_guessed)
{
	/* The distance is not known, or the word there is no return address. */
	START_IN_HASKELL();
	self->w->ip = CODE(AT_HS + 0x10);
	PUSH(HS_SP, RET_1, RET_1, 7, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_NO_CALLER, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS + 0x10));
	START_IN_HASKELL();
	EXPECT_EQ(HSUNWIND_STOP_BAD_FRAME, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10));
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
	put_chunk(self->world, stack, stack + 0x200);
	PUSH(stack + 0x200, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_CMM + 0x10), RET_1);
}

TEST_F(core, safe_call_with_the_task_on_the_stack)
{
	const __u64 task = WORLD_HEAP + 0x100, stack = WORLD_HEAP + 0x4000;

	suspend(self->world, task, stack);
	PUSH(stack + 0x200, RET_3, 7, 7, RET_1, STOP_FRAME);
	world_stgrun(self->world, C_SP, 1);
	world_poke(self->world, C_SP + 0x48, task);
	world_poke(self->world, C_SP - 8, CODE(AT_HS_SP + 0x40));
	self->w->ip = CODE(AT_MAIN);
	self->w->regs[HSU_RSP] = C_SP - 16;
	self->w->regs[HSU_RBP] = WORLD_HEAP + 0x9000;	/* stale */
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_MAIN), CODE(AT_HS_SP + 0x40), RET_1);
	EXPECT_EQ(1, self->w->resynced);

	/* It was left there by an earlier call: this one is not safe. */
	world_poke(self->world, WORLD_HEAP + 0x200 + 8, 0);
	PUSH(HS_SP, 1, 2, RET_2, 7, STOP_FRAME);
	self->w->ip = CODE(AT_MAIN);
	self->w->regs[HSU_RSP] = C_SP - 16;
	self->w->regs[HSU_RBP] = HS_SP;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_MAIN), CODE(AT_HS_SP + 0x40), RET_2);
}

/* It has called in with another Capability since. */
TEST_F(core, safe_call_after_a_callback)
{
	const __u64 task = WORLD_HEAP + 0x100, stack = WORLD_HEAP + 0x4000;

	suspend(self->world, task, stack);
	world_poke(self->world, task + 0x70, OTHER_CAP);
	world_cap(self->world, OTHER_CAP);
	PUSH(stack + 0x200, RET_3, 7, 7, RET_1, STOP_FRAME);
	world_stgrun(self->world, C_SP, 1);
	world_poke(self->world, C_SP - 8, CODE(AT_HS_SP + 0x40));
	self->w->ip = CODE(AT_MAIN);
	self->w->regs[HSU_RSP] = C_SP - 16;
	self->w->regs[HSU_RBP] = WORLD_HEAP + 0x9000;	/* stale */
	self->w->regs[HSU_RBX] = task;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_MAIN), CODE(AT_HS_SP + 0x40), RET_1);
	EXPECT_EQ(1, self->w->resynced);
}

/* A spilled word leads to closures that point to each other, and to a thread. */
TEST_F(core, heap_that_looks_like_a_task)
{
	const __u64 closure = WORLD_HEAP + 0x100, stack = WORLD_HEAP + 0x4000;
	const __u64 other[][2] = {	/* of the Task, of the record */
		{ RET_2, 0 }, { RET_2, CAP }, { RET_2, RET_2 },
		{ HS_SP, HS_SP }, { CAP, HS_SP }, { 0, 0 }, { CAP, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(other); i++) {
		suspend(self->world, closure, stack);
		world_poke(self->world, closure + 0x70, other[i][0]);
		world_poke(self->world, WORLD_HEAP + 0x210, other[i][1]);
		PUSH(stack + 0x200, RET_3, 7, 7, RET_1, STOP_FRAME);
		PUSH(HS_SP, 7, 7, RET_2, 7, RET_1, STOP_FRAME);
		world_stgrun(self->world, C_SP, 1);
		world_poke(self->world, C_SP + 0x48, closure);
		world_poke(self->world, C_SP - 8, CODE(AT_HS_SP + 0x40));
		self->w->ip = CODE(AT_MAIN);
		self->w->regs[HSU_RSP] = C_SP - 16;
		self->w->regs[HSU_RBP] = HS_SP;
		self->w->regs[HSU_RBX] = 0;
		EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
		EXPECT_CHAIN(CODE(AT_MAIN), CODE(AT_HS_SP + 0x40), RET_2, RET_1);
		EXPECT_EQ(0, self->w->resynced);
	}
}

TEST_F(core, about_to_make_a_safe_call)
{
	const __u64 task = WORLD_HEAP + 0x100, stack = WORLD_HEAP + 0x4000;

	suspend(self->world, task, stack);
	PUSH(stack + 0x200, RET_3, 7, 7, RET_1, STOP_FRAME);
	START_IN_HASKELL();
	self->w->regs[HSU_RBP] = WORLD_HEAP + 0x9000;	/* stale */
	self->w->regs[HSU_RBX] = task;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1);
}

TEST_HARNESS_MAIN
