// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cstack.h"
#include "levels.h"

#define MAX_ARGS	4096u	/* words on the Haskell stack at an entry */
#define MAX_FRAMES	(1u << 20)
#define MAX_C_FRAMES	256
#define SHOWN_DOUBTS	20

/* Where GHC 9.0.2 keeps things (DerivedConstants.h; header of 8 bytes). */
#define REG_TSO		872	/* StgRegTable.rCurrentTSO */
#define CHUNK_NEXT	8	/* underflow frame: the next chunk */

static void doubt(struct truth *tr, u64 ip, const char *what)
{
	const struct code *c = code_at(tr->t, ip);

	if (tr->checks.doubts++ < SHOWN_DOUBTS)
		printf("# doubt: %s, at %#llx %s+%#llx, Sp %#llx\n", what,
		       ip, c->name, c->offset, tr->t->regs.rbp);
}

static struct level *push_level(struct truth *tr, enum level_kind kind)
{
	struct level *l;

	if (tr->nr == tr->cap) {
		tr->cap = tr->cap ? 2 * tr->cap : 64;
		tr->levels = reallocarray(tr->levels, tr->cap,
					  sizeof(*tr->levels));
		if (!tr->levels)
			err(1, "no memory");
	}
	l = &tr->levels[tr->nr++];
	memset(l, 0, sizeof(*l));
	l->kind = kind;
	return l;
}

static void pop_level(struct truth *tr)
{
	free(top(tr)->frames);
	tr->nr--;
}

static void push_frame(struct level *l, u64 slot, u64 ra)
{
	if (l->nr == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->frames = reallocarray(l->frames, l->cap, sizeof(*l->frames));
		if (!l->frames)
			err(1, "no memory");
	}
	l->frames[l->nr++] = (struct frame){ slot, ra };
}

static void reverse(struct frame *f, size_t nr)
{
	size_t i;

	for (i = 0; i < nr / 2; i++) {
		struct frame other = f[i];

		f[i] = f[nr - 1 - i];
		f[nr - 1 - i] = other;
	}
}

/* All frames from a slot to the stop frame wait: a thread is resumed there. */
static bool take_whole_stack(struct truth *tr, struct level *l, u64 slot)
{
	u64 ra, words, chunk;

	l->nr = 0;
	while (l->nr < MAX_FRAMES) {
		if (!frame_words(tr->t, slot, &ra, &words))
			return false;
		push_frame(l, slot, ra);
		slot += words * 8;
		if (words)
			continue;
		if (code_at(tr->t, ra)->frame == STOP_FRAME)
			break;
		if (!tracee_word(tr->t, slot + CHUNK_NEXT, &chunk) ||
		    !tracee_word(tr->t, chunk + STACK_SP, &slot))
			return false;
	}
	reverse(l->frames, l->nr);
	return true;
}

static void push_tiles(struct truth *tr, struct level *l, u64 slot)
{
	u64 until = top_slot(l), ra, words;
	size_t from = l->nr;

	while (slot < until && frame_words(tr->t, slot, &ra, &words)) {
		push_frame(l, slot, ra);
		slot += words * 8;
	}
	reverse(l->frames + from, l->nr - from);
}

/*
 * Something is entered: what lies on the stack waits for it, save for its
 * arguments, which come first.
 */
static void enter(struct truth *tr, u64 ip)
{
	u64 sp = tr->t->regs.rbp, slot;
	struct level *l = top(tr);

	tr->entered = true;
	tr->checks.entries++;
	for (slot = sp; slot <= top_slot(l) && slot < sp + MAX_ARGS * 8;
	     slot += 8)
		if (truth_tiles(tr, slot, top_slot(l))) {
			push_tiles(tr, l, slot);
			return;
		}
	doubt(tr, ip, "no frames lead from Sp to the caller's");
}

static void drop_below(struct truth *tr, struct level *l, u64 sp)
{
	while (l->nr && top_slot(l) < sp) {
		l->nr--;
		tr->checks.dropped++;
	}
}

static void give_back(struct truth *tr, u64 ip, u64 sp)
{
	struct level *l = top(tr);

	tr->returned = true;
	/* Into a frame that the code has pushed itself. */
	if (sp < top_slot(l) && truth_tiles(tr, sp, top_slot(l)))
		push_tiles(tr, l, sp);
	if (sp > top_slot(l))
		drop_below(tr, l, sp);
	if (top_slot(l) == sp) {
		tr->checks.returns++;
		l->nr--;
		return;
	}
	doubt(tr, ip, "a return, not to the frame on top");
	if (take_whole_stack(tr, l, sp))
		l->nr--;
}

