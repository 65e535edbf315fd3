// SPDX-License-Identifier: GPL-2.0-only
/*
 * The analysis works procedure by procedure. GHC lays a function out as one
 * piece: its entry, then its blocks and continuations, up to the next function.
 * A jump out of the piece is a tail call.
 */
#include "spstate.h"
#include "ghc.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TABLE	56	/* bytes of an info table */

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

static void rule_of(const struct sp_flow *f, u64 state,
		    struct hsunwind_rule *rule)
{
	u32 upper = (u32)(state >> 32);

	memset(rule, 0, sizeof(*rule));
	rule->cls = f->cls;
	if (state == NO_CALLER) {
		rule->kind = HSUNWIND_RULE_HS_END;
		return;
	}
	rule->kind = upper == EXACT ? HSUNWIND_RULE_HS_SP :
		upper == SAVED ? HSUNWIND_RULE_HS_SAVED :
		HSUNWIND_RULE_HS_SCAN;
	rule->cfa_off = distance(state) * 8;
	if (upper >= PLUS_REG) {
		rule->cfa_reg = (u8)(upper - PLUS_REG);
		rule->arg = 8;
	}
}

static void emit_rows(const struct sp_flow *f, u64 base, struct hsu_rows *rows,
		      struct hsu_sp_stats *stats)
{
	const struct hsu_flow *flow = &f->flow;
	size_t len = flow->end - flow->start, i = 0, from;
	struct hsunwind_rule rule;

	while (i < len) {
		u64 state = flow->at[i];

		if (!state || state == POISONED) {
			i++;
			continue;
		}
		for (from = i; i < len && flow->at[i] == state;
		     i += flow->size[i])
			stats->insns++;
		i = over_info_table(f, i);
		rule_of(f, state, &rule);
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

bool hsu_saves_sp(const struct sp_flow *f, const struct hsu_insn *insn,
		  ZydisRegister reg)
{
	const ZydisDecodedOperand *to = &insn->op[0];
	struct hsunwind_ghc ghc;

	if (insn->d.mnemonic != ZYDIS_MNEMONIC_MOV ||
	    to->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    !hsu_insn_is_reg(&insn->op[1], reg) ||
	    to->mem.base == ZYDIS_REGISTER_RSP ||
	    to->mem.base == ZYDIS_REGISTER_RBP ||
	    to->mem.index != ZYDIS_REGISTER_NONE)
		return false;
	hsu_ghc_layout(0, f->flow.code->profiled, &ghc);
	return to->mem.disp.value == ghc.stack_sp;
}

void hsu_sp_flow(struct hsu_code *code, const struct hsu_targets *only,
		 u64 base, u8 cls, struct hsu_targets *targets,
		 struct hsu_rows *rows, struct hsu_sp_stats *stats)
{
	struct sp_flow f = {
		.targets = targets, .functions = &code->functions, .cls = cls,
	};
	u64 start = code->start;

	f.rules = cls == HSUNWIND_CLASS_HS_RTS ? &hsu_rts_rules : &hsu_hs_rules;
	hsu_flow_init(&f.flow, code, &f.rules->flow);
	rows->failed |= !hsu_find_slow_entries(&f);
	while (start < code->end) {
		u64 end = next_proc(code, start);
		struct hsu_entry entry;
		bool proc;

		if (only && hsu_targets_next(only, start - 1) >= end) {
			start = end;
			continue;
		}
		if (only)
			hsu_rows_cut(rows, start - base, end - base);
		proc = hsu_info_entry(code, start, &entry) && entry.proc;
		hsu_flow_begin(&f.flow, start, end);
		if (!f.flow.bad)
			f.rules->enter(&f, proc ? &entry : NULL);
		if (!f.flow.bad && f.rules->settle)
			f.rules->settle(&f);
		stats->procs += !only;
		if (f.flow.bad)
			stats->rejected++;
		else
			emit_rows(&f, base, rows, stats);
		start = end;
	}
	hsu_flow_free(&f.flow);
	hsu_unknowns_free(&f.unknowns);
	hsu_hs_states_free(&f.states);
	hsu_targets_free(&f.stacked);
	hsu_targets_free(&f.mistaken);
	hsu_targets_free(&f.far);
	hsu_targets_free(&f.called);
	free(f.entries);
	free(f.slow);
}
