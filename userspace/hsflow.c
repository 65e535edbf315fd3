// SPDX-License-Identifier: GPL-2.0-only
/*
 * How Sp moves in code that GHC has compiled. Every continuation and every
 * function is an entry; how many words it finds on the stack is known, save for
 * arguments and results that there was no register for. Entries that share
 * blocks are related, and what is not known of one is known of all or none.
 */
#include "hsflow.h"

#include <string.h>

/* Registers that arguments and results are in: rbx, r14, rsi, rdi, r8, r9. */
#define ARGUMENTS	(1u << 3 | 1u << 14 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 9)

static bool is_thunk(const struct sp_flow *f, u32 unknown)
{
	return unknown && unknown == f->thunk;
}

/* Code keeps out of its caller's frame: else there are more words below that. */
static void use_word(struct sp_flow *f, const struct hsu_hs_regs *regs,
		     s32 words)
{
	if (words > 0)
		return;
	if (regs->unknown && !is_thunk(f, regs->unknown))
		f->entries[regs->unknown].beyond = true;
	else
		f->flow.bad = true;
}

/* The values of these registers are used, if they have been loaded from there. */
static void use_loaded(struct sp_flow *f, const struct hsu_hs_regs *regs,
		       u32 which)
{
	int i;

	for (i = 0; i < HSU_NR_GPRS; i++)
		if (regs->loaded & which & 1u << i)
			use_word(f, regs, regs->words[i]);
}

static u32 registers_read(const struct hsu_insn *insn)
{
	u32 read = 0, i, j;

	for (i = 0; i < insn->d.operand_count_visible; i++) {
		const ZydisDecodedOperand *op = &insn->op[i];
		int regs[] = { -1, -1 };

		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    op->actions & ZYDIS_OPERAND_ACTION_MASK_READ) {
			regs[0] = hsu_gpr(op->reg.value);
		} else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			regs[0] = hsu_gpr(op->mem.base);
			regs[1] = hsu_gpr(op->mem.index);
		}
		for (j = 0; j < ARRAY_SIZE(regs); j++)
			read |= regs[j] < 0 ? 0 : 1u << regs[j];
	}
	return read;
}

/*
 * An operand is a word of the stack. A word that is only loaded may be a return
 * address; that of a continuation itself is not read, though.
 */
static void access_word(struct sp_flow *f, struct hsu_hs_regs *regs,
			const struct hsu_insn *insn,
			const ZydisDecodedOperand *op)
{
	bool load = insn->d.mnemonic == ZYDIS_MNEMONIC_MOV &&
		insn->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		insn->op[0].size == 64;
	struct sp_entry *e;
	s32 words;

	if (op->mem.type != ZYDIS_MEMOP_TYPE_MEM ||
	    !hsu_hs_address(regs, op, &words))
		return;
	if (!load)
		use_word(f, regs, words);
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
	    words < regs->written)
		regs->written = words;
	if (!regs->unknown)
		return;
	e = &f->entries[regs->unknown];
	if (!e->continuation || words != e->words)
		return;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		e->beyond |= !regs->own_written;
	regs->own_written = true;
}

