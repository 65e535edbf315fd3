// SPDX-License-Identifier: GPL-2.0-only
/*
 * How Sp moves in code that GHC has compiled. Every continuation and every
 * function is an entry; how many words it finds on the stack is known, save for
 * arguments and results that there was no register for. Entries that share
 * blocks are related, and what is not known of one is known of all or none.
 */
#include "spstate.h"

#include <stdlib.h>
#include <string.h>

/* Registers that arguments and results are in: rbx, r14, rsi, rdi, r8, r9. */
#define ARGUMENTS	(1u << 3 | 1u << 14 | 1u << 6 | 1u << 7 | 1u << 8 | 1u << 9)
#define MAX_TABLE	56	/* bytes of an info table */
#define MAX_INSN	15	/* bytes of an instruction */
#define MAX_PADDING	8	/* in front of a function */
#define JMP_REL32	0xe9
#define JMP_REL8	0xeb
#define JMP_INDIRECT	0xff
#define NOP		0x90
#define MAX_SLOW_INSNS	64	/* of the slow entry code of a function */

/* A state that is none of the special ones is the number of a set of registers. */
#define FIRST	(NO_CALLER + 1)

static const struct hsu_hs_regs *regs_of(const struct sp_flow *f, u64 state)
{
	return &f->states.v[state - FIRST];
}

static u64 put(struct sp_flow *f, const struct hsu_hs_regs *regs)
{
	s64 nr = hsu_hs_states_add(&f->states, regs);

	if (nr >= 0)
		return FIRST + (u64)nr;
	f->flow.bad = true;
	return POISONED;
}

static bool is_thunk(const struct sp_flow *f, u32 unknown)
{
	return unknown && unknown == f->thunk;
}

