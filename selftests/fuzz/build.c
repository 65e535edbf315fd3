// SPDX-License-Identifier: GPL-2.0-only
/*
 * From the operations of an input to a process: see walk_ops.h.
 */
#include "hsu_walk.h"
#include "model_priv.h"

#define C_SP	(WORLD_STACK + 0x1008)	/* rsp of Haskell code: 8 mod 16 */
#define HS_SP	(WORLD_HEAP + 0x1000)
#define OBJECTS	(WORLD_HEAP + 0x8000)

/* Info tables that are there from the start; slots of VALUE_RET. */
static const struct slot {
	u32 at;
	u32 type;
	u64 layout;
} slots[] = {
	{ AT_CMM + 0x80, HSU_STOP_FRAME, 0 },
	{ AT_CMM + 0x100, HSU_UPDATE_FRAME, 1 },
	{ AT_CMM + 0x180, HSU_UNDERFLOW_FRAME, 0 },
	{ AT_CMM + 0x200, HSU_RET_FUN, 0 },
	{ AT_CMM + 0x280, HSU_RET_BCO, 0 },
	{ AT_CMM + 0x300, HSU_STACK, 0 },
	{ AT_CMM + 0x380, HSU_TSO, 0 },
	{ AT_HS + 0x100, HSU_RET_SMALL, 0 },
	{ AT_HS + 0x200, HSU_RET_SMALL, 2 | 0x40 },
	{ AT_HS + 0x300, HSU_RET_BIG, 0x40 },
	{ AT_HS + 0x400, HSU_RET_SMALL, 1 },
	{ AT_HS_SCAN + 0x100, HSU_RET_SMALL, 0 },
	{ AT_CMM + 0x400, HSU_CATCH_FRAME, 2 },
	{ AT_CMM + 0x480, HSU_ATOMICALLY_FRAME, 3 },
	{ AT_CMM + 0x500, HSU_CATCH_RETRY_FRAME, 3 },
	{ AT_CMM + 0x580, HSU_CATCH_STM_FRAME, 2 },
};

enum { SLOT_STOP, SLOT_UPDATE, SLOT_UNDERFLOW, SLOT_FUN, SLOT_BCO, SLOT_STACK,
	SLOT_TSO };

static u64 slot_code(u32 i)
{
	return CODE(slots[i % ARRAY_SIZE(slots)].at);
}

static const struct hsunwind_ghc *ghc(const struct model *m)
{
	return &m->world->image->ghc;
}

static u64 value_of(struct model *m, const struct record *r)
{
	static const u64 edges[] = {
		0, ~0ull, 1ull << 63, 1ull << 47, 0x7ffffffff000ull,
		TOP_BASE, WORLD_BASE, WORLD_BASE + WORLD_TEXT,
		LIB_BASE + WORLD_TEXT, WORLD_HEAP + WORLD_SIZE,
		WORLD_STACK + WORLD_SIZE, JIT_BASE + JIT_SIZE,
	};
	u64 c = (u64)(s64)r->c;

	switch (r->a % VALUE_NR) {
	case VALUE_HS:
		return m->hs + c;
	case VALUE_CS:
		return m->cs + c;
	case VALUE_OBJ:
		return m->nr_objects ? m->objects[r->b % m->nr_objects] + c : c;
	case VALUE_CODE:
		return WORLD_BASE + r->b + c;
	case VALUE_LIB:
		return LIB_BASE + r->b + c;
	case VALUE_JIT:
		return JIT_BASE + r->b % JIT_SIZE + c;
	case VALUE_RET:
		return slot_code(r->b) + c;
	case VALUE_HIGH:
		return ((u64)r->b << 48) + c;
	case VALUE_EDGE:
		return edges[r->b % ARRAY_SIZE(edges)] + c;
	case VALUE_SAME:
		return m->value + c;
	case VALUE_AT:
		return model_load(m, m->at) + c;
	case VALUE_REG:
		return m->in.regs[r->b % HSU_NR_REGS] + c;
	default:
		return c;
	}
}

static void push(struct model *m, u64 value)
{
	model_store(m, m->hs, value);
	m->hs += 8;
}

