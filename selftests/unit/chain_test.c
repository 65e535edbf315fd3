// SPDX-License-Identifier: GPL-2.0-only
/* What of the frames that are found is put into the chain, and what is not. */
#include "core_fixture.h"

/* Leaf: GC or C code, called by @ra. */
static void start_in_c(struct world *world, __u64 ip, __u64 ra)
{
	world->w.ip = ip;
	world->w.regs[HSU_RSP] = C_SP;
	world_poke(world, C_SP + 8, ra);
	world_poke(world, C_SP + 24, CODE(AT_GC + 0x20));
	world_poke(world, C_SP + 40, CODE(AT_SCHEDULE + 0x10));
	world_poke(world, C_SP + 56, CODE(AT_START + 0x20));
}

TEST_F(core, collector_is_one_frame)
{
	struct world *world = self->world;

	/* at its entry, and in what it calls */
	start_in_c(world, CODE(AT_GC), CODE(AT_SCHEDULE + 0x10));
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(world));
	EXPECT_CHAIN(CODE(GC_FRAME));
	EXPECT_EQ(HSU_COLLECTOR, world->kinds[0]);
	EXPECT_TRUE(self->w->collecting);

	start_in_c(world, CODE(AT_LIBC + 8), CODE(AT_SCHEDULE + 0x10));
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(world));
	EXPECT_CHAIN(CODE(GC_FRAME));

	/* in the linkage table, which is of class C */
	start_in_c(world, CODE(AT_PLT + 1), 0);
	world_poke(world, C_SP, CODE(AT_GC + 0x10));
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(world));
	EXPECT_CHAIN(CODE(GC_FRAME));
}

TEST_F(core, collector_on_top_of_haskell)
{
	struct world *world = self->world;
	const __u64 outer = C_SP + 32;

	/* Haskell code has called performGC() */
	self->w->ip = CODE(AT_GC + 4);
	self->w->regs[HSU_RSP] = C_SP;
	self->w->regs[HSU_RBP] = HS_SP;
	world_poke(world, C_SP + 8, CODE(AT_SCHEDULE + 0x10));
	world_poke(world, C_SP + 24, CODE(AT_HS_SP + 0x40));
	world_stgrun(world, outer, 1);
	PUSH(HS_SP, 1, 2, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(world));
	EXPECT_CHAIN(CODE(GC_FRAME));

	self->w->flags = HSUNWIND_GC_SHOW;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(world));
	EXPECT_CHAIN(CODE(AT_GC + 4), CODE(AT_SCHEDULE + 0x10),
		     CODE(AT_HS_SP + 0x40), RET_1);
	EXPECT_FALSE(self->w->collecting);
}

static void start_in_finalizer(struct world *world)
{
	start_in_c(world, CODE(AT_LIBC + 8), CODE(AT_MAIN + 0x20));
	world_poke(world, C_SP + 24, CODE(AT_SCHEDULE + 0x30));
	world_poke(world, C_SP + 40, CODE(AT_GC + 0x10));
}

TEST_F(core, finalizer_hangs_from_the_collector)
{
	start_in_finalizer(self->world);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_LIBC + 8), CODE(AT_MAIN + 0x20), CODE(GC_FRAME));

	start_in_finalizer(self->world);
	self->w->flags = HSUNWIND_GC_DROP;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_LIBC + 8), CODE(AT_MAIN + 0x20));
}

TEST_F(core, collector_is_dropped)
{
	self->w->flags = HSUNWIND_GC_DROP;
	start_in_c(self->world, CODE(AT_LIBC + 8), CODE(AT_SCHEDULE + 0x10));
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_EQ(0, self->w->n);
	EXPECT_TRUE(self->w->collecting);
}