/* Words from Sp up to the caller's frame, if known. */
static bool sp_words(const struct hsu_hs_regs *regs, s32 *words)
{
	*words = regs->saved ? regs->sp : regs->words[HSU_GPR_RBP];
	return regs->saved || regs->address >> HSU_GPR_RBP & 1;
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

/* The number of a continuation or function of this procedure, 0: none is there. */
static u32 number_at(const struct sp_flow *f, u64 addr)
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

/* Is there an info table in front of any address of the file? */
static bool entry_at(const struct sp_flow *f, u64 addr, struct hsu_entry *entry)
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

/*
 * Words of the frame that returns to @addr, or 0. The run-time system has some for
 * its callers to push, to apply a function that is not known to more arguments.
 */
static s32 frame_at(const struct sp_flow *f, u64 addr)
{
	struct hsu_entry entry;

	return entry_at(f, addr, &entry) && !entry.proc && entry.fixed &&
		!entry.last ? entry.off / 8 : 0;
}

/* Words of the frame that returns to the address that an operand has, or 0. */
static s32 frame_of(const struct sp_flow *f, const struct hsu_hs_regs *regs,
		    const struct hsu_insn *insn, const ZydisDecodedOperand *op)
{
	int reg;

	if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		return frame_at(f, (u64)hsu_insn_imm(op));
	if (insn->d.mnemonic == ZYDIS_MNEMONIC_LEA)
		return op->mem.base != ZYDIS_REGISTER_RIP ? 0 :
			frame_at(f, insn->addr + insn->d.length +
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
	regs = *regs_of(f, state);
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
		handle_ret(f, &regs, regs_of(f, state), insn);
	}
	if (!memcmp(&regs, regs_of(f, state), sizeof(regs)))
		return state;
	return put(f, &regs);
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

	if (is_thunk(f, regs->unknown) || !sp_words(regs, &words))
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

/* Sees to it that @entry counts all arguments on the stack, if they can be known. */
static void count_arguments(struct sp_flow *f, struct hsu_entry *entry)
{
	s32 args = -1;

	if (entry->fixed)
		return;
	if (entry->function && entry->slow)
		args = stack_arguments(f, entry);
	entry->fixed = args >= 0;
	entry->off = entry->fixed ? 8 * args : 0;
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
	if (!entry_at(f, target, &entry) || !entry.proc)
		return -1;
	count_arguments(f, &entry);
	return entry.fixed ? entry.off / 8 : -1;
}

/*
 * A jump to a continuation of one's own finds what a return to it would: its
 * frame, and below that results for which there was no register. In a thunk, an
 * update frame lies in between, or does not. One to a function is a tail call.
 */
static void jumps_to(struct sp_flow *f, u64 target, u64 state)
{
	u32 nr = number_at(f, target);
	const struct hsu_hs_regs *regs;
	s32 words;

	if (!nr || !is_distance(state))
		return;
	regs = regs_of(f, state);
	if (is_thunk(f, regs->unknown) || regs->saved || !sp_words(regs, &words))
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
	regs = regs_of(f, state);
	return regs->pushed && sp_words(regs, &words) && words >= regs->frame;
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
	regs = regs_of(f, state);
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
	a = *regs_of(f, old);
	b = regs_of(f, state);
	if (a.saved != b->saved || !sp_words(&a, &words) ||
	    !sp_words(b, &more))
		return POISONED;
	relate(f, a.unknown, b->unknown, more - words);
	loaded = a.loaded;
	hsu_hs_meet(&a, b, more - words);
	/* What only one of them has loaded is not for a return. */
	use_loaded(f, regs_of(f, old), loaded & ~a.loaded);
	use_loaded(f, b, b->loaded & ~a.loaded);
	return put(f, &a);
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

/* Enters where Sp is so many words below what an unknown counts from. */
static void enter_at(struct sp_flow *f, u64 addr, u32 nr, s32 words)
{
	struct hsu_hs_regs regs = {
		.unknown = nr, .address = 1u << HSU_GPR_RBP,
		.written = HSU_UNWRITTEN,
		.words = { [HSU_GPR_RBP] = words },
	};

	hsu_flow_enter(&f->flow, addr, put(f, &regs));
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

	if (words < 0 || (e->continuation && e->beyond && !words))
		return false;
	/* Results need not be used, but then something else must tell of them. */
	if (e->continuation && words && !e->beyond && !e->related)
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
		const struct hsu_hs_regs *regs;
		s32 sp;

		if (!is_distance(flow->at[i]))
			continue;
		regs = regs_of(f, flow->at[i]);
		flow->at[i] = POISONED;
		if (sp_words(regs, &sp) &&
		    hsu_unknowns_root(&f->unknowns, regs->unknown, &words) ==
		    HSU_ZERO)
			flow->at[i] = state_of(regs->saved ? SAVED : EXACT,
					       sp + words);
	}
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
	size_t i;

	while (f->next_slow < f->nr_slow &&
	       f->slow[f->next_slow].addr < f->flow.start)
		f->next_slow++;
	for (i = f->next_slow; i < f->nr_slow && f->slow[i].addr < f->flow.end;
	     i++)
		enter_at(f, f->slow[i].addr, HSU_ZERO, (s32)f->slow[i].args);
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
		count_arguments(f, entry);
	if (!entry->fixed || !entry->function)
		nr = add_unknown(f, entry);
	if (nr && !entry->function) {
		f->thunk = nr;
		hsu_unknowns_relate(&f->unknowns, nr, HSU_ZERO, 0);
	}
	enter_at(f, entry->addr, nr, entry->off / 8);
}

/* The padding that GHC's assembler puts in front of what it aligns. */
static bool is_padding(const u8 *p, size_t len)
{
	static const char *const nops[] = {
		"", "\x90", "\x66\x90", "\x0f\x1f\0", "\x0f\x1f\x40\0",
		"\x0f\x1f\x44\0\0", "\x66\x0f\x1f\x44\0\0",
		"\x0f\x1f\x80\0\0\0\0",
	};

	return len && len < ARRAY_SIZE(nops) && !memcmp(p, nops[len], len);
}

/* An instruction behind which there is only what something else jumps to. */
static bool is_jump(const u8 *p)
{
	return *p == JMP_REL32 || *p == JMP_REL8 ||
		(*p == JMP_INDIRECT && (p[1] & 0x38) == 0x20);
}

/*
 * Does a function begin at @addr, which is jumped to? If what is in front of it has
 * been padded: code has no gaps, but functions are aligned. The linker leaves a
 * nop where it has made an indirect jump a direct one. Or if there is nothing to
 * pad, and it has been @called.
 */
static bool is_function(const struct sp_flow *f, u64 addr, bool called)
{
	const struct hsu_flow *flow = &f->flow;
	const u8 *p = flow->code->bytes + (addr - flow->code->start);
	size_t i, size, pad;

	for (i = 1; i <= MAX_INSN + MAX_PADDING && addr - flow->start >= i; i++) {
		size = flow->at[addr - i - flow->start] ?
			flow->size[addr - i - flow->start] : 0;
		if (!size || size > i)
			continue;
		pad = i - size;
		if (pad && *(p - i) == JMP_REL32 && *(p - pad) == NOP)
			pad--;
		return pad ? is_padding(p - pad, pad) :
			called && is_jump(p - i);
	}
	return false;
}

static void take_functions(struct sp_flow *f, struct hsu_targets *from,
			   bool called)
{
	size_t i;

	hsu_targets_sort(from);
	for (i = 0; i < from->nr; i++)
		if (is_function(f, from->addr[i], called))
			hsu_targets_add(f->functions, from->addr[i]);
	from->nr = 0;
}

/* Are there more functions than were known? */
static bool learn_functions(struct sp_flow *f)
{
	size_t known = f->functions->sorted;

	take_functions(f, &f->far, false);
	take_functions(f, &f->called, true);
	hsu_targets_sort(f->functions);
	return f->functions->sorted > known && !f->functions->failed;
}

static void enter(struct sp_flow *f, struct hsu_entry *entry)
{
	f->far.nr = 0;
	f->called.nr = 0;
	enter_once(f, entry);
	while (!f->flow.bad && learn_functions(f)) {
		hsu_flow_begin(&f->flow, f->flow.start, f->flow.end);
		enter_once(f, entry);
	}
}

const struct sp_rules hsu_hs_rules = {
	.flow = {
		.after = after, .follows = follows, .leaves = leaves,
		.join = join,
	},
	.enter = enter, .settle = settle,
};