static void info(struct model *m, u64 code, u32 type, u64 layout)
{
	model_store(m, code - 16, layout);
	model_store(m, code - 8, type);
}

/* The words of a payload that the walk does not look at are the value. */
static void frame(struct model *m, const struct record *r)
{
	const struct slot *s = &slots[r->a % ARRAY_SIZE(slots)];
	u32 repeats = (u32)r->c & 0xff;
	u32 words = r->b ? r->b % 256 : (u32)s->layout & 63;
	u32 i, j;

	for (i = 0; i <= repeats; i++) {
		push(m, CODE(s->at));
		for (j = 0; j < words; j++)
			push(m, s->type == HSU_RET_FUN && !j ? words - 2 :
						       m->value + i);
	}
}

static void gap(struct model *m, const struct record *r)
{
	u64 end = m->hs + r->a * 8ull;

	model_store(m, end - 16, r->a + (u64)(s64)r->c);
	model_store(m, end - 8, m->value);
	m->hs = end;
}

static u64 allocate(struct model *m, u32 kind, u64 bytes)
{
	u64 at = m->heap;

	m->heap += (bytes + 15) & ~15ull;
	m->last[kind] = at;
	if (m->nr_objects < MODEL_OBJECTS)
		m->objects[m->nr_objects++] = at;
	m->value = at;
	return at;
}

static void chunk(struct model *m, const struct record *r)
{
	const struct hsunwind_ghc *g = ghc(m);
	u32 words = r->b % 1024;
	u64 at = allocate(m, OBJ_NR, g->stack_stack + (words + 128) * 8ull);

	m->chunk = at;
	m->hs = at + g->stack_stack + words * 8ull;
	model_store(m, at, slot_code(SLOT_STACK));
	model_store(m, at + g->stack_sp, m->hs);
}

static void close_chunk(struct model *m, const struct record *r)
{
	const struct hsunwind_ghc *g = ghc(m);
	u64 at = m->chunk;

	push(m, slot_code(r->a ? SLOT_UNDERFLOW : SLOT_STOP));
	if (r->a)
		push(m, m->value);
	if (!at)
		return;
	model_store(m, at + g->stack_size,
		    (m->hs - at - g->stack_stack) / 8 + (u64)(s64)r->c);
	if (m->heap < m->hs)
		m->heap = (m->hs + 15) & ~15ull;
	m->chunk = 0;
}

static void task_of(struct model *m, u64 task, u64 incall)
{
	const struct hsunwind_ghc *g = ghc(m);

	model_store(m, task + g->task_incall[1], incall);
	model_store(m, incall + g->incall_task, task);
}

static void object(struct model *m, const struct record *r)
{
	const struct hsunwind_ghc *g = ghc(m);
	const u64 *last = m->last;
	u64 before = last[OBJ_INCALL], at;

	switch (r->a % OBJ_NR) {
	case OBJ_TSO:
		at = allocate(m, OBJ_TSO, 0x80);
		model_store(m, at, slot_code(SLOT_TSO));
		model_store(m, at + g->tso_stackobj, last[OBJ_NR]);
		model_store(m, at + g->tso_stackobj + 8, (u64)(s64)r->c);
		return;
	case OBJ_TASK:
		at = allocate(m, OBJ_TASK, 0x100);
		model_store(m, at + g->task_incall[1] - g->task_cap,
			    last[OBJ_CAP]);
		if (last[OBJ_INCALL])
			task_of(m, at, last[OBJ_INCALL]);
		return;
	case OBJ_INCALL:
		at = allocate(m, OBJ_INCALL, 0x40);
		model_store(m, at, last[OBJ_TSO]);
		model_store(m, at + g->incall_suspended, last[OBJ_TSO]);
		model_store(m, at + g->incall_suspended + 8, last[OBJ_CAP]);
		model_store(m, at + g->incall_prev, before);
		if (last[OBJ_TASK])
			task_of(m, last[OBJ_TASK], at);
		return;
	case OBJ_CAP:
		at = allocate(m, OBJ_CAP, 0x400);
		model_store(m, at + g->cap_reg - 16, slot_code(SLOT_STOP));
		model_store(m, at + g->cap_reg - 8, slot_code(SLOT_STOP));
		model_store(m, at + g->cap_reg + g->reg_tso, last[OBJ_TSO]);
		model_store(m, at + g->cap_reg + g->reg_task, last[OBJ_TASK]);
		return;
	case OBJ_CLOSURE:
		at = allocate(m, OBJ_CLOSURE, 0x40);
		model_store(m, at, at + 0x30);
		model_store(m, at + g->header, last[OBJ_TSO]);
		info(m, at + 0x30, r->b, 0);
		return;
	default:
		at = allocate(m, OBJ_BCO, 0x40);
		model_store(m, at + g->bco_bitmap, (u64)(s64)r->c);
	}
}

