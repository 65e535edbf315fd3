// SPDX-License-Identifier: GPL-2.0-only
/* The core on invented stacks: C frames, and each stop reason. */
#include "core_fixture.h"

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

TEST_F(core, frame_with_aligned_stack)
{
	self->w->ip = CODE(AT_DRAP + 1);
	self->w->regs[HSU_RSP] = C_SP;
	self->w->regs[HSU_RBP] = C_SP + 64;
	world_poke(self->world, C_SP + 56, C_SP + 256);	/* CFA */
	world_poke(self->world, C_SP + 64, C_SP + 512);	/* caller's rbp */
	world_poke(self->world, C_SP + 248, CODE(AT_USER + 1));
	world_poke(self->world, C_SP + 520, CODE(AT_START + 1));
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_DRAP + 1), CODE(AT_USER + 1), CODE(AT_START + 1));
}

TEST_F(core, lost_register)
{
	/* A signal handler over code based on r12, which was called. */
	self->w->ip = CODE(AT_MAIN);
	self->w->regs[HSU_RSP] = C_SP;
	world_poke(self->world, C_SP + 8, CODE(AT_R12 + 1));
	EXPECT_EQ(HSUNWIND_STOP_NO_REG, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_MAIN), CODE(AT_R12 + 1));
}

TEST_F(core, return_address_in_a_register)
{
	self->w->ip = CODE(AT_VFORK + 1);
	self->w->regs[HSU_RSP] = C_SP;
	self->w->regs[HSU_RDI] = CODE(AT_MAIN + 0x20);
	world_poke(self->world, C_SP + 8, CODE(AT_START + 1));
	EXPECT_EQ(HSUNWIND_STOP_COMPLETE, world_walk(self->world));
	EXPECT_CHAIN(CODE(AT_VFORK + 1), CODE(AT_MAIN + 0x20),
		     CODE(AT_START + 1));

	/* No such frame can have called anything. */
	self->w->ip = CODE(AT_MAIN);
	self->w->regs[HSU_RSP] = C_SP;
	world_poke(self->world, C_SP + 8, CODE(AT_VFORK + 1));
	EXPECT_EQ(HSUNWIND_STOP_NO_REG, world_walk(self->world));
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
	self->w->ip = CODE(AT_HS_SCAN);
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

/* The number of the first rule of a kind in the invented image. */
static struct hsunwind_rule *rule_of(struct world *world, __u8 kind)
{
	struct hsunwind_rule *rules = (void *)world->image +
		world->image->rules;
	__u32 i;

	for (i = 0; i < world->image->nr_rules; i++)
		if (rules[i].kind == kind)
			return &rules[i];
	return NULL;
}

TEST_F(core, rules_are_checked)
{
	const struct {
		__u8 kind;
		__s32 cfa_off;
		__s16 arg;
		const char *why;
	} bad[] = {
		{ HSUNWIND_RULE_HS_SCAN, 4, 0, "offset" },
		{ HSUNWIND_RULE_HS_SCAN, 8, 4, "offset" },
		{ HSUNWIND_RULE_HS_SCAN, 8, 16, "no words" },
		{ HSUNWIND_RULE_RA_REG, 0, -1, "no such register" },
		{ HSUNWIND_RULE_RA_REG, 0, HSU_NR_REGS, "no such register" },
		{ HSUNWIND_RULE_RA_REG, 1 << 29, 0, "out of range" },
	};
	__u32 i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		struct hsunwind_rule *r = rule_of(self->world, bad[i].kind);
		struct hsunwind_rule good = *r;
		struct hsu_image img;
		const char *why;

		r->cfa_off = bad[i].cfa_off;
		r->arg = bad[i].arg;
		why = hsu_image_init(&img, self->world->image,
				     self->world->image->size);
		ASSERT_NE(NULL, why);
		EXPECT_NE(NULL, strstr(why, bad[i].why));
		*r = good;
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