TEST_F(core, collector_without_an_address)
{
	self->world->image->gc_frame = 0;
	start_in_c(self->world, CODE(AT_GC), CODE(AT_SCHEDULE + 0x10));
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_GC), CODE(AT_SCHEDULE + 0x10), CODE(AT_GC + 0x20),
		     CODE(AT_SCHEDULE + 0x10), CODE(AT_START + 0x20));
}

#define MAX_FRAMES	40

/* A stack of so many frames, no two neighbours alike, of one word. */
static void push_frames(struct world *world, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		world_poke(world, HS_SP + 16 + 8 * i,
			   i % 3 == i % 2 ? OWN : RET_1);
	world_poke(world, HS_SP + 16 + 8 * nr, STOP_FRAME);
}

TEST_F(core, long_chain_keeps_leaf_and_root)
{
	__u32 nr, cap, root, i;

	for (nr = 1; nr < MAX_FRAMES; nr++) {
		__u64 all[MAX_FRAMES + 8];
		__u32 len;

		self->w->flags = HSU_SHOW_ALL;
		self->w->cap = ARRAY_SIZE(self->world->out);
		START_IN_HASKELL();
		push_frames(self->world, nr);
		ASSERT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
		len = self->w->n;
		ASSERT_EQ(nr + 6, len);
		memcpy(all, self->world->out, len * sizeof(*all));
		for (cap = 4; cap < len; cap++) {
			root = 1 + (nr + cap) % 9;
			self->w->cap = cap;
			self->w->root = root;
			START_IN_HASKELL();
			memset(self->world->out, 0, sizeof(self->world->out));
			EXPECT_EQ(HSUNWIND_STOP_COMPLETE,
				  world_walk(self->world));
			ASSERT_EQ(cap, self->w->n);
			EXPECT_TRUE(self->w->gapped);
			if (root > cap - 1 - cap / 4)
				root = cap - 1 - cap / 4;
			for (i = 0; i < cap - 1 - root; i++)
				EXPECT_EQ(all[i], self->world->out[i]);
			EXPECT_EQ(CODE(GAP_FRAME), self->world->out[i]);
			EXPECT_EQ(HSU_GAP, self->world->kinds[i]);
			for (i = 1; i <= root; i++)
				EXPECT_EQ(all[len - i],
					  self->world->out[cap - i]);
			EXPECT_EQ(0, self->world->out[cap]);
		}
	}
}

TEST_F(core, chain_that_just_fits)
{
	START_IN_HASKELL();
	push_frames(self->world, 10);
	self->w->cap = 11;	/* main and what is below it need no place */
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_EQ(11, self->w->n);
	EXPECT_FALSE(self->w->gapped);
}

TEST_F(core, plumbing_is_hidden_below_a_gap)
{
	START_IN_HASKELL();
	push_frames(self->world, MAX_FRAMES);
	world_poke(self->world, HS_SP + 16 + 8 * (MAX_FRAMES - 1), RET_2);
	world_poke(self->world, HS_SP + 16 + 8 * (MAX_FRAMES + 1), STOP_FRAME);
	self->w->cap = 12;
	self->w->root = 6;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	/* main and below have taken none of the last six */
	ASSERT_EQ(5 + 1 + 6, self->w->n);
	EXPECT_EQ(CODE(GAP_FRAME), self->world->out[5]);
	EXPECT_EQ(RET_2, self->world->out[11]);
}

TEST_F(core, no_address_for_a_gap)
{
	self->world->image->gap_frame = 0;
	START_IN_HASKELL();
	push_frames(self->world, MAX_FRAMES);
	self->w->cap = 12;
	EXPECT_EQ(HSUNWIND_STOP_BUDGET, world_walk(self->world));
	EXPECT_EQ(12, self->w->n);
	EXPECT_FALSE(self->w->gapped);
}

