// SPDX-License-Identifier: GPL-2.0-only
/* Deep Haskell stacks: over their chunks to the root. */
#include "core_fixture.h"

#define FIRST_CHUNK	(WORLD_HEAP + 0x2000)
#define WORDS		40u	/* of a chunk's stack */
#define CHUNK_BYTES	(24 + 8 * WORDS)
#define MAX_CHUNKS	100u

static __u64 chunk_at(__u32 i)
{
	return FIRST_CHUNK + (__u64)i * CHUNK_BYTES;
}

/* So many frames of one word, then an underflow frame. */
static void put_frames(struct world *world, __u64 end, __u64 ra, __u64 next)
{
	__u64 at;

	for (at = end - 8 * WORDS; at < end - 16; at += 8)
		world_poke(world, at, ra);
	world_poke(world, end - 16, UNDERFLOW_FRAME);
	world_poke(world, end - 8, next);
}

/*
 * A stack of so many chunks below the first words, with RET_1 in them. In the last
 * one there are OWN, then a frame of its own kind at the root.
 */
static void put_stack(struct world *world, __u32 nr)
{
	__u32 i;

	put_frames(world, HS_SP + 16 + 8 * WORDS, RET_1, chunk_at(0));
	for (i = 0; i < nr; i++) {
		const __u64 head[] = {
			STACK_INFO, WORDS, chunk_at(i) + 24,
		};
		const __u64 end = chunk_at(i) + CHUNK_BYTES;

		push(world, chunk_at(i), head, ARRAY_SIZE(head));
		put_frames(world, end, i + 1 < nr ? RET_1 : OWN,
			   chunk_at(i + 1));
	}
	world_poke(world, chunk_at(nr) - 24, RET_2);
	world_poke(world, chunk_at(nr) - 16, 0);
	world_poke(world, chunk_at(nr) - 8, STOP_FRAME);
}

TEST_F(core, root_of_a_deep_stack)
{
	__u32 nr, i;

	for (nr = 1; nr <= MAX_CHUNKS; nr++) {
		START_IN_HASKELL();
		put_stack(self->world, nr);
		self->w->cap = 20;
		self->w->root = 10;
		EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
		EXPECT_TRUE(self->w->gapped);
		/* what is below the stop frame takes none of the ten */
		ASSERT_EQ(20, self->w->n);
		for (i = 1; i < 9; i++)
			EXPECT_EQ(RET_1, self->world->out[i]);
		EXPECT_EQ(CODE(GAP_FRAME), self->world->out[9]);
		for (i = 10; i < 19; i++)
			EXPECT_EQ(OWN, self->world->out[i]);
		EXPECT_EQ(RET_2, self->world->out[19]);
		/* one chunk is walked, then those that 160 words are in */
		EXPECT_GE(1 + WORDS + nr + 5 * WORDS + 5, self->w->steps);
	}
}

TEST_F(core, deep_stack_that_fits)
{
	START_IN_HASKELL();
	put_stack(self->world, 8);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_FALSE(self->w->gapped);
	EXPECT_EQ(1 + 8 * (WORDS - 2) + WORDS - 2, self->w->n);
}

TEST_F(core, chunks_may_be_few)
{
	/* All of them are needed for the root: nothing is skipped. */
	START_IN_HASKELL();
	put_stack(self->world, 2);
	self->w->cap = 40;
	self->w->root = 20;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_EQ(40, self->w->n);
	EXPECT_EQ(OWN, self->world->out[20]);
}

/* However few entries there are, the root is one of them. */
TEST_F(core, root_of_a_short_chain)
{
	__u32 cap, i;

	for (cap = 4; cap < 20; cap++) {
		START_IN_HASKELL();
		put_stack(self->world, 10);
		self->w->cap = cap;
		EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
		ASSERT_EQ(cap, self->w->n);
		EXPECT_EQ(RET_2, self->world->out[cap - 1]);
		for (i = cap - cap / 2; i < cap - 1; i++)
			EXPECT_EQ(OWN, self->world->out[i]);
		EXPECT_EQ(CODE(GAP_FRAME), self->world->out[cap - cap / 2 - 1]);
	}
}

TEST_F(core, deep_stack_that_breaks_off)
{
	START_IN_HASKELL();
	put_stack(self->world, 50);
	world_poke(self->world, chunk_at(30), 0);
	self->w->cap = 20;
	EXPECT_EQ(HSUNWIND_STOP_BAD_CHUNK, world_walk(self->world));
	ASSERT_EQ(10, self->w->n);
	EXPECT_EQ(CODE(GAP_FRAME), self->world->out[9]);
}

TEST_F(core, deep_circle)
{
	START_IN_HASKELL();
	put_stack(self->world, 50);
	world_poke(self->world, chunk_at(50) - 16, UNDERFLOW_FRAME);
	world_poke(self->world, chunk_at(50) - 8, chunk_at(20));
	self->w->cap = 20;
	EXPECT_EQ(HSUNWIND_STOP_STEPS, world_walk(self->world));
	ASSERT_EQ(10, self->w->n);
	EXPECT_EQ(CODE(GAP_FRAME), self->world->out[9]);
	EXPECT_EQ(HSU_MAX_STEPS + 1, self->w->steps);
}

TEST_F(core, too_many_chunks)
{
	START_IN_HASKELL();
	put_stack(self->world, MAX_CHUNKS);
	self->w->cap = 20;
	self->w->max_steps = MAX_CHUNKS;
	EXPECT_EQ(HSUNWIND_STOP_STEPS, world_walk(self->world));
	ASSERT_EQ(10, self->w->n);
	EXPECT_EQ(CODE(GAP_FRAME), self->world->out[9]);
}

/* Folded, a recursion never fills the chain: the number of frames tells. */
TEST_F(core, deep_recursion_is_folded)
{
	START_IN_HASKELL();
	put_stack(self->world, MAX_CHUNKS);
	self->w->flags = HSUNWIND_FOLD_RECURSION;
	self->w->cap = 100;
	self->w->root = 20;
	self->w->max_steps = 1000;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1, CODE(GAP_FRAME), RET_1, OWN,
		     RET_2);

	/* With enough time none is left out. */
	START_IN_HASKELL();
	self->w->max_steps = HSU_MAX_STEPS;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1, OWN, RET_2);
}

TEST_F(core, any_read_of_a_deep_stack_may_fail)
{
	__u32 nr, i;

	for (nr = 1; nr < 600; nr++) {
		START_IN_HASKELL();
		put_stack(self->world, 20);
		self->w->cap = 20;
		self->world->fail_read = nr;
		EXPECT_GT(HSUNWIND_STOP_NR, world_walk(self->world));
		ASSERT_GE(20, self->w->n);
		for (i = 0; i < self->w->n; i++)
			EXPECT_TRUE(self->world->out[i] >= WORLD_BASE &&
				    self->world->out[i] <
				    WORLD_BASE + WORLD_TEXT);
	}
}

TEST_HARNESS_MAIN
