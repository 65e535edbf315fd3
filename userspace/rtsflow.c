// SPDX-License-Identifier: GPL-2.0-only
/*
 * How Sp moves in the run-time system's own code. That is written by hand, in
 * Cmm: functions without info tables, arguments on the stack whose number a
 * closure has, Sp loaded from a thread. Where the distance to the caller is not
 * known, it is known from where on there are only arguments: a return address
 * that is found there is the caller's.
 */
#include "spstate.h"

#include <string.h>

#define LEN_SHORT_JUMP	2	/* bytes */

static u32 upper(u64 state)
{
	return (u32)(state >> 32);
}

/* A function without an info table, unless it only looked like the address of one. */
static bool is_root(const struct sp_flow *f, u64 addr)
{
	return hsu_targets_has(f->targets, addr) &&
		!hsu_targets_has(&f->mistaken, addr);
}

static u8 dwarf_number(ZydisRegister reg)
{
	static const u8 numbers[] = {	/* in the order of the encoding */
		HSU_RAX, HSU_RCX, HSU_RDX, HSU_RBX, HSU_RSP, HSU_RBP, HSU_RSI,
		HSU_RDI, HSU_R8, HSU_R9, HSU_R10, HSU_R11, HSU_R12, HSU_R13,
		HSU_R14, HSU_R15,
	};

	return numbers[reg - ZYDIS_REGISTER_RAX];
}