TEST_F(core, recursion_is_folded)
{
	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, RET_1, RET_1, RET_1, RET_1, OWN, RET_1, OWN, RET_1,
	     OWN, RET_2, 0, STOP_FRAME);
	self->w->flags = HSUNWIND_FOLD_RECURSION;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1, OWN, RET_2);

	/* the same, and what is hidden in between does not count */
	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, RET_1, UPDATE_FRAME, 7, RET_1, UPDATE_FRAME, 7,
	     RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1);

	/* A cycle within a cycle: 1 1 2 1 1 2 */
	START_IN_HASKELL();
	PUSH(HS_SP, 1, 2, RET_1, RET_1, OWN, RET_1, RET_1, OWN, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SP + 0x10), RET_1, OWN);
}

/* One more than can be folded, of one word each. */
#define CYCLE(i)	(AT_HS + 0x800 + 0x20 * (i))

static void make_cycle(struct world *world)
{
	int i;

	for (i = 0; i <= HSU_MAX_CYCLE; i++)
		world_info(world, CYCLE(i), 30, 0);
}

TEST_F(core, longest_cycle_that_is_folded)
{
	__u64 at = HS_SP + 16;
	__u32 len, i, j;

	self->w->flags = HSUNWIND_FOLD_RECURSION;
	make_cycle(self->world);
	for (len = 1; len <= HSU_MAX_CYCLE + 1; len++) {
		START_IN_HASKELL();
		for (i = 0, at = HS_SP + 16; i < 5; i++)
			for (j = 0; j < len; j++, at += 8)
				world_poke(self->world, at, CODE(CYCLE(j)));
		world_poke(self->world, at, STOP_FRAME);
		EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
		EXPECT_EQ(len <= HSU_MAX_CYCLE ? 1 + len : 1 + 5 * len,
			  self->w->n);
	}
}

TEST_F(core, recursion_is_folded_behind_a_gap)
{
	__u64 at = HS_SP + 16;
	int i;

	make_cycle(self->world);
	START_IN_HASKELL();
	for (i = 0; i < 30; i++, at += 8)
		world_poke(self->world, at, CODE(CYCLE(i % (HSU_MAX_CYCLE + 1))));
	for (i = 0; i < 100; i++, at += 8)
		world_poke(self->world, at, i % 2 ? OWN : RET_1);
	PUSH(at, RET_2, 0, STOP_FRAME);
	self->w->flags = HSUNWIND_FOLD_RECURSION | HSU_SHOW_ALL;
	self->w->cap = 16;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	ASSERT_EQ(16, self->w->n);
	EXPECT_EQ(CODE(GAP_FRAME), self->world->out[7]);
	/* RET_1 OWN RET_2 STOP schedule main libc start */
	EXPECT_EQ(RET_1, self->world->out[8]);
	EXPECT_EQ(OWN, self->world->out[9]);
	EXPECT_EQ(RET_2, self->world->out[10]);
	EXPECT_EQ(CODE(AT_START + 0x20), self->world->out[15]);
}

TEST_F(core, frames_that_stand_for_others_are_checked)
{
	const struct {
		__u32 gc;
		__u32 gap;
		const char *why;
	} bad[] = {
		{ AT_CMM + 0x80, 0, "gc_frame" },
		{ AT_HOLE, 0, "gc_frame" },
		{ AT_END + 1, 0, "gc_frame" },
		{ AT_MAIN, 0, "gc_frame" },
		{ 0, AT_HS + 8, "gap_frame" },
		{ 0, AT_GC, "gap_frame" },
		{ 0, 0xffffffff, "gap_frame" },
	};
	struct hsunwind_image *h = self->world->image;
	struct hsu_image img;
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		const char *why;

		h->gc_frame = bad[i].gc;
		h->gap_frame = bad[i].gap;
		why = hsu_image_init(&img, h, h->size);
		ASSERT_NE(NULL, why);
		EXPECT_EQ(why, strstr(why, bad[i].why));
	}
	h->gc_frame = AT_SCHEDULE;
	h->gap_frame = 0;
	EXPECT_EQ(NULL, hsu_image_init(&img, h, h->size));
}

TEST_HARNESS_MAIN
