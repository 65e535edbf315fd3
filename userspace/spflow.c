// SPDX-License-Identifier: GPL-2.0-only
/*
 * The analysis works procedure by procedure. GHC lays a function out as one
 * piece: its entry, then its blocks and continuations, up to the next function.
 * A jump out of the piece is a tail call.
 */
#include "spflow.h"

#include <stdlib.h>
#include <string.h>

#define MAX_WORDS	4096	/* of a frame */
#define LEN_SHORT_JUMP	2	/* bytes */
#define LEN_TABLE	16	/* bytes of an info table */
#define LEN_FUN_TABLE	40	/* of a function's */

/*
 * States: how many words lie between Sp and the caller's frame, made a positive
 * number; or one of these.
 */
#define POISONED	1	/* reached with different distances */
#define NO_CALLER	2	/* behind the outermost frame */
#define DISTANCE_0	65536

struct sp_flow {
	struct hsu_flow flow;
	struct hsu_targets *targets;
	u8 cls;
	bool probing;		/* for the stack arguments of the function */
	s64 excess;		/* found by probing, in words */
	bool confirmed;		/* by a return: there are none */
};

void hsu_targets_free(struct hsu_targets *targets)
{
	free(targets->addr);
	memset(targets, 0, sizeof(*targets));
}

void hsu_targets_add(struct hsu_targets *t, u64 addr)
{
	if (t->failed)
		return;
	if (t->nr == t->cap) {
		size_t cap = t->cap ? 2 * t->cap : 1024;
		u64 *grown = reallocarray(t->addr, cap, sizeof(*grown));

		if (!grown) {
			t->failed = true;
			return;
		}
		t->addr = grown;
		t->cap = cap;
	}
	t->addr[t->nr++] = addr;
}