static void cpush(struct model *m, u64 value)
{
	model_store(m, m->cs, value);
	m->cs += 8;
}

static u64 row_code(const struct model *m, const struct record *r)
{
	const struct hsu_image *img = &m->world->img;

	return WORLD_BASE + img->pcs[r->a % img->hdr->nr_rows] + r->b % 0x100;
}

static void cframe(struct model *m, const struct record *r)
{
	u32 i;

	for (i = 0; i < ((u32)r->c & 31); i++)
		cpush(m, m->value);
	cpush(m, row_code(m, r));
}

static void stgrun(struct model *m, const struct record *r)
{
	const struct hsu_image *img = &m->world->img;
	const struct hsunwind_rule *rule = &img->rules[img->hdr->stgrun_rule];
	u64 cfa;

	if (!img->hdr->has_stgrun)
		return;
	cfa = ((m->cs + 7) & ~15ull) + 8 + (u64)(s64)rule->cfa_off;
	model_store(m, cfa - 8, row_code(m, r));
	model_store(m, cfa + 8 * (s64)rule->rbp, m->value);
	model_store(m, cfa + 8 * (s64)rule->rbx, m->value);
	model_store(m, cfa + 8 * (s64)rule->r14, m->value);
	m->cs = cfa;
}

/* struct sigcontext: see step_signal() in cframe.c. */
static void sigframe(struct model *m)
{
	static const u8 order[] = {
		HSU_R8, HSU_R9, HSU_R10, HSU_R11, HSU_R12, HSU_R13, HSU_R14,
		HSU_R15, HSU_RDI, HSU_RSI, HSU_RBP, HSU_RBX, HSU_RDX, HSU_RAX,
		HSU_RCX,
	};
	u32 i;

	cpush(m, CODE(AT_SIGRETURN + 8));
	m->cs += 40;
	for (i = 0; i < ARRAY_SIZE(order); i++)
		cpush(m, m->in.regs[order[i]]);
	cpush(m, m->cs + 16);
	cpush(m, m->value);
}

static void bytes_at(struct model *m, u64 at, const u8 *code, u32 len)
{
	u32 i;

	for (i = 0; i < len; i += 8) {
		u64 word = model_load(m, at + i);

		memcpy(&word, code + i, len - i < 8 ? len - i : 8);
		model_store(m, at + i, word);
	}
}

/* rts/Adjustor.c as adjustor.c knows it. */
static void adjustor(struct model *m, const struct record *r)
{
	static const u8 pushes[] = {
		0x41, 0x51, 0xff, 0x35, 0, 0, 0, 0,
	};
	static const u8 shuffle[] = {
		0x4d, 0x89, 0xc1, 0x49, 0x89, 0xc8, 0x48, 0x89, 0xd1,
		0x48, 0x89, 0xf2, 0x48, 0x89, 0xfe, 0x48, 0x8b, 0x3d,
		0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0,
	};
	u64 at = m->at;

	if (r->a) {
		bytes_at(m, at, pushes, sizeof(pushes));
		at += sizeof(pushes);
	}
	bytes_at(m, at, shuffle, sizeof(shuffle));
}

static void fail(struct model *m, const struct record *r)
{
	if (r->a)
		m->fail_from = r->b;
	else if (m->nr_fails < MODEL_FAILS)
		m->fails[m->nr_fails++] = r->b;
}

