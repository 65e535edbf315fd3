// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows for assembler code without CFI, from the code itself: libgmp's inner
 * loops, for one, where a program with large Integers spends its time, and the
 * few instructions around the system call in the C library's clone3().
 *
 * At the entry of a function the return address is on top of the stack. From
 * there every path is followed, with what it pushes, up to its returns, where
 * the stack must be as it was. A function that is not understood gets no rows.
 */
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "codeflow.h"

#define MAX_START_CODE	256	/* bytes */
#define MAX_WORDS	4096	/* of a frame */
#define LOST		(-128)	/* overwritten and not saved */

/* What is known at an instruction. */
struct frame_state {
	u16 words;	/* from rsp to the CFA; at least 1 */
	s8 rbp, rbx, r14;	/* where saved: words from the CFA, 0: nowhere */
	u8 cloned;	/* behind a system call: this can be a new thread */
	u8 pad[2];
};

struct asm_flow {
	struct hsu_flow flow;
	u64 jumps;		/* state at jumps to unknown places, 0: none */
	bool several;		/* there are several such states */
};

_Static_assert(sizeof(struct frame_state) == sizeof(u64), "fits a state");

static struct frame_state unpack(u64 state)
{
	struct frame_state s;

	memcpy(&s, &state, sizeof(s));
	return s;
}

static u64 pack(const struct frame_state *s)
{
	u64 state;

	memcpy(&state, s, sizeof(state));
	return state;
}

static s8 *slot_of(struct frame_state *s, const ZydisDecodedOperand *op)
{
	if (hsu_insn_is_reg(op, ZYDIS_REGISTER_RBP))
		return &s->rbp;
	if (hsu_insn_is_reg(op, ZYDIS_REGISTER_RBX))
		return &s->rbx;
	if (hsu_insn_is_reg(op, ZYDIS_REGISTER_R14))
		return &s->r14;
	return NULL;
}

/* The stack word at a fixed distance from rsp, in words from the CFA. */
static bool stack_word(const struct frame_state *s,
		       const ZydisDecodedOperand *op, s64 *word)
{
	if (op->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    op->mem.base != ZYDIS_REGISTER_RSP ||
	    op->mem.index != ZYDIS_REGISTER_NONE || op->mem.disp.value % 8)
		return false;
	*word = op->mem.disp.value / 8 - s->words;
	return *word >= -127 && *word < -1;
}

static void move_rsp(struct hsu_flow *f, struct frame_state *s, s64 words)
{
	s8 *slots[] = { &s->rbp, &s->rbx, &s->r14 };
	s64 now = s->words - words;
	size_t i;

	if (now < 1 || now > MAX_WORDS) {
		f->bad = true;
		return;
	}
	s->words = (u16)now;
	/* Saved in vain: it is given up unread, so the register still has it. */
	for (i = 0; i < ARRAY_SIZE(slots); i++)
		if (*slots[i] != LOST && -*slots[i] > now)
			*slots[i] = 0;
}

static void push(struct hsu_flow *f, struct frame_state *s,
		 const ZydisDecodedOperand *op)
{
	s8 *slot = slot_of(s, op);

	move_rsp(f, s, -1);
	if (slot && !*slot && s->words < 127)
		*slot = (s8)-s->words;
}

static void pop(struct hsu_flow *f, struct frame_state *s,
		const ZydisDecodedOperand *op)
{
	s8 *slot = slot_of(s, op);

	if (slot && *slot == -s->words)
		*slot = 0;
	else if (slot && !*slot)
		*slot = LOST;
	move_rsp(f, s, 1);
}

static void move(struct frame_state *s, const ZydisDecodedOperand *op)
{
	s8 *to = slot_of(s, &op[0]), *from = slot_of(s, &op[1]);
	s64 word;

	if (from && !*from && stack_word(s, &op[0], &word))
		*from = (s8)word;
	else if (to && stack_word(s, &op[1], &word) && *to == word)
		*to = 0;
	else if (to && !*to)
		*to = LOST;
}

