// SPDX-License-Identifier: GPL-2.0-only
/*
 * The core on invented stacks: around safe calls, where Sp is saved in the thread,
 * and the stack may be squeezed and moved.
 */
#include "core_fixture.h"

#include "hsu_walk.h"

#define REG		(WORLD_HEAP + 0x218)	/* BaseReg, in a Capability */
#define TASK		(WORLD_HEAP + 0x100)
#define INCALL		(WORLD_HEAP + 0x180)
#define TSO		(WORLD_HEAP + 0x700)
#define STACK		(WORLD_HEAP + 0x4000)
#define SP		(STACK + 24 + 0x400)
#define OTHER_REG	(WORLD_HEAP + 0x818)
#define OTHER_TASK	(WORLD_HEAP + 0xe00)
#define OTHER_INCALL	(WORLD_HEAP + 0xe80)
#define STALE		(WORLD_HEAP + 0x9000)
#define CLOSURE		(WORLD_HEAP + 0xf80)	/* what an update frame updates */
#define CLOSURE_INFO	(WORLD_HEAP + 0xfc0)

static void task(struct world *world, __u64 at, __u64 reg, __u64 incall)
{
	world_cap(world, reg - 0x18);
	world_poke(world, at + 0x70, reg - 0x18);
	world_poke(world, at + 0x78, incall);
	world_poke(world, incall + 0x28, at);
	world_poke(world, reg + 0x3a0, at);
}

/* A thread that has a Capability, and on its stack the code's own frame. */
static void start(struct world *world, __u64 rbp)
{
	struct hsu_walk *w = &world->w;

	world_stgrun(world, C_SP, 1);
	task(world, TASK, REG, INCALL);
	world_poke(world, REG + 872, TSO);
	world_poke(world, TSO, TSO_INFO);
	world_poke(world, TSO + 24, STACK);
	put_chunk(world, STACK, SP);
	memset(w->regs, 0, sizeof(w->regs));
	w->ip = CODE(AT_HS_SAVED + 0x10);
	w->regs[HSU_RSP] = C_SP;
	w->regs[HSU_RBP] = rbp;
}

/* The same, but two C functions down: suspendThread(), threadPaused(). */
static void start_in_c(struct world *world, __u64 rbp, __u64 callee_rbx)
{
	struct hsu_walk *w = &world->w;

	start(world, rbp);
	w->ip = CODE(AT_SCHEDULE + 8);
	w->regs[HSU_RSP] = C_SP - 32;
	w->regs[HSU_RBX] = callee_rbx;
	world_poke(world, C_SP - 24, CODE(AT_SCHEDULE + 0x30));
	world_poke(world, C_SP - 8, CODE(AT_HS_SAVED + 0x40));
}

TEST_F(core, sp_is_saved_and_the_stack_has_moved)
{
	/* The Task is kept for resumeThread(); r13 is another Capability. */
	start(self->world, STALE);
	PUSH(SP, RET_3, 7, 7, RET_1, STOP_FRAME);
	self->w->regs[HSU_R14] = TASK;
	self->w->regs[HSU_R13] = OTHER_REG;
	task(self->world, OTHER_TASK, OTHER_REG, OTHER_INCALL);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SAVED + 0x10), RET_1);
	EXPECT_EQ(1, self->w->resynced);

	/* It is not any more, and the code gets BaseReg from resumeThread(). */
	start(self->world, STALE);
	self->w->regs[HSU_RAX] = REG;
	self->w->regs[HSU_R13] = OTHER_REG;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SAVED + 0x10), RET_1);
}

TEST_F(core, sp_is_saved_on_a_capability_that_may_be_another)
{
	/* About to call suspendThread(): rbp is in the thread's stack. */
	start(self->world, SP);
	PUSH(SP, RET_3, 7, 7, RET_1, STOP_FRAME);
	self->w->regs[HSU_R13] = REG;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SAVED + 0x10), RET_1);

	start(self->world, STALE);
	self->w->regs[HSU_R13] = REG;
	EXPECT_EQ(HSUNWIND_STOP_NO_CALLER, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SAVED + 0x10));

	start(self->world, SP);
	EXPECT_EQ(HSUNWIND_STOP_NO_CALLER, world_walk(self->world));
}

TEST_F(core, sp_is_saved_and_the_frame_there_is_another)
{
	start(self->world, SP);
	PUSH(SP, RET_2, 7, RET_1, STOP_FRAME);
	self->w->regs[HSU_R13] = REG;
	EXPECT_EQ(HSUNWIND_STOP_BAD_FRAME, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SAVED + 0x10));
}

