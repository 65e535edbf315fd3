// SPDX-License-Identifier: GPL-2.0-only
/*
 * How Sp moves in code that GHC has compiled. Every continuation and every
 * function is an entry; how many words it finds on the stack is known, save for
 * arguments and results that there was no register for. Entries that share
 * blocks are related, and what is not known of one is known of all or none.
 */
#include "spstate.h"

#include <stdlib.h>

#define MAX_SLOW_INSNS	64	/* of the slow entry code of a function */

/* The upper half of a state: the number of an unknown, and this. */
#define OWN_WRITTEN	(1ull << 63)	/* the word at Sp on entry was */
#define SP_SAVED	(1ull << 62)	/* in the thread, and may be stale */

static u32 unknown(u64 state)
{
	return (u32)((state & ~(OWN_WRITTEN | SP_SAVED)) >> 32);
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
 * where it was saved before: it has not moved.
 */
static u64 after(struct hsu_flow *flow, const struct hsu_insn *insn, u64 state)
{
	struct sp_flow *f = sp_flow(flow);
	s64 by, off;
	u8 i;

	if (!is_distance(state) || !insn->d.operand_count_visible)
		return state;
	for (i = 0; i < insn->d.operand_count_visible; i++)
		if (is_stack_word(&insn->op[i]))
			state = check_access(f, &insn->op[i], state);
	if (hsu_saves_sp(f, insn))
		return state | SP_SAVED;
	if (!hsu_insn_is_reg(&insn->op[0], ZYDIS_REGISTER_RBP) ||
	    !(insn->op[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return state;
	state &= ~SP_SAVED;
	if (insn->d.mnemonic == ZYDIS_MNEMONIC_MOV &&
	    insn->op[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
		return state;
	if (hsu_insn_adds(insn, ZYDIS_REGISTER_RBP, &by) && by % 8 == 0) {
		off = distance(state) - by / 8;
		if (off >= -MAX_WORDS && off <= MAX_WORDS)
			return state_of(unknown(state), off) |
				(state & OWN_WRITTEN);
	}
	flow->bad = true;
	return POISONED;
}

/*
 * Not into an entry: that is a tail call of oneself, or of a continuation whose
 * frame has been built, and the entry is followed in its own right.
 */
static bool follows(struct hsu_flow *flow, const struct hsu_insn *insn,
		    u64 target, u64 state)
{
	struct hsu_entry entry;

	(void)insn;
	(void)state;
	return !hsu_info_entry(flow->code, target, &entry);
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
	if (!is_stack_word(op) || !is_distance(state))
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
	if (state == POISONED || (old ^ state) & SP_SAVED)
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
		else
			enter_unknown(f, &entry);
	}
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
			flow->at[i] = state_of(state & SP_SAVED ? SAVED : EXACT,
					       distance(state) + words);
		else
			flow->at[i] = POISONED;
	}
}

static int by_address(const void *a, const void *b)
{
	const struct slow_entry *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

bool hsu_find_slow_entries(struct sp_flow *f)
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

/* Follows the slow entries that lie in the procedure. */
static void enter_slow_entries(struct sp_flow *f)
{
	while (f->next_slow < f->nr_slow &&
	       f->slow[f->next_slow].addr < f->flow.end) {
		const struct slow_entry *slow = &f->slow[f->next_slow++];

		hsu_flow_enter(&f->flow, slow->addr,
			       state_of(EXACT, slow->args));
	}
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

static void enter(struct sp_flow *f, struct hsu_entry *entry)
{
	s32 args;

	f->flow.bad |= !hsu_unknowns_reset(&f->unknowns);
	enter_continuations(f);
	enter_slow_entries(f);
	if (!entry)
		return;

	if (entry->function && !entry->fixed && entry->slow) {
		args = stack_arguments(f, entry);
		entry->fixed = args >= 0;
		entry->off = entry->fixed ? 8 * args : 0;
	}
	f->thunk = !entry->function;
	if (entry->fixed)
		hsu_flow_enter(&f->flow, entry->addr,
			       state_of(EXACT, entry->off / 8));
	else
		enter_unknown(f, entry);
	f->thunk = false;
}

const struct sp_rules hsu_hs_rules = {
	.flow = {
		.after = after, .follows = follows, .leaves = leaves,
		.join = join,
	},
	.enter = enter, .settle = settle,
};