static u64 after(struct hsu_flow *f, const struct hsu_insn *insn, u64 state)
{
	struct frame_state s = unpack(state);
	const ZydisDecodedOperand *op = insn->op;
	s8 *slot;
	s64 by;

	if (insn->d.mnemonic == ZYDIS_MNEMONIC_SYSCALL) {
		s.cloned = true;
		return pack(&s);
	}
	if (!insn->d.operand_count_visible)
		return state;
	slot = op[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ?
		slot_of(&s, &op[0]) : NULL;
	if (insn->d.mnemonic == ZYDIS_MNEMONIC_PUSH)
		push(f, &s, op);
	else if (insn->d.mnemonic == ZYDIS_MNEMONIC_POP)
		pop(f, &s, op);
	else if (insn->d.mnemonic == ZYDIS_MNEMONIC_MOV)
		move(&s, op);
	else if (slot && !*slot)
		*slot = LOST;

	if (hsu_insn_is_reg(&op[0], ZYDIS_REGISTER_RSP) &&
	    op[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
		if (hsu_insn_adds(insn, ZYDIS_REGISTER_RSP, &by) && by % 8 == 0)
			move_rsp(f, &s, by / 8);
		else
			f->bad = true;
	}
	return pack(&s);
}

static bool follows(struct hsu_flow *f, const struct hsu_insn *insn, u64 target,
		    u64 state)
{
	(void)f;
	(void)insn;
	(void)target;
	(void)state;
	return true;
}

/* Returns and tail calls leave the stack and the registers as they were. */
static void leaves(struct hsu_flow *f, const struct hsu_insn *insn, u64 target,
		   u64 state)
{
	struct frame_state s = unpack(state);

	if (!target && insn->d.meta.category != ZYDIS_CATEGORY_RET) {
		struct asm_flow *a = (struct asm_flow *)f;

		a->several |= a->jumps && a->jumps != state;
		a->jumps = state;
		return;
	}
	if (s.words != 1 || s.rbp || s.rbx || s.r14)
		f->bad = true;
}

static u64 join(struct hsu_flow *f, u64 old, u64 state)
{
	f->bad |= old != state;
	return old;
}

static const struct hsu_flow_ops ops = {
	.after = after, .follows = follows, .leaves = leaves, .join = join,
};

static s16 rule_slot(s8 slot)
{
	return slot == LOST ? HSUNWIND_SLOT_LOST : slot;
}

static void emit_rows(struct hsu_builder *b, const struct hsu_flow *f)
{
	size_t len = f->end - f->start, i = 0, from;

	while (i < len) {
		struct frame_state s = unpack(f->at[i]);
		struct hsunwind_rule rule = {
			.kind = s.cloned ? HSUNWIND_RULE_CLONE :
				HSUNWIND_RULE_CFA,
			.cls = HSUNWIND_CLASS_C,
			.cfa_reg = HSU_RSP, .cfa_off = s.words * 8,
			.rbp = rule_slot(s.rbp), .rbx = rule_slot(s.rbx),
			.r14 = rule_slot(s.r14),
		};
		u64 state = f->at[i];

		if (!state) {
			i++;
			continue;
		}
		for (from = i; i < len && f->at[i] == state; i += f->size[i])
			;
		hsu_rows_add(&b->rows, f->start + from - b->base,
			     f->start + i - b->base, &rule);
		b->info->asm_bytes += i - from;
	}
}

/*
 * Where a computed jump leads, into an unrolled loop as a rule, is not known.
 * But if all of them happen in one state, so does what only they reach.
 */
static void enter_rest(struct asm_flow *a)
{
	struct hsu_flow *f = &a->flow;
	size_t len = f->end - f->start, i = 0;

	while (i < len && !f->bad) {
		if (!f->at[i])
			hsu_flow_enter(f, f->start + i, a->jumps);
		i += f->size[i];
	}
}

static void function(struct hsu_builder *b, struct asm_flow *a, u64 start,
		     u64 end, const struct frame_state *entry)
{
	struct hsu_flow *f = &a->flow;

	a->jumps = 0;
	a->several = false;
	hsu_flow_begin(f, start, end);
	hsu_flow_enter(f, start, pack(entry));
	if (a->jumps && !a->several && !f->bad) {
		enter_rest(a);
		if (f->bad) {
			hsu_flow_begin(f, start, end);
			hsu_flow_enter(f, start, pack(entry));
		}
	}
	if (!f->bad)
		emit_rows(b, f);
}

/* Code that goes on where the FDE before it ends, in the same function. */
static bool goes_on(const struct hsu_code *code, const struct hsunwind_rule *r,
		    struct frame_state *entry)
{
	u8 first = code->bytes[0];

	if (code->start % 16 == 0 || r->kind != HSUNWIND_RULE_CFA ||
	    r->cfa_reg != HSU_RSP || r->cfa_off < 8 || r->cfa_off % 8 ||
	    r->cfa_off > 127 * 8 || first == 0x90 || first == 0xcc ||
	    first == 0x66 || !first || !memcmp(code->bytes, "\x0f\x1f", 2))
		return false;
	*entry = (struct frame_state){
		.words = (u16)(r->cfa_off / 8), .rbp = (s8)r->rbp,
		.rbx = (s8)r->rbx, .r14 = (s8)r->r14,
	};
	return r->rbp > -128 && r->rbx > -128 && r->r14 > -128;
}

/*
 * Start code without CFI, that of the dynamic linker for one, is the bottom of
 * the stack: up to the next function, or as far as such code can be.
 */
static void start_code(struct hsu_builder *b, u64 start, u64 end)
{
	static const struct hsunwind_rule bottom = {
		.kind = HSUNWIND_RULE_BOTTOM, .cls = HSUNWIND_CLASS_LIBC,
	};
	u64 entry = hsu_elf_entry(b->elf);

	if (entry < start || entry >= end)
		return;
	if (end > entry + MAX_START_CODE)
		end = entry + MAX_START_CODE;
	hsu_rows_add(&b->rows, entry - b->base, end - b->base, &bottom);
}

/*
 * While the kernel returns from a signal handler, the instruction pointer is
 * behind the system call, which is the last instruction of its function.
 */
static void behind_sigreturn(struct hsu_builder *b, u64 start,
			     const struct hsunwind_rule *before)
{
	if (before && before->kind == HSUNWIND_RULE_SIGNAL)
		hsu_rows_add(&b->rows, start - b->base, start + 1 - b->base,
			     before);
}

/* The functions of the start files' .init and .fini, which no symbol names. */
static void init_fini(struct hsu_builder *b, struct asm_flow *flow, u64 start,
		      u64 end, const struct frame_state *called)
{
	u64 addr[2];
	size_t i;

	hsu_elf_init_fini(b->elf, &addr[0], &addr[1]);
	for (i = 0; i < ARRAY_SIZE(addr); i++)
		if (addr[i] >= start && addr[i] < end)
			function(b, flow, addr[i], end, called);
}

static void hole(struct hsu_builder *b, u64 start, u64 end,
		 const struct hsunwind_rule *before)
{
	static const struct frame_state called = { .words = 1 };
	struct hsu_code code = { .elf = b->elf, .start = start, .end = end };
	struct frame_state entry;
	struct hsu_symbol *syms;
	struct asm_flow flow;
	size_t nr, i;
	u8 *bytes;

	bytes = malloc(end - start);
	if (!bytes || hsu_elf_read(b->elf, start, bytes, end - start) !=
	    end - start) {
		free(bytes);
		return;
	}
	code.bytes = bytes;
	start_code(b, start, end);
	behind_sigreturn(b, start, before);
	hsu_flow_init(&flow.flow, &code, &ops);
	init_fini(b, &flow, start, end, &called);
	syms = hsu_elf_symbols(b->elf, start, end, &nr);
	if (before && goes_on(&code, before, &entry))
		function(b, &flow, start, nr ? syms[0].addr : end, &entry);
	for (i = 0; i < nr; i++) {
		u64 to = i + 1 < nr ? syms[i + 1].addr : end;

		if (syms[i].addr < to)
			function(b, &flow, syms[i].addr, to, &called);
	}
	free(syms);
	free(bytes);
	hsu_flow_free(&flow.flow);
}

void hsu_build_asm(struct hsu_builder *b)
{
	const struct hsu_section *sec;
	size_t nr_spans = b->rows.nr_spans, nr, i, j = 0;

	sec = hsu_elf_sections(b->elf, &nr);
	for (i = 0; i < nr; i++) {
		u64 at = sec[i].addr, end = sec[i].addr + sec[i].size;
		const struct hsunwind_rule *before = NULL;

		if (!sec[i].exec || sec[i].nobits)
			continue;
		while (j < nr_spans && b->base + b->rows.spans[j].end <= at)
			j++;
		for (; j < nr_spans; j++) {
			u64 from = b->base + b->rows.spans[j].start;
			u64 to = b->base + b->rows.spans[j].end;

			if (from >= end)
				break;
			if (from > at + 2)
				hole(b, at, from, before);
			at = to;
			before = &b->rows.rules[b->rows.spans[j].rule];
		}
		if (at + 2 < end)
			hole(b, at, end, before);
	}
	hsu_rows_sort(&b->rows);
}