static ZydisRegister written(const struct hsu_insn *insn)
{
	if (!insn->d.operand_count_visible ||
	    insn->op[0].type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    !(insn->op[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return ZYDIS_REGISTER_NONE;
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64,
						insn->op[0].reg.value);
}

static bool is_gpr(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15;
}

/* Words are turned into bytes by a copy, a shift and perhaps a negation. */
static void note_multiple(struct sp_flow *f, const struct hsu_insn *insn)
{
	const ZydisDecodedOperand *op = insn->op;
	struct multiple *m = &f->multiple;
	ZydisRegister reg = written(insn);
	bool known = m->next == insn->addr;

	m->next = insn->addr + insn->d.length;
	if (insn->d.mnemonic == ZYDIS_MNEMONIC_MOV && is_gpr(reg) &&
	    op[1].type == ZYDIS_OPERAND_TYPE_REGISTER && is_gpr(op[1].reg.value)) {
		m->reg = reg;
		m->of = op[1].reg.value;
		m->factor = 1;
	} else if (!known) {
		m->next = 0;
	} else if (reg == m->reg && insn->d.mnemonic == ZYDIS_MNEMONIC_NEG) {
		m->factor = -m->factor;
	} else if (reg == m->reg && insn->d.mnemonic == ZYDIS_MNEMONIC_SHL &&
		   op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		   op[1].imm.value.u == 3 && m->factor * m->factor == 1) {
		m->factor *= 8;
	} else if (reg == m->reg || reg == m->of) {
		m->next = 0;
	}
}

/* Does the instruction take as many words as a register says? */
static bool takes_words(const struct sp_flow *f, const struct hsu_insn *insn)
{
	const struct multiple *m = &f->multiple;

	return m->next == insn->addr && hsu_insn_is_reg(&insn->op[1], m->reg) &&
		((insn->d.mnemonic == ZYDIS_MNEMONIC_SUB && m->factor == 8) ||
		 (insn->d.mnemonic == ZYDIS_MNEMONIC_ADD && m->factor == -8));
}

/* Sp is moved: what is above it then? */
static u64 move(struct sp_flow *f, const struct hsu_insn *insn, u64 state)
{
	s64 by, words;

	if (takes_words(f, insn) && upper(state) <= AT_LEAST)
		return state_of(PLUS_REG + dwarf_number(f->multiple.of),
				distance(state));
	if (upper(state) == SAVED)
		state = state_of(AT_LEAST, distance(state));
	/* A thread's Sp points to a frame. */
	if (!hsu_insn_adds(insn, ZYDIS_REGISTER_RBP, &by) || by % 8)
		return state_of(AT_LEAST, 0);
	words = distance(state) - by / 8;
	if (words > MAX_WORDS || words < -MAX_WORDS)
		return state_of(AT_LEAST, 0);
	if (words >= 0 || upper(state) >= PLUS_REG)
		return state_of(upper(state), words);
	/* Arguments are taken off, or whole frames. */
	if (f->root && upper(state) == EXACT)
		hsu_targets_add(&f->stacked, f->root);
	return state_of(AT_LEAST, 0);
}

/*
 * Behind the loop that fills the words that have been taken, they are as good
 * as others: arguments, or the frames of an AP_STACK.
 */
static bool ends_loop(const struct hsu_insn *insn)
{
	return insn->d.meta.category == ZYDIS_CATEGORY_CALL ||
		(insn->d.meta.category == ZYDIS_CATEGORY_COND_BR &&
		 hsu_insn_imm(&insn->op[0]) < 0);
}

static u64 after(struct hsu_flow *flow, const struct hsu_insn *insn, u64 state)
{
	struct sp_flow *f = sp_flow(flow);
	ZydisRegister reg = written(insn);
	u64 moved = state;

	if (is_distance(state) && reg == ZYDIS_REGISTER_RBP)
		moved = move(f, insn, state);
	else if (is_distance(state) && upper(state) <= AT_LEAST &&
		 hsu_saves_sp(f, insn, ZYDIS_REGISTER_RBP))
		moved = state_of(SAVED, distance(state));
	else if (is_distance(state) && upper(state) >= PLUS_REG &&
		 (ends_loop(insn) ||
		  (is_gpr(reg) && dwarf_number(reg) == upper(state) - PLUS_REG)))
		moved = state_of(AT_LEAST, 0);
	note_multiple(f, insn);
	return moved;
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
 * Functions have no info tables to tell them from blocks, but do begin at
 * distance 0, and are rarely as near as a block of the same function. Jump
 * tables stand one behind the other, so that one ends where it leads into
 * another function.
 */
static bool follows(struct hsu_flow *flow, const struct hsu_insn *insn,
		    u64 target, u64 state)
{
	struct sp_flow *f = sp_flow(flow);
	struct hsu_entry entry;

	if (hsu_info_entry(flow->code, target, &entry) || is_root(f, target))
		return false;
	if (!insn || insn->d.meta.category != ZYDIS_CATEGORY_UNCOND_BR)
		return true;
	if (insn->op[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return same_function(f, insn->addr, target);
	if (state == DISTANCE_0 || insn->d.length == LEN_SHORT_JUMP)
		return true;
	hsu_targets_add(&f->far, target);
	return false;
}

static void leaves(struct hsu_flow *flow, const struct hsu_insn *insn,
		   u64 target, u64 state)
{
	(void)insn;
	(void)state;
	if (target)
		hsu_targets_add(sp_flow(flow)->targets, target);
}

/* What holds for both of two states. */
static u64 join(struct hsu_flow *flow, u64 old, u64 state)
{
	s32 least;

	(void)flow;
	if (old == state || old == POISONED)
		return old;
	if (!is_distance(old) || !is_distance(state))
		return POISONED;
	least = distance(old) < distance(state) ? distance(old) :
		distance(state);
	return state_of(AT_LEAST, least > 0 ? least : 0);
}

/* stg_PAP_apply: it begins with how many arguments the PAP in R1 has. */
static bool applies_pap(const struct sp_flow *f, u64 addr)
{
	const struct hsu_code *code = f->flow.code;
	/* movslq 12(%rbx),%rax; 28 in profiled code */
	const u8 load[] = { 0x48, 0x63, 0x43, code->profiled ? 28 : 12 };

	return code->end - addr >= sizeof(load) &&
		!memcmp(code->bytes + (addr - code->start), load, sizeof(load));
}

static void enter_all(struct sp_flow *f, const struct hsu_entry *proc)
{
	struct hsu_flow *flow = &f->flow;
	struct hsu_entry entry;
	u64 addr;

	f->root = 0;
	for (addr = (flow->start + 7) & ~7ull; addr < flow->end; addr += 8) {
		if (!hsu_info_entry(flow->code, addr, &entry) || entry.proc)
			continue;
		hsu_flow_enter(flow, addr, entry.last ? NO_CALLER :
			       state_of(entry.fixed ? EXACT : AT_LEAST,
					entry.off / 8));
	}
	if (proc)
		hsu_flow_enter(flow, proc->addr,
			       state_of(EXACT, proc->off / 8));
	for (addr = flow->start; addr < flow->end; addr++) {
		if (flow->bad || !is_root(f, addr))
			continue;
		f->root = addr;
		hsu_flow_enter(flow, addr,
			       state_of(hsu_targets_has(&f->stacked, addr) ||
					applies_pap(f, addr) ?
					AT_LEAST : EXACT, 0));
	}
}

/*
 * What is only jumped to from afar, and not known for a function, is one all the
 * same: it may find arguments on the stack.
 */
static void enter_far(struct sp_flow *f)
{
	struct hsu_flow *flow = &f->flow;
	size_t i;

	f->root = 0;
	for (i = 0; i < f->far.nr && !flow->bad; i++)
		if (f->far.addr[i] % 8 == 0)
			hsu_flow_enter(flow, f->far.addr[i],
				       state_of(AT_LEAST, 0));
}

/*
 * Without symbols, any number may be taken for the address of a function. What
 * does not lead to code is none.
 */
static void enter_true(struct sp_flow *f, const struct hsu_entry *entry)
{
	enter_all(f, entry);
	while (f->flow.bad && f->root && !f->mistaken.failed) {
		hsu_targets_add(&f->mistaken, f->root);
		hsu_targets_sort(&f->mistaken);
		hsu_flow_begin(&f->flow, f->flow.start, f->flow.end);
		enter_all(f, entry);
	}
}

static void enter(struct sp_flow *f, struct hsu_entry *entry)
{
	hsu_targets_clear(&f->stacked);
	hsu_targets_clear(&f->far);
	enter_true(f, entry);
	if (f->stacked.nr && !f->flow.bad) {
		/* Now it is known which have arguments on the stack. */
		hsu_targets_sort(&f->stacked);
		hsu_flow_begin(&f->flow, f->flow.start, f->flow.end);
		enter_true(f, entry);
	}
	enter_far(f);
}

const struct sp_rules hsu_rts_rules = {
	.flow = {
		.after = after, .follows = follows, .leaves = leaves,
		.join = join,
	},
	.enter = enter,
};