/* Sp, wherever it is, is put into the thread's stack object. */
static bool saves_sp(const struct sp_flow *f, const struct hsu_hs_regs *regs,
		     const struct hsu_insn *insn, s32 *words)
{
	int from = -1, base = -1;

	if (insn->d.operand_count_visible >= 2 &&
	    insn->op[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
	    insn->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER) {
		from = hsu_gpr(insn->op[1].reg.value);
		base = hsu_gpr(insn->op[0].mem.base);
	}
	if (from < 0 || base < 0 || !(regs->address >> from & 1) ||
	    regs->address >> base & 1 ||
	    !hsu_saves_sp(f, insn, insn->op[1].reg.value))
		return false;
	*words = regs->words[from];
	return true;
}

/*
 * After a safe call, Sp is loaded from where it was saved before. What other
 * registers have to do with the stack is no longer true.
 */
static bool loads_sp(const struct hsu_hs_regs *regs,
		     const struct hsu_insn *insn)
{
	return regs->saved && insn->d.mnemonic == ZYDIS_MNEMONIC_MOV &&
		hsu_insn_is_reg(&insn->op[0], ZYDIS_REGISTER_RBP) &&
		insn->op[1].type == ZYDIS_OPERAND_TYPE_MEMORY;
}

/* Words of the frame that returns to the address that an operand has, or 0. */
static s32 frame_of(const struct sp_flow *f, const struct hsu_hs_regs *regs,
		    const struct hsu_insn *insn, const ZydisDecodedOperand *op)
{
	int reg;

	if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return hsu_hs_frame_at(f, (u64)hsu_insn_imm(op));
	if (insn->d.mnemonic == ZYDIS_MNEMONIC_LEA)
		return op->mem.base != ZYDIS_REGISTER_RIP ? 0 :
			hsu_hs_frame_at(f, insn->addr + insn->d.length +
				 (u64)op->mem.disp.value);
	if (op->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return 0;
	reg = hsu_gpr(op->reg.value);
	return reg >= 0 && regs->ret >> reg & 1 ? regs->words[reg] : 0;
}

/* A frame is pushed: right below or above others, or it is the only one. */
static void push(struct hsu_hs_regs *regs, s32 at, s32 words)
{
	if (regs->pushed && at - words == regs->frame) {
		regs->frame = at;
	} else if (regs->pushed && at == regs->above) {
		regs->above = at - words;
	} else if (!regs->pushed || at >= regs->frame) {
		regs->pushed = true;
		regs->frame = at;
		regs->above = at - words;
	}
}

/* What an instruction does with return addresses: it pushes a frame at last. */
static void handle_ret(const struct sp_flow *f, struct hsu_hs_regs *regs,
		       const struct hsu_hs_regs *before,
		       const struct hsu_insn *insn)
{
	const ZydisDecodedOperand *op = insn->op;
	s32 words, at;
	int reg;

	if (insn->d.operand_count_visible < 2 ||
	    (insn->d.mnemonic != ZYDIS_MNEMONIC_MOV &&
	     insn->d.mnemonic != ZYDIS_MNEMONIC_LEA) || op[0].size != 64)
		return;
	words = frame_of(f, before, insn, &op[1]);
	if (!words)
		return;
	reg = op[0].type == ZYDIS_OPERAND_TYPE_REGISTER ?
		hsu_gpr(op[0].reg.value) : -1;
	if (reg >= 0) {
		regs->ret |= 1u << reg;
		regs->words[reg] = words;
	} else if (hsu_hs_address(before, &op[0], &at)) {
		push(regs, at, words);
	}
}

static u64 after(struct hsu_flow *flow, const struct hsu_insn *insn, u64 state)
{
	struct sp_flow *f = sp_flow(flow);
	struct hsu_hs_regs regs;
	u8 i;

	if (!is_distance(state) || !insn->d.operand_count_visible)
		return state;
	regs = *hsu_hs_regs_of(f, state);
	use_loaded(f, &regs, registers_read(insn));
	if (insn->d.meta.category == ZYDIS_CATEGORY_CALL)
		use_loaded(f, &regs, ~0u);
	for (i = 0; i < insn->d.operand_count_visible; i++)
		if (insn->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			access_word(f, &regs, insn, &insn->op[i]);
	if (saves_sp(f, &regs, insn, &regs.sp)) {
		regs.saved = true;
	} else if (loads_sp(&regs, insn)) {
		regs.saved = false;
		regs.address = 1u << HSU_GPR_RBP;
		regs.loaded = 0;
		regs.words[HSU_GPR_RBP] = regs.sp;
	} else {
		hsu_hs_write(&regs, insn);
		handle_ret(f, &regs, hsu_hs_regs_of(f, state), insn);
	}
	if (!memcmp(&regs, hsu_hs_regs_of(f, state), sizeof(regs)))
		return state;
	return hsu_hs_put(f, &regs);
}

/* There the caller's frame is, this many words below where it should be. */
static void tells(struct sp_flow *f, const struct hsu_hs_regs *regs, s32 words)
{
	f->flow.bad |= !hsu_unknowns_relate(&f->unknowns, regs->unknown,
					    HSU_ZERO, -words);
	if (regs->unknown)
		f->entries[regs->unknown].related = true;
}

/*
 * Another function is called, and finds @args words of arguments on the stack,
 * or -1: not known. Above them lie frames that have been pushed, right below the
 * caller's if nothing else has been written; or, if nothing has been, the caller's.
 * Functions that are not known have their arguments in registers, where all of
 * the frame has been taken off.
 */
static void tail_call(struct sp_flow *f, const struct hsu_hs_regs *regs,
		      s32 args)
{
	s32 words;

	if (is_thunk(f, regs->unknown) || !hsu_hs_sp_words(regs, &words))
		return;
	if (regs->pushed && words >= regs->frame) {
		if (regs->written > regs->above)
			tells(f, regs, regs->above);
		return;
	}
	if (args < 0 && words < 0)
		args = 0;
	if (args >= 0 && regs->written > words - args)
		tells(f, regs, words - args);
}

/*
 * Words of arguments that a tail call leaves on the stack, as far as is known: an
 * object that is entered, which is in rbx, finds none; -1: not known.
 */
static s32 words_of_arguments(struct sp_flow *f, const struct hsu_insn *insn,
			      u64 target)
{
	const ZydisDecodedOperand *op = &insn->op[0];
	struct hsu_entry entry;

	if (op->type == ZYDIS_OPERAND_TYPE_MEMORY)
		return op->mem.base == ZYDIS_REGISTER_RBX &&
			op->mem.index == ZYDIS_REGISTER_NONE &&
			!op->mem.disp.value ? 0 : -1;
	if (!hsu_hs_entry_at(f, target, &entry) || !entry.proc)
		return -1;
	hsu_hs_count_arguments(f, &entry);
	return entry.fixed ? entry.off / 8 : -1;
}

/*
 * A jump to a continuation of one's own finds what a return to it would: its
 * frame, and below that results for which there was no register. In a thunk, an
 * update frame lies in between, or does not. One to a function is a tail call.
 */
static void jumps_to(struct sp_flow *f, u64 target, u64 state)
{
	u32 nr = hsu_hs_number_at(f, target);
	const struct hsu_hs_regs *regs;
	s32 words;

	if (!nr || !is_distance(state))
		return;
	regs = hsu_hs_regs_of(f, state);
	if (is_thunk(f, regs->unknown) || regs->saved || !hsu_hs_sp_words(regs, &words))
		return;
	if (f->entries[nr].continuation) {
		f->flow.bad |= !hsu_unknowns_relate(&f->unknowns, regs->unknown,
						    nr, f->entries[nr].words -
						    words);
		f->entries[nr].related = true;
		if (regs->unknown)
			f->entries[regs->unknown].related = true;
		return;
	}
	tail_call(f, regs, -1);
	if (regs->pushed && words >= regs->frame)
		f->flow.bad |= !hsu_unknowns_relate(&f->unknowns, nr, HSU_ZERO,
						    words - regs->frame);
	else if (!regs->pushed && regs->written > words)
		f->flow.bad |= !hsu_unknowns_relate(&f->unknowns, nr,
						    regs->unknown, words);
}

/* Does a jump look like a call, with a frame on top of the stack to return to? */
static bool calls(const struct sp_flow *f, const struct hsu_insn *insn, u64 state)
{
	const struct hsu_hs_regs *regs;
	s32 words;

	if (insn->d.meta.category != ZYDIS_CATEGORY_UNCOND_BR ||
	    !is_distance(state))
		return false;
	regs = hsu_hs_regs_of(f, state);
	return regs->pushed && hsu_hs_sp_words(regs, &words) && words >= regs->frame;
}

/* Do two addresses belong to one function, as far as functions are known? */
static bool same_function(const struct sp_flow *f, u64 a, u64 b)
{
	return hsu_targets_next(&f->flow.code->functions, a) ==
		hsu_targets_next(&f->flow.code->functions, b);
}

/*
 * Not into an entry: that is a tail call of oneself, or of a continuation whose
 * frame has been built, and the entry is followed in its own right. Not into
 * another function either.
 */
static bool follows(struct hsu_flow *flow, const struct hsu_insn *insn,
		    u64 target, u64 state)
{
	bool jump = insn && (insn->d.meta.category == ZYDIS_CATEGORY_UNCOND_BR ||
			     insn->d.meta.category == ZYDIS_CATEGORY_COND_BR);
	struct sp_flow *f = sp_flow(flow);
	struct hsu_entry entry;

	if (hsu_info_entry(flow->code, target, &entry) ||
	    hsu_targets_has(&flow->code->functions, target)) {
		/* Its address is also taken, to be pushed. */
		if (jump)
			jumps_to(f, target, state);
		return false;
	}
	if (!jump)
		return true;
	if (target % 8)
		return true;
	if (!same_function(f, insn->addr, target)) {
		hsu_targets_add(f->functions, target);
		return false;
	}
	hsu_targets_add(calls(f, insn, state) ? &f->called : &f->far, target);
	return true;
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
	const struct hsu_hs_regs *regs;
	int reg = -1;
	s32 words;

	if (target)
		hsu_targets_add(f->targets, target);
	if (!is_distance(state))
		return;
	regs = hsu_hs_regs_of(f, state);
	tail_call(f, regs, words_of_arguments(f, insn, target));
	if (op->type == ZYDIS_OPERAND_TYPE_REGISTER)
		reg = hsu_gpr(op->reg.value);
	use_loaded(f, regs, ARGUMENTS & ~(reg < 0 ? 0 : 1u << reg));
	if (reg >= 0 && regs->loaded >> reg & 1)
		words = regs->words[reg];
	else if (!hsu_hs_address(regs, op, &words))
		return;
	/* Above 0: into a frame that it has pushed itself. */
	if (words <= 0)
		tells(f, regs, words);
}

/* Relates what the two states count from. */
static void relate(struct sp_flow *f, u32 old, u32 nr, s32 excess)
{
	struct sp_entry *e;

	if (old == nr && !excess)
		return;
	if (is_thunk(f, old) == is_thunk(f, nr)) {
		f->flow.bad |= !hsu_unknowns_relate(&f->unknowns, old, nr,
						    excess);
		return;
	}
	/* In between, the thunk has pushed its update frame. */
	e = &f->entries[is_thunk(f, old) ? nr : old];
	if (is_thunk(f, old))
		excess = -excess;
	f->flow.bad |= e->joined && e->excess != excess;
	e->joined = true;
	e->excess = excess;
}

static u64 join(struct hsu_flow *flow, u64 old, u64 state)
{
	struct sp_flow *f = sp_flow(flow);
	const struct hsu_hs_regs *b;
	struct hsu_hs_regs a;
	s32 words, more;
	u16 loaded;

	if (old == state || old == POISONED)
		return old;
	if (!is_distance(old) || !is_distance(state))
		return POISONED;
	a = *hsu_hs_regs_of(f, old);
	b = hsu_hs_regs_of(f, state);
	if (a.saved != b->saved || !hsu_hs_sp_words(&a, &words) ||
	    !hsu_hs_sp_words(b, &more))
		return POISONED;
	relate(f, a.unknown, b->unknown, more - words);
	loaded = a.loaded;
	hsu_hs_meet(&a, b, more - words);
	/* What only one of them has loaded is not for a return. */
	use_loaded(f, hsu_hs_regs_of(f, old), loaded & ~a.loaded);
	use_loaded(f, b, b->loaded & ~a.loaded);
	return hsu_hs_put(f, &a);
}

const struct sp_rules hsu_hs_rules = {
	.flow = {
		.after = after, .follows = follows, .leaves = leaves,
		.join = join,
	},
	.enter = hsu_hs_enter, .settle = hsu_hs_settle,
};