/*
 * Sp is loaded: a thread goes on at a return address, or, after a safe call,
 * inside of the function that owns the topmost frame.
 */
static void resumed(struct truth *tr, u64 ip)
{
	struct level *l = top(tr);

	tr->checks.resumed++;
	l->suspended = false;
	l->stripped = false;
	if (!take_whole_stack(tr, l, tr->t->regs.rbp))
		doubt(tr, ip, "a thread is resumed, without a stack");
	else if (tr->just_resumed)
		l->nr--;
}

/*
 * A computation that was frozen in the middle goes on: once the loop that puts
 * its frames back on the stack has ended, they wait like others.
 */
static bool thawed(const struct code *c)
{
	return c->insn.meta.category == ZYDIS_CATEGORY_COND_BR &&
	       c->op[0].imm.value.s < 0 &&
	       !strncmp(c->name, "stg_AP_STACK", 12);
}

static bool is_reg_base(const ZydisDecodedOperand *op, ZydisRegister reg)
{
	return op->type == ZYDIS_OPERAND_TYPE_MEMORY && op->mem.base == reg;
}

static void in_haskell(struct truth *tr, const struct code *c, u64 old_sp)
{
	u64 ip = tr->t->regs.rip, sp = tr->t->regs.rbp, word;
	ZydisInstructionCategory cat = c->insn.meta.category;
	u64 from = c->addr, section = c->section_start;
	bool direct = c->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	const struct code *to;

	if (cat != ZYDIS_CATEGORY_UNCOND_BR && cat != ZYDIS_CATEGORY_COND_BR) {
		if (is_reg(&c->op[0], ZYDIS_REGISTER_RBP) &&
		    c->insn.mnemonic == ZYDIS_MNEMONIC_MOV) {
			resumed(tr, c->addr);
		} else if (sp != old_sp) {
			tr->returned = false;
			drop_below(tr, top(tr), sp);
		}
		return;
	}
	if (ip == c->addr + c->insn.length) {
		if (thawed(c))
			enter(tr, from);
		return;
	}
	if (ip == tr->run_return) {
		pop_level(tr);
		return;
	}
	tr->returned = false;
	/* A return goes above results that there were no registers for. */
	if (is_reg_base(&c->op[0], ZYDIS_REGISTER_RBP))
		sp += (u64)c->op[0].mem.disp.value;
	to = code_at(tr->t, ip);
	if (to->frame && !direct && tracee_word(tr->t, sp, &word) &&
	    word == ip)
		give_back(tr, from, sp);
	else if (to->entry || to->section_start != section)
		enter(tr, from);
}

/* A thread's stack, before the code that StgRun has called loads Sp. */
static void start_haskell(struct truth *tr)
{
	struct level *l = push_level(tr, LEVEL_HASKELL);
	u64 tso, stack, sp;

	if (!tracee_word(tr->t, tr->t->regs.r13 + REG_TSO, &tso) ||
	    !tracee_word(tr->t, tso + TSO_STACKOBJ, &stack) ||
	    !tracee_word(tr->t, stack + STACK_SP, &sp) ||
	    !take_whole_stack(tr, l, sp))
		doubt(tr, tr->t->regs.rip, "StgRun without a thread");
	tr->just_resumed = false;
	tr->entered = true;
}

/*
 * A signal handler returns to the restorer, whose system call ends the level:
 * it leads back to where rsp was.
 */
static void leave_c(struct truth *tr)
{
	u64 sp = tr->t->regs.rsp;

	while (tr->nr && top(tr)->kind != LEVEL_HASKELL) {
		u64 last = top(tr)->slot;

		if (top(tr)->kind == LEVEL_SIGNAL)
			last += 8;
		if (sp <= last)
			break;
		pop_level(tr);
	}
}

static void call(struct truth *tr, const struct code *c)
{
	struct level *l;

	l = top(tr);
	if (l->kind == LEVEL_HASKELL) {
		tr->just_resumed = false;
		if (!tracee_word(tr->t, tr->t->regs.r13 + REG_TSO, &l->tso))
			l->tso = 0;
	}
	l = push_level(tr, LEVEL_C);
	l->slot = tr->t->regs.rsp;
	l->ra = c->addr + c->insn.length;
	tr->entered = true;
}

