// SPDX-License-Identifier: GPL-2.0-only
/* The core in a child of forkProcess(), on an invented stack. */
#include "kselftest_harness.h"

#include "world.h"

#define C_SP		(WORLD_STACK + 0x1008)
#define HS_SP		(WORLD_HEAP + 0x1000)
#define TASK		(WORLD_HEAP + 0x100)
#define INCALL		(WORLD_HEAP + 0x200)
#define OUTER_INCALL	(WORLD_HEAP + 0x280)
#define CAP		(WORLD_HEAP + 0x40)
#define TSO		(WORLD_HEAP + 0x300)
#define WHAT_NEXT	(TSO + 0x20)
#define CHILD		(WORLD_HEAP + 0x800)	/* a thread of the scheduler */
#define STACK		(WORLD_HEAP + 0x4000)
#define STOP_FRAME	CODE(AT_CMM + 0x80)
#define STACK_INFO	CODE(AT_CMM + 0x100)
#define TSO_INFO	CODE(AT_CMM + 0x180)
#define FRAME		CODE(AT_HS + 0x100)
#define CALL		CODE(AT_HS_SP + 0x40)	/* of forkProcess() */

enum { RUN_GHC = 1, KILLED = 3 };

FIXTURE(fork)
{
	struct world *world;
	struct hsu_walk *w;
};

FIXTURE_SETUP(fork)
{
	self->world = world_create();
	self->w = &self->world->w;
	world_info(self->world, AT_CMM + 0x80, 36, 0);
	world_info(self->world, AT_CMM + 0x100, 53, 0);
	world_info(self->world, AT_CMM + 0x180, 52, 0);
	world_info(self->world, AT_HS + 0x100, 30, 0);
	world_stgrun(self->world, C_SP, 1);
}

FIXTURE_TEARDOWN(fork)
{
	world_destroy(self->world);
}

/* The stack of a thread: two words of the code that runs, then two frames. */
static void put_stack(struct world *world, __u64 sp)
{
	world_poke(world, sp + 0x10, FRAME);
	world_poke(world, sp + 0x18, STOP_FRAME);
}

TEST_F(fork, action_of_the_child)
{
	/* The run-time system is called by Haskell, and calls Haskell. */
	put_stack(self->world, HS_SP);
	world_poke(self->world, C_SP + STGRUN_SIZE + 8, CALL);
	self->w->ip = CODE(AT_HS_SP + 0x10);
	self->w->regs[HSU_RSP] = C_SP;
	self->w->regs[HSU_RBP] = HS_SP;
	ASSERT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	ASSERT_EQ(2, self->w->n);
	EXPECT_EQ(CODE(AT_HS_SP + 0x10), self->world->out[0]);
	EXPECT_EQ(FRAME, self->world->out[1]);
}

/* The scheduler runs a thread; the one below is in this state. */
static enum hsunwind_stop walk_scheduler(struct world *world, __u64 info,
					 __u64 what_next, __u64 thread)
{
	struct hsu_walk *w = &world->w;

	world_poke(world, C_SP - 8, CALL);
	world_cap(world, CAP);
	world_poke(world, TASK + 0x70, CAP);
	world_poke(world, TASK + 0x78, INCALL);
	world_poke(world, INCALL, thread);
	world_poke(world, INCALL + 0x28, TASK);
	world_poke(world, INCALL + 0x30, OUTER_INCALL);
	world_poke(world, OUTER_INCALL + 8, TSO);
	world_poke(world, TSO, info);
	world_poke(world, TSO + 0x18, STACK);
	world_poke(world, WHAT_NEXT, what_next);
	world_poke(world, STACK, STACK_INFO);
	world_poke(world, STACK + 8, 0x100);
	world_poke(world, STACK + 0x10, STACK + 0x200);
	put_stack(world, STACK + 0x200);
	w->ip = CODE(AT_SCHEDULE);
	w->regs[HSU_RSP] = C_SP - 16;
	w->regs[HSU_RBP] = STACK + 0x200;
	w->regs[HSU_RBX] = TASK;
	return world_walk(world);
}

TEST_F(fork, thread_below_the_scheduler_is_alive)
{
	/* No fork: a call of resumeThread(), for one. */
	ASSERT_EQ(HSUNWIND_STOP_COMPLETE,
		  walk_scheduler(self->world, TSO_INFO, RUN_GHC, CHILD));
	ASSERT_EQ(3, self->w->n);
	EXPECT_EQ(CALL, self->world->out[1]);
	EXPECT_EQ(FRAME, self->world->out[2]);
}

TEST_F(fork, thread_below_the_scheduler_is_killed)
{
	ASSERT_EQ(HSUNWIND_STOP_COMPLETE,
		  walk_scheduler(self->world, TSO_INFO, KILLED, CHILD));
	ASSERT_EQ(1, self->w->n);
	EXPECT_EQ(CODE(AT_SCHEDULE), self->world->out[0]);
}

TEST_F(fork, thread_below_the_scheduler_is_gone)
{
	ASSERT_EQ(HSUNWIND_STOP_COMPLETE,
		  walk_scheduler(self->world, FRAME, RUN_GHC, CHILD));
	ASSERT_EQ(1, self->w->n);
	EXPECT_EQ(CODE(AT_SCHEDULE), self->world->out[0]);
	ASSERT_EQ(HSUNWIND_STOP_COMPLETE,
		  walk_scheduler(self->world, 1, 0, CHILD));
	ASSERT_EQ(1, self->w->n);
	ASSERT_EQ(HSUNWIND_STOP_COMPLETE,
		  walk_scheduler(self->world, 7, 0, CHILD));
	ASSERT_EQ(1, self->w->n);
}

TEST_F(fork, thread_below_the_collector_is_alive)
{
	const __u64 links[] = { TSO + 0x400, TSO + 0x440 };

	/* No fork: performGC(), whose record has no thread. */
	ASSERT_EQ(HSUNWIND_STOP_COMPLETE,
		  walk_scheduler(self->world, TSO_INFO, RUN_GHC, 0));
	EXPECT_EQ(3, self->w->n);
	/* The compacting collector has put the info pointer two links away, */
	world_poke(self->world, links[0], links[1] | 2);
	world_poke(self->world, links[1], TSO_INFO);
	ASSERT_EQ(HSUNWIND_STOP_COMPLETE,
		  walk_scheduler(self->world, links[0] | 1, RUN_GHC, 0));
	EXPECT_EQ(3, self->w->n);
	/* or has something else there for a while. */
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE,
		  walk_scheduler(self->world, FRAME, RUN_GHC, 0));
	EXPECT_EQ(3, self->w->n);
}

TEST_HARNESS_MAIN
