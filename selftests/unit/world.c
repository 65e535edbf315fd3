// SPDX-License-Identifier: GPL-2.0-only
#include "world.h"

#include <assert.h>
#include <stdlib.h>

struct row {
	__u32 pc;
	struct hsunwind_rule rule;
};

#define C_RULE(class_, reg, off)						\
	{ .kind = HSUNWIND_RULE_CFA, .cls = HSUNWIND_CLASS_##class_,		\
	  .cfa_reg = (reg), .cfa_off = (off) }

static const struct row rows[] = {
	{ 0, { .kind = HSUNWIND_RULE_NONE } },
	{ AT_MAIN, C_RULE(C, HSU_RSP, 16) },
	{ AT_LIBC, C_RULE(LIBC, HSU_RSP, 16) },
	{ AT_START, { .kind = HSUNWIND_RULE_BOTTOM, .cls = HSUNWIND_CLASS_LIBC } },
	{ AT_SCHEDULE, C_RULE(RTS, HSU_RSP, 16) },
	{ AT_USER, { .kind = HSUNWIND_RULE_CFA, .cls = HSUNWIND_CLASS_C,
		     .cfa_reg = HSU_RBP, .cfa_off = 16, .rbp = -2, .rbx = -3,
		     .r14 = -4 } },
	{ AT_DRAP, { .kind = HSUNWIND_RULE_DEREF, .cls = HSUNWIND_CLASS_C,
		     .cfa_reg = HSU_RBP, .arg = -8,
		     .slots = HSUNWIND_SLOTS_RBP, .rbp = -2,
		     .rbx = HSUNWIND_SLOT_LOST } },
	{ AT_ALIGNED, { .kind = HSUNWIND_RULE_DEREF, .cls = HSUNWIND_CLASS_C,
			.cfa_reg = HSU_RBP, .arg = -8,
			.slots = HSUNWIND_SLOTS_RBP, .rbp = -2, .rbx = -4 } },
	{ AT_PLT, { .kind = HSUNWIND_RULE_PLT, .cls = HSUNWIND_CLASS_C,
		    .arg = 11 } },
	{ AT_SIGRETURN, { .kind = HSUNWIND_RULE_SIGNAL,
			  .cls = HSUNWIND_CLASS_LIBC, .arg = 40 } },
	{ AT_VFORK, { .kind = HSUNWIND_RULE_RA_REG, .cls = HSUNWIND_CLASS_LIBC,
		      .cfa_reg = HSU_RSP, .arg = HSU_RDI } },
	{ AT_R12, C_RULE(C, HSU_R12, 16) },
	{ AT_GC, C_RULE(GC, HSU_RSP, 16) },
	{ AT_HOLE, { .kind = HSUNWIND_RULE_NONE } },
	{ AT_CMM, { .kind = HSUNWIND_RULE_HS_SCAN, .cls = HSUNWIND_CLASS_HS_RTS } },
	{ AT_HS, { .kind = HSUNWIND_RULE_HS, .cls = HSUNWIND_CLASS_HS } },
	{ AT_HS_SCAN, { .kind = HSUNWIND_RULE_HS_SCAN,
			.cls = HSUNWIND_CLASS_HS, .cfa_off = 8 } },
	{ AT_CMM_SCAN, { .kind = HSUNWIND_RULE_HS_SCAN,
			 .cls = HSUNWIND_CLASS_HS_RTS, .cfa_reg = HSU_RAX,
			 .arg = 8 } },
	{ AT_HS_SP, { .kind = HSUNWIND_RULE_HS_SP, .cls = HSUNWIND_CLASS_HS,
		      .cfa_off = 16 } },
	{ AT_HS_END, { .kind = HSUNWIND_RULE_HS_END,
		       .cls = HSUNWIND_CLASS_HS_RTS } },
	{ AT_HS_SAVED, { .kind = HSUNWIND_RULE_HS_SAVED,
			 .cls = HSUNWIND_CLASS_HS, .cfa_off = 24 } },
	{ AT_CMM_SAVED, { .kind = HSUNWIND_RULE_HS_SAVED,
			  .cls = HSUNWIND_CLASS_HS_RTS } },
	{ AT_END, { .kind = HSUNWIND_RULE_NONE } },
};

static const struct hsunwind_rule stgrun = {
	.kind = HSUNWIND_RULE_CFA, .cls = HSUNWIND_CLASS_RTS,
	.cfa_reg = HSU_RSP, .cfa_off = STGRUN_SIZE,
	.rbx = -7, .rbp = -6, .r14 = -3,
};