static void race(struct model *m, const struct record *r)
{
	if (m->nr_races < MODEL_RACES)
		m->races[m->nr_races++] = (struct race){
			.read = r->b, .addr = m->at, .value = m->value,
		};
}

static void limit(struct model *m, const struct record *r)
{
	m->in.max_steps = r->b % 4096;
	m->in.cap = 1 + (u32)r->c % MODEL_CAP;
}

static void apply(struct model *m, const struct record *r)
{
	u32 i;

	switch ((enum walk_op)(r->op % OP_NR)) {
	case OP_val:
		m->value = value_of(m, r);
		return;
	case OP_at:
		m->at = value_of(m, r);
		return;
	case OP_poke:
		model_store(m, m->at, m->value);
		m->at += 8;
		return;
	case OP_push:
		for (i = 0; i <= r->a; i++)
			push(m, m->value);
		return;
	case OP_frame:
		frame(m, r);
		return;
	case OP_gap:
		gap(m, r);
		return;
	case OP_chunk:
		chunk(m, r);
		return;
	case OP_close:
		close_chunk(m, r);
		return;
	case OP_obj:
		object(m, r);
		return;
	case OP_set:
		if (m->nr_objects)
			model_store(m, m->objects[r->b % m->nr_objects] +
				    (u64)(s64)r->c, m->value);
		return;
	case OP_cpush:
		for (i = 0; i <= r->a; i++)
			cpush(m, m->value);
		return;
	case OP_cframe:
		cframe(m, r);
		return;
	case OP_stgrun:
		stgrun(m, r);
		return;
	case OP_sigframe:
		sigframe(m);
		return;
	case OP_reg:
		m->in.regs[r->a % HSU_NR_REGS] = m->value;
		return;
	case OP_ip:
		m->in.ip = m->value;
		return;
	case OP_hs:
		m->hs = m->value;
		return;
	case OP_cs:
		m->cs = m->value;
		return;
	case OP_rule:
		model_rule(m, r);
		return;
	case OP_ghc:
		model_ghc(m, r);
		return;
	case OP_head:
		model_head(m, r);
		return;
	case OP_map:
		model_map(m, r);
		return;
	case OP_info:
		info(m, m->at, r->a, (u64)(s64)r->c);
		return;
	case OP_adjustor:
		adjustor(m, r);
		return;
	case OP_fail:
		fail(m, r);
		return;
	case OP_hide:
		m->hidden = m->at;
		m->hidden_end = m->at + (u32)r->c % 8192;
		return;
	case OP_race:
		race(m, r);
		return;
	case OP_limit:
		limit(m, r);
		return;
	case OP_flags:
		m->in.flags = (u32)r->a << 8 & HSUNWIND_SHOW_MASK;
		m->in.root = r->b >> 8;
		m->no_kinds = r->b & 1;
		return;
	case OP_NR:
		return;
	}
}

static void start(struct model *m)
{
	u32 i;

	model_undo(m, 0);
	model_files_start(m);
	memset(&m->in, 0, sizeof(m->in));
	m->value = 7;
	m->at = HS_SP;
	m->hs = HS_SP;
	m->cs = C_SP;
	m->heap = OBJECTS;
	m->chunk = 0;
	m->nr_objects = 0;
	memset(m->last, 0, sizeof(m->last));
	m->no_kinds = false;
	m->nr_fails = 0;
	m->fail_from = 0;
	m->hidden = 0;
	m->hidden_end = 0;
	m->nr_races = 0;
	m->in.ip = CODE(AT_HS_SP + 0x10);
	m->in.regs[HSU_RSP] = C_SP;
	m->in.regs[HSU_RBP] = HS_SP - 16;
	m->in.max_steps = 200;
	m->in.cap = MODEL_CAP;
	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		info(m, CODE(slots[i].at), slots[i].type, slots[i].layout);
		info(m, LIB_BASE + slots[i].at, slots[i].type, slots[i].layout);
	}
	/* the large bitmap's size */
	model_store(m, CODE(AT_HS + 0x340), 70);
}

void model_build(struct model *m, const struct record *r, u32 nr)
{
	u32 i;

	start(m);
	for (i = 0; i < nr; i++)
		apply(m, &r[i]);
}
