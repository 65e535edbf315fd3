// SPDX-License-Identifier: GPL-2.0-only
/* The core on invented stacks: Haskell frames, chunks and callbacks. */
#include "core_fixture.h"

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
	put_chunk(self->world, chunk, chunk + 0x200);
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
	put_chunk(self->world, chunk, chunk + 0x200);
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

TEST_F(core, thread_that_ends)
{
	/* stg_stop_thread has taken the stop frame off: only C is below. */
	START_IN_HASKELL();
	self->w->ip = CODE(AT_HS_END + 8);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_END + 8));
}

TEST_HARNESS_MAIN