static struct hsunwind_image *build_image(void)
{
	const __u32 nr = ARRAY_SIZE(rows);
	struct hsunwind_image h = {
		.magic = HSUNWIND_IMAGE_MAGIC,
		.version = HSUNWIND_IMAGE_VERSION,
		.header_size = sizeof(h),
		.base = WORLD_BASE,
		.nr_segs = 1, .nr_rules = nr + 1, .nr_rows = nr,
		.stgrun_rule = nr, .has_stgrun = 1, .nr_stgrun_rets = 1,
		.stgrun_rets = { STGRUN_RETURN },
		.gc_frame = GC_FRAME, .gap_frame = GAP_FRAME,
		.ghc = {
			.version = 900, .header = 8, .reg_tso = 872,
			.tso_stackobj = 24, .stack_size = 8, .stack_sp = 16,
			.stack_stack = 24, .bco_bitmap = 40,
			.task_incall = { 8, 0x78 }, .incall_suspended = 8,
			.incall_task = 0x28, .incall_prev = 0x30,
			.task_cap = 8, .cap_reg = 0x18, .reg_task = 0x3a0,
		},
	};
	struct hsunwind_seg seg = { 0, WORLD_BASE, WORLD_TEXT };
	char *data;
	__u32 i;

	h.segs = sizeof(h);
	h.rules = h.segs + sizeof(seg);
	h.pcs = h.rules + (nr + 1) * sizeof(stgrun);
	h.ids = (h.pcs + nr * 4 + 7) & ~7u;
	h.size = (h.ids + nr * 2 + 7) & ~7u;
	data = calloc(1, h.size);
	assert(data);
	memcpy(data, &h, sizeof(h));
	memcpy(data + h.segs, &seg, sizeof(seg));
	for (i = 0; i < nr; i++) {
		__u16 id = i;

		memcpy(data + h.rules + i * sizeof(stgrun), &rows[i].rule,
		       sizeof(stgrun));
		memcpy(data + h.pcs + i * 4, &rows[i].pc, 4);
		memcpy(data + h.ids + i * 2, &id, 2);
	}
	memcpy(data + h.rules + nr * sizeof(stgrun), &stgrun, sizeof(stgrun));
	return (struct hsunwind_image *)data;
}

static unsigned char *locate(struct world *world, __u64 addr, __u64 len)
{
	if (addr >= WORLD_BASE && addr + len <= WORLD_BASE + WORLD_TEXT)
		return &world->text[addr - WORLD_BASE];
	if (addr >= WORLD_STACK && addr + len <= WORLD_STACK + WORLD_SIZE)
		return &world->stack[addr - WORLD_STACK];
	if (addr >= WORLD_HEAP && addr + len <= WORLD_HEAP + WORLD_SIZE)
		return &world->heap[addr - WORLD_HEAP];
	return NULL;
}

static bool world_read(void *ctx, u64 addr, void *dst, u32 len)
{
	struct world *world = ctx;
	unsigned char *src = locate(world, addr, len);

	if (!src || ++world->reads == world->fail_read)
		return false;
	memcpy(dst, src, len);
	return true;
}

struct world *world_create(void)
{
	struct world *world = calloc(1, sizeof(*world));

	assert(world);
	world->image = build_image();
	assert(!hsu_image_init(&world->img, world->image, world->image->size));
	world->map = (struct hsu_map){
		.start = WORLD_BASE, .end = WORLD_BASE + WORLD_TEXT,
		.bias = WORLD_BASE, .img = &world->img,
	};
	world->w.cap = ARRAY_SIZE(world->out);
	world->w.max_steps = HSU_MAX_STEPS;
	return world;
}

void world_destroy(struct world *world)
{
	free(world->image);
	free(world);
}

void world_poke(struct world *world, __u64 addr, __u64 value)
{
	unsigned char *dst = locate(world, addr, 8);

	assert(dst);
	memcpy(dst, &value, 8);
}

void world_info(struct world *world, __u32 at, __u32 type, __u64 layout)
{
	world_poke(world, CODE(at) - 16, layout);
	world_poke(world, CODE(at) - 8, type);
}

void world_cap(struct world *world, __u64 cap)
{
	world_poke(world, cap + 8, CODE(AT_CMM));
	world_poke(world, cap + 16, CODE(AT_CMM + 0x10));
}

__u64 world_stgrun(struct world *world, __u64 rsp, unsigned int user_frames)
{
	__u64 at = rsp + STGRUN_SIZE;

	assert(rsp % 16 == 8);
	world_poke(world, at - 8, CODE(STGRUN_RETURN));
	while (user_frames--) {
		world_poke(world, at + 8, CODE(AT_MAIN + 0x20));
		at += 16;
	}
	world_poke(world, at + 8, CODE(AT_LIBC + 0x20));
	world_poke(world, at + 24, CODE(AT_START + 0x20));
	return at + 32;
}

enum hsunwind_stop world_walk(struct world *world)
{
	struct hsu_walk *w = &world->w;
	struct hsu_walk in = *w;

	memset(w, 0, sizeof(*w));
	w->env.read = world_read;
	w->env.ctx = world;
	w->maps = &world->map;
	w->nr_maps = 1;
	w->ip = in.ip;
	memcpy(w->regs, in.regs, sizeof(w->regs));
	w->flags = in.flags;
	w->max_steps = in.max_steps;
	w->out = world->out;
	w->kinds = world->kinds;
	w->cap = in.cap;
	w->root = in.root;
	world->reads = 0;
	return hsu_walk(w);
}