TEST_F(core, resuming_with_no_record_of_the_thread)
{
	/* resumeThread() has taken it from the record, into rbx. */
	start_in_c(self->world, STALE, TSO);
	world_poke(self->world, REG + 872, 0);
	PUSH(SP, RET_3, 7, 7, RET_1, STOP_FRAME);
	self->w->regs[HSU_R14] = TASK;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_SCHEDULE + 8), CODE(AT_SCHEDULE + 0x30),
		     CODE(AT_HS_SAVED + 0x40), RET_1);
}

TEST_F(core, stack_with_gaps_is_walked)
{
	/* Two update frames over each other, of which one is a gap by now. */
	start_in_c(self->world, SP, REG);
	PUSH(SP, RET_3, 7, 7, RET_1, 2, SP - 16, UPDATE_FRAME, 8, RET_2, 7,
	     UPDATE_FRAME, 9, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_SCHEDULE + 8), CODE(AT_SCHEDULE + 0x30),
		     CODE(AT_HS_SAVED + 0x40), RET_1, RET_2);
	/* The next gap is not one of this stack. */
	start_in_c(self->world, SP, REG);
	world_poke(self->world, SP + 40, STALE);
	EXPECT_EQ(HSUNWIND_STOP_BAD_FRAME, world_walk(self->world));
}

TEST_F(core, stack_whose_frames_are_being_moved_is_not_walked)
{
	/* Four update frames were removed: the frames below are there twice. */
	start_in_c(self->world, SP, REG);
	PUSH(SP, RET_3, 7, 7, RET_1, UPDATE_FRAME, 8, UPDATE_FRAME, 9,
	     RET_3, 7, 7, RET_1, UPDATE_FRAME, 10, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_BAD_FRAME, world_walk(self->world));
	EXPECT_EQ(3, self->w->n);
	/* That is a loop: other values, or no update frame above. */
	start_in_c(self->world, SP, REG);
	PUSH(SP, RET_3, 7, 7, RET_2, 1, UPDATE_FRAME, 8, UPDATE_FRAME, 9,
	     RET_3, 7, 8, RET_2, 2, UPDATE_FRAME, 10, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_EQ(6, self->w->n);
	start_in_c(self->world, SP, REG);
	PUSH(SP, RET_3, 7, 7, RET_1, RET_1, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_EQ(5, self->w->n);
}

TEST_F(core, update_frame_that_stays_tells_equal_frames_apart)
{
	static const struct {
		__u64 type, owner;
		enum hsunwind_stop stop;
	} closures[] = {
		{ HSU_THUNK, 0, HSUNWIND_STOP_COMPLETE },
		{ HSU_WHITEHOLE, 0, HSUNWIND_STOP_COMPLETE },
		{ HSU_BLACKHOLE, TSO, HSUNWIND_STOP_COMPLETE },
		{ HSU_BLACKHOLE, STALE, HSUNWIND_STOP_BAD_FRAME },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(closures); i++) {
		start_in_c(self->world, SP, REG);
		PUSH(SP, RET_3, 7, 7, RET_1, UPDATE_FRAME, CLOSURE,
		     UPDATE_FRAME, 9, RET_3, 7, 7, RET_1, UPDATE_FRAME, 10,
		     STOP_FRAME);
		world_poke(self->world, CLOSURE, CLOSURE_INFO);
		world_poke(self->world, CLOSURE + 8, closures[i].owner);
		world_poke(self->world, CLOSURE_INFO - 8, closures[i].type);
		EXPECT_EQ(closures[i].stop, world_walk(self->world)) {
			TH_LOG("closure type %llu",
			       (unsigned long long)closures[i].type);
		}
	}
	/* Unless it has been moved with them. */
	start_in_c(self->world, SP, REG);
	PUSH(SP, RET_1, UPDATE_FRAME, CLOSURE, RET_1, UPDATE_FRAME, CLOSURE,
	     STOP_FRAME);
	world_poke(self->world, CLOSURE_INFO - 8, HSU_THUNK);
	EXPECT_EQ(HSUNWIND_STOP_BAD_FRAME, world_walk(self->world));
}

TEST_F(core, deep_stack_that_may_be_squeezed)
{
	const __u64 deep = STACK + 24 + 0x18;
	const int nr = 100;
	int i;

	/* As far as the walk may go, and not only so far, it is checked. */
	start_in_c(self->world, deep, REG);
	put_chunk(self->world, STACK, deep);
	PUSH(deep, RET_3, 7, 7);
	for (i = 0; i < nr; i++)
		PUSH(deep + 24 + i * 8, RET_1);
	PUSH(deep + 24 + nr * 8, UPDATE_FRAME, 8, STOP_FRAME);
	self->w->max_steps = nr / 2;
	EXPECT_EQ(HSUNWIND_STOP_STEPS, world_walk(self->world));
	EXPECT_LT(nr / 4, self->w->n);
	start_in_c(self->world, deep, REG);
	put_chunk(self->world, STACK, deep);
	self->w->max_steps = 2 * nr;
	EXPECT_EQ(HSUNWIND_STOP_BAD_FRAME, world_walk(self->world));
	EXPECT_EQ(3, self->w->n);
}

TEST_F(core, thread_that_returns_to_the_scheduler_is_squeezed)
{
	start(self->world, SP);
	self->w->ip = CODE(AT_SCHEDULE + 8);
	self->w->regs[HSU_RSP] = C_SP - 16;
	self->w->regs[HSU_R13] = REG;
	world_poke(self->world, C_SP - 8, CODE(AT_CMM_SAVED + 0x40));
	PUSH(SP, RET_3, 7, 7, UPDATE_FRAME, 8, RET_3, 7, 7, UPDATE_FRAME, 9,
	     STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_BAD_FRAME, world_walk(self->world));
	EXPECT_EQ(1, self->w->n);
	/* Behind the call. */
	start(self->world, SP - 16);
	self->w->ip = CODE(AT_CMM_SAVED + 0x40);
	self->w->regs[HSU_R13] = REG;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_CMM_SAVED + 0x40), RET_3, RET_3);
}

