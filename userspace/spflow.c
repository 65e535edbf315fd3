// SPDX-License-Identifier: GPL-2.0-only
/*
 * The analysis works procedure by procedure. GHC lays a function out as one
 * piece: its entry, then its blocks and continuations, up to the next function.
 * A jump out of the piece is a tail call.
 */
#include "spflow.h"

#include <stdlib.h>
#include <string.h>

#include "unknowns.h"

#define MAX_WORDS	4096	/* of a frame */
#define LEN_SHORT_JUMP	2	/* bytes */
#define MAX_TABLE	56	/* bytes of an info table */
#define MAX_SLOW_INSNS	64	/* of the slow entry code of a function */

/*
 * States: how many words lie between Sp and the caller's frame, made a positive
 * number; or one of these. In the upper half the number of an unknown, see
 * struct sp_entry, by how much it is more.
 */
#define POISONED	1	/* reached with different distances */
#define NO_CALLER	2	/* behind the outermost frame */
#define DISTANCE_0	65536
#define OWN_WRITTEN	(1ull << 63)	/* the word at Sp on entry was */

/**
 * struct sp_entry - where the number of words on the stack is not known
 * @words: from Sp at entry to the caller's frame, as far as is known.
 * @continuation: else a function.
 * @beyond: there must be more words, since the code uses them.
 * @joined: it shares a block with the thunk that the procedure is.
 * @excess: words more that there are if that has pushed no update frame.
 * @least: of all in its set that are continuations, the one with fewest.
 * @unclear: its set cannot be told.
 *
 * Words that are not known of: arguments of a function and results that are
 * returned to a continuation, if they are too many for the registers.
 */
struct sp_entry {
	s32 words;
	bool continuation;
	bool beyond;
	bool joined;
	bool unclear;
	s32 excess;
	s32 least;
};

/* Code that takes all arguments of a function from the stack. */
struct slow_entry {
	u64 addr;
	u32 args;
};

struct sp_flow {
	struct hsu_flow flow;
	struct hsu_targets *targets;
	struct slow_entry *slow;	/* by address */
	size_t nr_slow;
	u8 cls;
	bool thunk;		/* its entry is being followed */
	struct hsu_unknowns unknowns;
	struct sp_entry *entries;	/* by number of the unknown */
	size_t cap_entries;
};

static struct sp_flow *sp_flow(struct hsu_flow *f)
{
	return (struct sp_flow *)f;	/* its first member */
}

static bool is_rts(const struct sp_flow *f)
{
	return f->cls == HSUNWIND_CLASS_HS_RTS;
}

static u32 distance_code(u64 state)
{
	return (u32)state;
}

static bool is_distance(u64 state)
{
	return distance_code(state) > NO_CALLER;
}

static s32 distance(u64 state)
{
	return (s32)(distance_code(state) - DISTANCE_0);
}

static u32 unknown(u64 state)
{
	return (u32)((state & ~OWN_WRITTEN) >> 32);
}

static u64 state_of(u32 unknown, s64 words)
{
	return (u64)unknown << 32 | (u32)(DISTANCE_0 + words);
}

/* Without an info table, only the run-time system has functions. */
static bool is_root(const struct sp_flow *f, u64 addr)
{
	return is_rts(f) && hsu_targets_has(f->targets, addr);
}

static bool is_stack_word(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		op->mem.type == ZYDIS_MEMOP_TYPE_MEM &&
		op->mem.base == ZYDIS_REGISTER_RBP &&
		op->mem.index == ZYDIS_REGISTER_NONE;
}

/*
 * Code keeps out of its caller's frame, and a continuation does not read its
 * own return address: if it seems to, there are more words below that frame.
 */