static int by_address(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

void hsu_targets_sort(struct hsu_targets *t)
{
	size_t i, n = 0;

	if (!t->nr)
		return;
	qsort(t->addr, t->nr, sizeof(*t->addr), by_address);
	for (i = 0; i < t->nr; i++)
		if (!n || t->addr[i] != t->addr[n - 1])
			t->addr[n++] = t->addr[i];
	t->nr = n;
	t->sorted = n;
}

static struct sp_flow *sp_flow(struct hsu_flow *f)
{
	return (struct sp_flow *)f;	/* its first member */
}

static bool is_rts(const struct sp_flow *f)
{
	return f->cls == HSUNWIND_CLASS_HS_RTS;
}

static bool is_distance(u64 state)
{
	return state > NO_CALLER;
}

/* Without an info table, only the run-time system has functions. */
static bool is_root(const struct sp_flow *f, u64 addr)
{
	return is_rts(f) && f->targets->sorted &&
	       bsearch(&addr, f->targets->addr, f->targets->sorted,
		       sizeof(addr), by_address);
}

/*
 * Two ways to know the distance differ by so many words. If the function may
 * have arguments on the stack, that is their number; else the code is not
 * understood.
 */
static void disagree(struct sp_flow *f, s64 excess)
{
	if (f->probing && excess > 0 && (!f->excess || f->excess == excess))
		f->excess = excess;
	else
		f->flow.bad = true;
}

/*
 * The compiler moves Sp by constants only, and after a safe call loads it from
 * where it was saved before: it has not moved. The run-time system itself loads
 * Sp to resume a thread at a return address.
 */
static u64 after(struct hsu_flow *flow, const struct hsu_insn *insn, u64 state)
{
	struct sp_flow *f = sp_flow(flow);
	s64 by, off;

	if (!is_distance(state) || !insn->d.operand_count_visible ||
	    !hsu_insn_is_reg(&insn->op[0], ZYDIS_REGISTER_RBP) ||
	    !(insn->op[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return state;
	if (insn->d.mnemonic == ZYDIS_MNEMONIC_MOV &&
	    insn->op[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
		return is_rts(f) ? DISTANCE_0 : state;
	if (hsu_insn_adds(insn, ZYDIS_REGISTER_RBP, &by) && by % 8 == 0) {
		off = (s64)state - DISTANCE_0 - by / 8;
		if (off >= -MAX_WORDS && off <= MAX_WORDS)
			return (u64)(DISTANCE_0 + off);
	}
	flow->bad |= !is_rts(f);
	return POISONED;
}

/* Does no function or continuation begin between two places? */
static bool same_function(const struct sp_flow *f, u64 a, u64 b)
{
	u64 lo = a < b ? a : b, hi = a < b ? b : a;
	struct hsu_entry entry;

	for (lo++; lo <= hi; lo++)
		if (is_root(f, lo) ||
		    (lo % 8 == 0 && hsu_info_entry(f->flow.code, lo, &entry)))
			return false;
	return true;
}

/*
 * Not into an entry: that is a tail call of oneself, or of a continuation whose
 * frame has been built, and the entry is followed in its own right. The
 * run-time system's functions have no info tables to tell them from blocks, but
 * do begin at distance 0, and are rarely as near as a block of the same
 * function. Its jump tables stand one behind the other, so that one ends where
 * it leads into another function.
 */
static bool follows(struct hsu_flow *flow, const struct hsu_insn *insn,
		    u64 target, u64 state)
{
	struct sp_flow *f = sp_flow(flow);
	struct hsu_entry entry;

	if (hsu_info_entry(flow->code, target, &entry) || is_root(f, target))
		return false;
	if (!is_rts(f) || !insn ||
	    insn->d.meta.category != ZYDIS_CATEGORY_UNCOND_BR)
		return true;
	if (insn->op[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return same_function(f, insn->addr, target);
	return state == DISTANCE_0 || insn->d.length == LEN_SHORT_JUMP;
}

/* A return goes to the word at Sp: the caller's return address. */
static void leaves(struct hsu_flow *flow, const struct hsu_insn *insn,
		   u64 target, u64 state)
{
	const ZydisDecodedOperand *op = &insn->op[0];
	struct sp_flow *f = sp_flow(flow);

	if (target) {
		hsu_targets_add(f->targets, target);
		return;
	}
	if (op->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    op->mem.base != ZYDIS_REGISTER_RBP ||
	    op->mem.index != ZYDIS_REGISTER_NONE || op->mem.disp.value)
		return;
	/* Above 0: into an update frame that it has pushed itself. */
	if (state == DISTANCE_0)
		f->confirmed = true;
	if (is_distance(state) && state < DISTANCE_0 && !is_rts(f))
		disagree(f, DISTANCE_0 - (s64)state);
}

static u64 join(struct hsu_flow *flow, u64 old, u64 state)
{
	struct sp_flow *f = sp_flow(flow);

	if (old == state || old == POISONED)
		return old;
	if (state == POISONED || is_rts(f))
		return POISONED;
	disagree(f, (s64)old - (s64)state);
	return old;
}

static const struct hsu_flow_ops sp_flow_ops = {
	.after = after, .follows = follows, .leaves = leaves, .join = join,
};

static void enter_continuations(struct sp_flow *f)
{
	struct hsu_flow *flow = &f->flow;
	struct hsu_entry entry;
	u64 addr;

	for (addr = (flow->start + 7) & ~7ull; addr < flow->end; addr += 8)
		if (hsu_info_entry(flow->code, addr, &entry) && !entry.proc)
			hsu_flow_enter(flow, addr, entry.last ? NO_CALLER :
				       (u64)(DISTANCE_0 + entry.off / 8));
	for (addr = flow->start; is_rts(f) && addr < flow->end; addr++)
		if (is_root(f, addr))
			hsu_flow_enter(flow, addr, DISTANCE_0);
}

/*
 * A function with many arguments has some of them on the stack, below the
 * return address. How many, its returns and the blocks that it shares with its
 * continuations tell. If it has neither, it gets no rows up to there.
 */
static void enter_all(struct sp_flow *f, const struct hsu_entry *entry)
{
	enter_continuations(f);
	if (!entry)
		return;
	f->excess = 0;
	f->confirmed = false;
	f->probing = !entry->fixed;
	hsu_flow_enter(&f->flow, entry->addr,
		       (u64)(DISTANCE_0 + entry->off / 8));
	f->probing = false;
	if (f->flow.bad || (!f->excess && (entry->fixed || f->confirmed)))
		return;
	hsu_flow_begin(&f->flow, f->flow.start, f->flow.end);
	enter_continuations(f);
	if (f->excess)
		hsu_flow_enter(&f->flow, entry->addr,
			       (u64)(DISTANCE_0 + f->excess));
}

/*
 * Where the code at @i ends: at @i, or at the next entry if nothing but padding
 * and that entry's info table lies between. No code runs there, and one row
 * less is needed.
 */
static size_t over_info_table(const struct sp_flow *f, size_t i)
{
	const struct hsu_flow *flow = &f->flow;
	size_t len = flow->end - flow->start;
	struct hsu_entry entry;
	size_t j;

	for (j = i; j <= len && j <= i + LEN_FUN_TABLE + 7; j++) {
		if ((flow->start + j) % 8 == 0 &&
		    hsu_info_entry(flow->code, flow->start + j, &entry))
			return j - i <= (entry.function ? LEN_FUN_TABLE :
					 LEN_TABLE) + 7u ? j : i;
		if (j < len && flow->at[j])
			return i;
	}
	return i;
}

static void emit_rows(const struct sp_flow *f, u64 base, struct hsu_rows *rows,
		      struct hsu_sp_stats *stats)
{
	const struct hsu_flow *flow = &f->flow;
	size_t len = flow->end - flow->start, i = 0, from;

	while (i < len) {
		u64 state = flow->at[i];
		struct hsunwind_rule rule = {
			.kind = HSUNWIND_RULE_HS_SP, .cls = f->cls,
		};

		if (!state || state == POISONED) {
			i++;
			continue;
		}
		for (from = i; i < len && flow->at[i] == state;
		     i += flow->size[i])
			stats->insns++;
		i = over_info_table(f, i);
		if (state == NO_CALLER)
			rule.kind = HSUNWIND_RULE_HS_END;
		else
			rule.cfa_off = ((s32)state - DISTANCE_0) * 8;
		hsu_rows_add(rows, flow->start + from - base,
			     flow->start + i - base, &rule);
	}
}

/* Start of the next procedure behind @addr, or the end of the code. */
static u64 next_proc(const struct hsu_code *code, u64 addr)
{
	struct hsu_entry entry;

	for (addr = (addr & ~7ull) + 8; addr < code->end; addr += 8)
		if (hsu_info_entry(code, addr, &entry) && entry.proc)
			return addr;
	return code->end;
}

void hsu_sp_flow(const struct hsu_code *code, u64 base, u8 cls,
		 struct hsu_targets *targets, struct hsu_rows *rows,
		 struct hsu_sp_stats *stats)
{
	struct sp_flow f = { .targets = targets, .cls = cls };
	u64 start = code->start;

	hsu_flow_init(&f.flow, code, &sp_flow_ops);
	while (start < code->end) {
		u64 end = next_proc(code, start);
		struct hsu_entry entry;
		bool proc;

		proc = hsu_info_entry(code, start, &entry) && entry.proc;
		hsu_flow_begin(&f.flow, start, end);
		if (!f.flow.bad)
			enter_all(&f, proc ? &entry : NULL);
		stats->procs++;
		if (f.flow.bad)
			stats->rejected++;
		else
			emit_rows(&f, base, rows, stats);
		start = end;
	}
	hsu_flow_free(&f.flow);
}
