/* SPDX-License-Identifier: GPL-2.0-only */
/* The invented process that all tests of the core begin with. */
#ifndef CORE_FIXTURE_H
#define CORE_FIXTURE_H

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
	world_info(self->world, AT_HS_SCAN + 0x100, 30, 0);
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
#define OWN		CODE(AT_HS_SCAN + 0x100)	/* one word */

/* Puts words on the Haskell stack, from HS_SP upwards. */
static inline void push(struct world *world, __u64 at, const __u64 *words, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		world_poke(world, at + 8 * i, words[i]);
}

#define PUSH(at, ...) do {							\
	const __u64 words[] = { __VA_ARGS__ };					\
	push(self->world, (at), words, ARRAY_SIZE(words));			\
} while (0)

/* A chunk of a Haskell stack, with a stop frame at its end. */
#define CHUNK_WORDS	0x100
#define CHUNK_STOP(at)	((at) + 24 + 8 * (CHUNK_WORDS - 1))

static inline void put_chunk(struct world *world, __u64 at, __u64 sp)
{
	const __u64 words[] = { STACK_INFO, CHUNK_WORDS, sp };

	push(world, at, words, ARRAY_SIZE(words));
	world_poke(world, CHUNK_STOP(at), STOP_FRAME);
}

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

#endif /* CORE_FIXTURE_H */