TEST_F(core, exception_that_has_left_a_chunk)
{
	const __u64 first = WORLD_HEAP + 0x8000;

	/* The thread goes on in the next chunk, and Sp is still in the first. */
	start(self->world, first + 24 + 0x400);
	self->w->ip = CODE(AT_SCHEDULE + 8);
	self->w->regs[HSU_RSP] = C_SP - 16;
	self->w->regs[HSU_R13] = REG;
	world_poke(self->world, C_SP - 8, CODE(AT_CMM_SAVED + 0x40));
	put_chunk(self->world, first, CHUNK_STOP(first) + 8);
	PUSH(first + 24 + 0x400, RET_3, 7, 7, UNDERFLOW_FRAME, STACK);
	PUSH(SP, RET_2, 7, STOP_FRAME);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_SCHEDULE + 8), RET_3, RET_2);
	/* It has left that one too: where its frames begin is not known. */
	start(self->world, first + 24 + 0x400);
	self->w->ip = CODE(AT_SCHEDULE + 8);
	self->w->regs[HSU_RSP] = C_SP - 16;
	self->w->regs[HSU_R13] = REG;
	world_poke(self->world, STACK + 16, CHUNK_STOP(STACK) + 8);
	put_chunk(self->world, WORLD_HEAP + 0x2000, WORLD_HEAP + 0x2418);
	world_poke(self->world, TSO + 24, WORLD_HEAP + 0x2000);
	EXPECT_EQ(HSUNWIND_STOP_BAD_CHUNK, world_walk(self->world));
	EXPECT_EQ(2, self->w->n);
}

TEST_F(core, stack_that_is_being_copied)
{
	const __u64 copy = WORLD_HEAP + 0x6000;

	/* The thread has been told of a copy that has no words yet. */
	start(self->world, SP);
	PUSH(SP, RET_3, 7, 7, RET_1, STOP_FRAME);
	world_poke(self->world, INCALL + 8, TSO);
	world_poke(self->world, TSO + 24, copy);
	put_chunk(self->world, copy, copy + 24 + 0x400);
	world_poke(self->world, CHUNK_STOP(copy), 0);
	world_poke(self->world, STACK, copy | 1);
	self->w->regs[HSU_R14] = TASK;
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SAVED + 0x10), RET_1);
	/* Its sp has not been changed either. */
	self->w->ip = CODE(AT_HS_SAVED + 0x10);
	self->w->regs[HSU_RBP] = STALE;
	self->w->regs[HSU_RSP] = C_SP;
	self->w->regs[HSU_R14] = TASK;
	world_poke(self->world, copy + 16, SP);
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_HS_SAVED + 0x10), RET_1);
	/* Nothing tells where the original is. */
	self->w->ip = CODE(AT_HS_SAVED + 0x10);
	self->w->regs[HSU_RBP] = STALE;
	self->w->regs[HSU_RSP] = C_SP;
	self->w->regs[HSU_R14] = TASK;
	world_poke(self->world, copy + 16, copy + 24 + 0x400);
	EXPECT_EQ(HSUNWIND_STOP_NO_CALLER, world_walk(self->world));
}

TEST_HARNESS_MAIN
