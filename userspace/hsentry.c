// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where code that GHC has compiled is entered, and how many words are on the stack
 * there, as far as info tables and the slow entry code of functions tell.
 */
#include "grow.h"
#include "hsflow.h"

#include <stdlib.h>

#define MAX_TABLE	56	/* bytes of an info table */
#define MAX_SLOW_INSNS	64	/* of the slow entry code of a function */

u32 hsu_hs_number_at(const struct sp_flow *f, u64 addr)
{
	u32 lo = 1, hi = f->nr_numbered + 1;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (f->entries[mid].addr == addr)
			return mid;
		if (f->entries[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return 0;
}

bool hsu_hs_entry_at(const struct sp_flow *f, u64 addr, struct hsu_entry *entry)
{
	u8 bytes[2 * MAX_TABLE];
	struct hsu_code code = {
		.elf = f->flow.code->elf, .bytes = bytes,
		.start = addr - MAX_TABLE, .end = addr + MAX_TABLE,
		.profiled = f->flow.code->profiled,
	};

	if (addr >= f->flow.code->start && addr < f->flow.code->end)
		return hsu_info_entry(f->flow.code, addr, entry);
	return addr % 8 == 0 && addr >= MAX_TABLE &&
		hsu_elf_read(code.elf, code.start, bytes, sizeof(bytes)) ==
		sizeof(bytes) && hsu_info_entry(&code, addr, entry);
}

s32 hsu_hs_frame_at(const struct sp_flow *f, u64 addr)
{
	struct hsu_entry entry;

	return hsu_hs_entry_at(f, addr, &entry) && !entry.proc && entry.fixed &&
		!entry.last ? entry.off / 8 : 0;
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

void hsu_hs_count_arguments(struct sp_flow *f, struct hsu_entry *entry)
{
	s32 args = -1;

	if (entry->fixed)
		return;
	if (entry->function && entry->slow)
		args = stack_arguments(f, entry);
	entry->fixed = args >= 0;
	entry->off = entry->fixed ? 8 * args : 0;
}

u64 hsu_hs_put(struct sp_flow *f, const struct hsu_hs_regs *regs)
{
	s64 nr = hsu_hs_states_add(&f->states, regs);

	if (nr >= 0)
		return HSU_HS_FIRST + (u64)nr;
	f->flow.bad = true;
	return POISONED;
}

/* Makes room for one entry more; 0 if there is no memory for it. */
static u32 new_entry(struct sp_flow *f)
{
	u32 nr = hsu_unknowns_add(&f->unknowns);
	struct sp_entry *grown = hsu_grow(f->entries, nr, &f->cap_entries,
					  sizeof(*grown));

	if (!grown)
		return 0;
	f->entries = grown;
	return nr;
}

/* Enters where Sp is so many words below what an unknown counts from. */
static void enter_at(struct sp_flow *f, u64 addr, u32 nr, s32 words)
{
	struct hsu_hs_regs regs = {
		.unknown = nr, .address = 1u << HSU_GPR_RBP,
		.written = HSU_UNWRITTEN,
		.words = { [HSU_GPR_RBP] = words },
	};

	hsu_flow_enter(&f->flow, addr, hsu_hs_put(f, &regs));
}

/* A number for where words may be on the stack that nothing tells of. */
static u32 add_unknown(struct sp_flow *f, const struct hsu_entry *entry)
{
	u32 nr = new_entry(f);

	if (nr)
		f->entries[nr] = (struct sp_entry){
			.addr = entry->addr, .words = entry->off / 8,
			.continuation = !entry->proc, .least = MAX_WORDS,
		};
	else
		f->flow.bad = true;
	return nr;
}

static int by_address(const void *a, const void *b)
{
	const struct slow_entry *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool is_slow_entry(const struct sp_flow *f, u64 addr)
{
	struct slow_entry key = { .addr = addr };

	return f->nr_slow && bsearch(&key, f->slow, f->nr_slow, sizeof(key),
				     by_address);
}

bool hsu_find_slow_entries(struct sp_flow *f)
{
	const struct hsu_code *code = f->flow.code;
	struct slow_entry *grown;
	struct hsu_entry entry;
	size_t cap = 0;
	u64 addr;

	for (addr = (code->start + 7) & ~7ull; addr < code->end; addr += 8) {
		if (!hsu_info_entry(code, addr, &entry) || !entry.slow ||
		    entry.slow < code->start || entry.slow >= code->end)
			continue;
		grown = hsu_grow(f->slow, f->nr_slow, &cap, sizeof(*grown));
		if (!grown)
			return false;
		f->slow = grown;
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
	size_t i;

	while (f->next_slow < f->nr_slow &&
	       f->slow[f->next_slow].addr < f->flow.start)
		f->next_slow++;
	for (i = f->next_slow; i < f->nr_slow && f->slow[i].addr < f->flow.end;
	     i++)
		enter_at(f, f->slow[i].addr, HSU_ZERO, (s32)f->slow[i].args);
}

/* Continuations, and functions without info tables. */
static void number(struct sp_flow *f)
{
	const struct hsu_code *code = f->flow.code;
	struct hsu_entry entry;
	u64 addr;

	f->nr_numbered = 0;
	for (addr = (f->flow.start + 7) & ~7ull; addr < f->flow.end; addr += 8) {
		if (!hsu_info_entry(code, addr, &entry)) {
			if (!hsu_targets_has(&code->functions, addr) ||
			    is_slow_entry(f, addr))
				continue;
			entry = (struct hsu_entry){ .addr = addr, .proc = true };
		} else if (entry.proc || entry.last) {
			continue;
		}
		if (add_unknown(f, &entry))
			f->nr_numbered++;
	}
}

/* All have a number before the first is followed, since they jump to others. */
static void enter_numbered(struct sp_flow *f)
{
	struct hsu_flow *flow = &f->flow;
	struct hsu_entry entry;
	u64 addr;
	u32 i;

	number(f);
	for (addr = (flow->start + 7) & ~7ull; addr < flow->end; addr += 8)
		if (hsu_info_entry(flow->code, addr, &entry) && entry.last)
			hsu_flow_enter(flow, addr, NO_CALLER);
	for (i = 1; i <= f->nr_numbered && !flow->bad; i++)
		enter_at(f, f->entries[i].addr, i, f->entries[i].words);
}

static void enter_once(struct sp_flow *f, struct hsu_entry *entry)
{
	u32 nr = 0;

	f->flow.bad |= !hsu_unknowns_reset(&f->unknowns);
	hsu_hs_states_reset(&f->states);
	f->thunk = 0;
	enter_numbered(f);
	enter_slow_entries(f);
	if (!entry)
		return;

	if (entry->function)
		hsu_hs_count_arguments(f, entry);
	if (!entry->fixed || !entry->function)
		nr = add_unknown(f, entry);
	if (nr && !entry->function) {
		f->thunk = nr;
		hsu_unknowns_relate(&f->unknowns, nr, HSU_ZERO, 0);
	}
	enter_at(f, entry->addr, nr, entry->off / 8);
}

void hsu_hs_enter(struct sp_flow *f, struct hsu_entry *entry)
{
	hsu_targets_clear(&f->far);
	hsu_targets_clear(&f->called);
	enter_once(f, entry);
	while (!f->flow.bad && hsu_hs_learn_functions(f)) {
		hsu_flow_begin(&f->flow, f->flow.start, f->flow.end);
		enter_once(f, entry);
	}
}