static u64 check_access(struct sp_flow *f, const ZydisDecodedOperand *op,
			u64 state)
{
	struct sp_entry *e;
	s64 from_caller = op->mem.disp.value - distance(state) * 8ll;

	if (!unknown(state)) {
		f->flow.bad |= from_caller >= 0;
		return state;
	}
	e = &f->entries[unknown(state)];
	if (from_caller >= 0)
		e->beyond = true;
	if (!e->continuation || from_caller != e->words * -8ll)
		return state;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		e->beyond |= !(state & OWN_WRITTEN);
	return state | OWN_WRITTEN;
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
	u8 i;

	if (!is_distance(state) || !insn->d.operand_count_visible)
		return state;
	for (i = 0; i < insn->d.operand_count_visible && !is_rts(f); i++)
		if (is_stack_word(&insn->op[i]))
			state = check_access(f, &insn->op[i], state);
	if (!hsu_insn_is_reg(&insn->op[0], ZYDIS_REGISTER_RBP) ||
	    !(insn->op[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return state;
	if (insn->d.mnemonic == ZYDIS_MNEMONIC_MOV &&
	    insn->op[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
		return is_rts(f) ? DISTANCE_0 : state;
	if (hsu_insn_adds(insn, ZYDIS_REGISTER_RBP, &by) && by % 8 == 0) {
		off = distance(state) - by / 8;
		if (off >= -MAX_WORDS && off <= MAX_WORDS)
			return state_of(unknown(state), off) |
				(state & OWN_WRITTEN);
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

/*
 * A return goes to the caller's return address: the word at Sp, or above
 * results for which there was no register.
 */
static void leaves(struct hsu_flow *flow, const struct hsu_insn *insn,
		   u64 target, u64 state)
{
	const ZydisDecodedOperand *op = &insn->op[0];
	struct sp_flow *f = sp_flow(flow);
	s64 excess;

	if (target) {
		hsu_targets_add(f->targets, target);
		return;
	}
	if (!is_stack_word(op) || !is_distance(state) || is_rts(f))
		return;
	excess = op->mem.disp.value / 8 - distance(state);
	/* Below 0: into a frame that it has pushed itself. */
	if (excess >= 0 && !hsu_unknowns_relate(&f->unknowns, unknown(state),
						HSU_ZERO, (s32)excess))
		flow->bad = true;
}

static u64 join(struct hsu_flow *flow, u64 old, u64 state)
{
	struct sp_flow *f = sp_flow(flow);
	struct sp_entry *e;
	s32 excess;

	if ((old & ~OWN_WRITTEN) == (state & ~OWN_WRITTEN) || old == POISONED)
		return old;
	if (state == POISONED || is_rts(f))
		return POISONED;
	excess = distance(state) - distance(old);
	if (!f->thunk || !unknown(old)) {
		flow->bad |= !hsu_unknowns_relate(&f->unknowns, unknown(old),
						  unknown(state), excess);
		return old;
	}
	/* In between, the thunk has pushed its update frame. */
	e = &f->entries[unknown(old)];
	flow->bad |= e->joined && e->excess != excess;
	e->joined = true;
	e->excess = excess;
	return old;
}

static const struct hsu_flow_ops sp_flow_ops = {
	.after = after, .follows = follows, .leaves = leaves, .join = join,
};

/* Makes room for one entry more; 0 if there is no memory for it. */
static u32 new_entry(struct sp_flow *f)
{
	u32 nr = hsu_unknowns_add(&f->unknowns);

	if (f->unknowns.nr > f->cap_entries) {
		size_t cap = f->cap_entries ? 2 * f->cap_entries : 64;
		struct sp_entry *grown = reallocarray(f->entries, cap,
						      sizeof(*grown));

		if (!grown)
			return 0;
		f->entries = grown;
		f->cap_entries = cap;
	}
	return nr;
}

/* Enters where words may be on the stack that nothing tells of. */
static void enter_unknown(struct sp_flow *f, const struct hsu_entry *entry)
{
	u32 nr = new_entry(f);

	if (!nr) {
		f->flow.bad = true;
		return;
	}
	f->entries[nr] = (struct sp_entry){
		.words = entry->off / 8, .continuation = !entry->proc,
		.least = MAX_WORDS,
	};
	hsu_flow_enter(&f->flow, entry->addr, state_of(nr, entry->off / 8));
}

static void enter_continuations(struct sp_flow *f)
{
	struct hsu_flow *flow = &f->flow;
	struct hsu_entry entry;
	u64 addr;

	for (addr = (flow->start + 7) & ~7ull; addr < flow->end; addr += 8) {
		if (!hsu_info_entry(flow->code, addr, &entry) || entry.proc)
			continue;
		if (entry.last)
			hsu_flow_enter(flow, addr, NO_CALLER);
		else if (is_rts(f))
			hsu_flow_enter(flow, addr, state_of(0, entry.off / 8));
		else
			enter_unknown(f, &entry);
	}
	for (addr = flow->start; is_rts(f) && addr < flow->end; addr++)
		if (is_root(f, addr))
			hsu_flow_enter(flow, addr, DISTANCE_0);
}

/*
 * Some numbers of words are known by now: returns have told. In other sets of
 * entries that are related, the continuations with fewest have none.
 */
static void assume_least(struct sp_flow *f)
{
	struct sp_entry *e = f->entries;
	s32 above;
	u32 i, r;

	for (i = 1; i < f->unknowns.nr; i++) {
		r = hsu_unknowns_root(&f->unknowns, i, &above);
		if (r && e[i].continuation && above < e[r].least)
			e[r].least = above;
	}
	for (i = 1; i < f->unknowns.nr; i++) {
		r = hsu_unknowns_root(&f->unknowns, i, &above);
		if (r)
			e[r].unclear |= e[r].least == MAX_WORDS ||
				(e[i].beyond && above == e[r].least);
	}
	for (i = 1; i < f->unknowns.nr; i++) {
		r = hsu_unknowns_root(&f->unknowns, i, &above);
		if (r && !e[r].unclear)
			hsu_unknowns_relate(&f->unknowns, r, HSU_ZERO,
					    -e[r].least);
	}
}

/* Does an entry's number of words fit what the code does? */
static bool fits(const struct sp_entry *e, s32 words)
{
	s32 update_frame = e->excess - words;

	if (words < 0 || (e->continuation && e->beyond != !!words))
		return false;
	/* In profiled code, an update frame has four words. */
	return !e->joined || !update_frame || update_frame == 2 ||
		update_frame == 4;
}

/* Puts distances into the states instead of unknowns. */
static void settle(struct sp_flow *f)
{
	struct hsu_flow *flow = &f->flow;
	size_t len = flow->end - flow->start, i;
	s32 words;

	assume_least(f);
	for (i = 1; i < f->unknowns.nr; i++)
		if (hsu_unknowns_root(&f->unknowns, (u32)i, &words) ==
		    HSU_ZERO && !fits(&f->entries[i], words))
			flow->bad = true;
	for (i = 0; i < len; i++) {
		u64 state = flow->at[i];

		if (!is_distance(state))
			continue;
		if (hsu_unknowns_root(&f->unknowns, unknown(state), &words) ==
		    HSU_ZERO)
			flow->at[i] = state_of(0, distance(state) + words);
		else
			flow->at[i] = POISONED;
	}
}

static int by_address(const void *a, const void *b)
{
	const struct slow_entry *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool find_slow_entries(struct sp_flow *f)
{
	const struct hsu_code *code = f->flow.code;
	struct hsu_entry entry;
	size_t cap = 0;
	u64 addr;

	for (addr = (code->start + 7) & ~7ull; addr < code->end; addr += 8) {
		if (!hsu_info_entry(code, addr, &entry) || !entry.slow ||
		    entry.slow < code->start || entry.slow >= code->end)
			continue;
		if (f->nr_slow == cap) {
			struct slow_entry *grown;

			cap = cap ? 2 * cap : 256;
			grown = reallocarray(f->slow, cap, sizeof(*grown));
			if (!grown)
				return false;
			f->slow = grown;
		}
		f->slow[f->nr_slow++] = (struct slow_entry){
			entry.slow, entry.args
		};
	}
	if (f->nr_slow)
		qsort(f->slow, f->nr_slow, sizeof(*f->slow), by_address);
	return true;
}

/* Follows the slow entries that lie in the procedure, from the n-th on. */
static void enter_slow_entries(struct sp_flow *f, size_t *n)
{
	for (; *n < f->nr_slow && f->slow[*n].addr < f->flow.end; ++*n)
		hsu_flow_enter(&f->flow, f->slow[*n].addr,
			       state_of(0, f->slow[*n].args));
}

/*
 * The slow entry code of a function takes those arguments off the stack that
 * go in registers, and jumps to the function. Returns how many it leaves, or -1.
 */
static s32 stack_arguments(struct sp_flow *f, const struct hsu_entry *entry)
{
	const struct hsu_code *code = f->flow.code;
	s64 left = entry->args, by;
	struct hsu_insn insn;
	u64 addr = entry->slow;
	unsigned int i;

	if (addr < code->start)
		return -1;
	for (i = 0; i < MAX_SLOW_INSNS; i++, addr += insn.d.length) {
		if (!hsu_flow_decode(&f->flow, addr, code->end, &insn))
			return -1;
		if (insn.d.meta.category == ZYDIS_CATEGORY_UNCOND_BR)
			return left >= 0 ? (s32)left : -1;
		if (hsu_insn_adds(&insn, ZYDIS_REGISTER_RBP, &by))
			left -= by / 8;
	}
	return -1;
}

static void enter_procedure(struct sp_flow *f, struct hsu_entry *entry)
{
	s32 args;

	if (entry->function && !entry->fixed && entry->slow) {
		args = stack_arguments(f, entry);
		entry->fixed = args >= 0;
		entry->off = entry->fixed ? 8 * args : 0;
	}
	f->thunk = !entry->function;
	if (entry->fixed)
		hsu_flow_enter(&f->flow, entry->addr,
			       state_of(0, entry->off / 8));
	else
		enter_unknown(f, entry);
	f->thunk = false;
}

/* Does GHC's assembler fill up with this before an info table? */
static bool is_padding(const u8 *p, size_t len)
{
	return !len || *p == 0x90 || (len > 1 && *p == 0x66) ||
		(len > 2 && p[0] == 0x0f && p[1] == 0x1f);
}

/*
 * Where the code at @i ends: at @i, or at the next entry if nothing but padding
 * and that entry's info table lies between. No code runs there, and one row
 * less is needed.
 */
static size_t over_info_table(const struct sp_flow *f, size_t i)
{
	const struct hsu_flow *flow = &f->flow;
	const u8 *bytes = flow->code->bytes + (flow->start - flow->code->start);
	size_t len = flow->end - flow->start, j;
	struct hsu_entry entry;

	for (j = i; j <= len && j <= i + MAX_TABLE + 7; j++) {
		if ((flow->start + j) % 8 == 0 &&
		    hsu_info_entry(flow->code, flow->start + j, &entry)) {
			size_t pad = j - i - entry.table;

			return j - i >= entry.table && pad < 8 &&
				is_padding(bytes + i, pad) ? j : i;
		}
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
	size_t slow = 0;

	hsu_flow_init(&f.flow, code, &sp_flow_ops);
	rows->failed |= !find_slow_entries(&f);
	while (start < code->end) {
		u64 end = next_proc(code, start);
		struct hsu_entry entry;

		hsu_flow_begin(&f.flow, start, end);
		f.flow.bad |= !hsu_unknowns_reset(&f.unknowns);
		if (!f.flow.bad) {
			enter_continuations(&f);
			enter_slow_entries(&f, &slow);
		}
		if (hsu_info_entry(code, start, &entry) && entry.proc &&
		    !f.flow.bad)
			enter_procedure(&f, &entry);
		if (!f.flow.bad)
			settle(&f);
		stats->procs++;
		if (f.flow.bad)
			stats->rejected++;
		else
			emit_rows(&f, base, rows, stats);
		start = end;
	}
	hsu_flow_free(&f.flow);
	hsu_unknowns_free(&f.unknowns);
	free(f.entries);
	free(f.slow);
}