static void in_c(struct truth *tr, const struct code *c)
{
	ZydisInstructionCategory cat = c->insn.meta.category;

	if (cat == ZYDIS_CATEGORY_CALL)
		call(tr, c);
	else if (cat == ZYDIS_CATEGORY_UNCOND_BR && c->addr >= tr->run &&
		 c->addr < tr->run_return)
		start_haskell(tr);
	else
		leave_c(tr);
}

static void signal_came(struct truth *tr, u64 interrupted)
{
	struct level *l = push_level(tr, LEVEL_SIGNAL);

	l->slot = tr->t->regs.rsp;
	l->interrupted = interrupted;
	if (!tracee_word(tr->t, l->slot, &l->ra))
		doubt(tr, interrupted, "a signal without a frame");
}

/* Code that has frames taken off by what it calls with its thread. */
static bool throws(const struct code *c)
{
	return !strcmp(c->name, "stg_raisezh") ||
	       !strcmp(c->name, "stg_retryzh");
}

/*
 * C code is called that takes frames off a thread's stack, its second argument.
 * It may be another thread's. Libraries do not tell the names of such code, but
 * those of the run-time system's entries that call it.
 */
static void strips(struct truth *tr, const struct code *from)
{
	struct level *l = truth_haskell_below(tr);
	u64 ip = tr->t->regs.rip;
	bool strips = false;
	size_t i;

	if (!l || l->tso != tr->t->regs.rsi)
		return;
	for (i = 0; i < ARRAY_SIZE(tr->strip); i++)
		strips |= ip == tr->strip[i];
	if (from->insn.meta.category == ZYDIS_CATEGORY_CALL)
		strips |= throws(from);
	l->stripped |= strips;
}

bool truth_step(struct truth *tr, const struct user_regs_struct *before)
{
	const struct code *c = code_at(tr->t, before->rip);

	tr->entered = false;
	if (tr->t->signalled)
		signal_came(tr, before->rip);
	else if (top(tr)->kind != LEVEL_HASKELL)
		in_c(tr, c);
	else if (c->insn.meta.category == ZYDIS_CATEGORY_CALL)
		call(tr, c);
	else
		in_haskell(tr, c, before->rbp);
	if (tr->t->regs.rip == tr->resume)
		tr->just_resumed = true;
	if (tr->t->regs.rip == tr->suspend && truth_haskell_below(tr))
		truth_haskell_below(tr)->suspended = true;
	strips(tr, c);
	return tr->nr > 0;
}

u64 truth_stgrun(void)
{
	return code_function_start(code_symbol("StgReturn") - 1);
}

struct truth *truth_start(struct tracee *t, Dwfl *dwfl)
{
	static const char *const strippers[] = {
		"raiseAsync", "raiseExceptionHelper",
		"findRetryFrameHelper", "findAtomicallyFrameHelper",
	};
	struct c_frame frames[MAX_C_FRAMES];
	struct truth *tr = calloc(1, sizeof(*tr));
	struct level *l;
	size_t nr, i;

	if (!tr)
		err(1, "no memory");
	tr->t = t;
	tr->run = truth_stgrun();
	tr->run_return = code_symbol("StgReturn");
	tr->suspend = code_symbol("suspendThread");
	tr->resume = code_symbol("resumeThread");
	for (i = 0; i < ARRAY_SIZE(strippers); i++)
		tr->strip[i] = code_symbol(strippers[i]);
	if (!tr->suspend || !tr->resume)
		errx(1, "GHC's run-time system has no symbols");
	nr = c_stack(t, dwfl, frames, MAX_C_FRAMES);
	while (nr--) {
		l = push_level(tr, LEVEL_C);
		l->slot = frames[nr].slot;
		l->ra = frames[nr].ra;
	}
	if (tr->nr)
		return tr;
	truth_end(tr, &tr->checks);
	return NULL;
}

void truth_end(struct truth *tr, struct truth_checks *sum)
{
	sum->returns += tr->checks.returns;
	sum->entries += tr->checks.entries;
	sum->dropped += tr->checks.dropped;
	sum->resumed += tr->checks.resumed;
	sum->doubts += tr->checks.doubts;
	while (tr->nr)
		pop_level(tr);
	free(tr->levels);
	free(tr);
}
