// SPDX-License-Identifier: GPL-2.0-only
/* What the levels mean where the thread is: its chain, and what it does. */
#include "levels.h"

#include <string.h>

#define STGRETURN_BYTES	45

struct level *truth_haskell_below(const struct truth *tr)
{
	size_t i;

	for (i = tr->nr; i-- > 0;)
		if (tr->levels[i].kind == LEVEL_HASKELL)
			return &tr->levels[i];
	return NULL;
}

bool truth_tiles(const struct truth *tr, u64 slot, u64 until)
{
	u64 ra, words;

	while (slot < until) {
		if (!frame_words(tr->t, slot, &ra, &words) || !words)
			return false;
		slot += words * 8;
	}
	return slot == until;
}

/* Between Haskell functions, with the lazy binding of shared objects. */
static bool is_linker(const struct code *c)
{
	return (c->section && !strncmp(c->section, ".plt", 4)) ||
	       !strncmp(c->name, "_dl_runtime_resolve", 19);
}

/* The handler has returned, and its return address is used up. */
static bool in_restorer(const struct truth *tr, size_t level)
{
	const struct level *l = &tr->levels[level];

	return level + 1 == tr->nr && l->kind == LEVEL_SIGNAL &&
	       tr->t->regs.rsp > l->slot;
}

/*
 * An exception takes frames off while C code looks for its handler. Where this
 * throws at itself, what is younger than a frame that has been written over is
 * gone; else, what is younger than where the thread's Sp has been set to.
 */
static size_t not_stripped(const struct truth *tr, const struct level *l)
{
	u64 ra, words, stack, sp;
	size_t i, nr = l->nr;

	if (!l->stripped)
		return nr;
	if (tracee_word(tr->t, l->tso + TSO_STACKOBJ, &stack) &&
	    tracee_word(tr->t, stack + STACK_SP, &sp) && nr &&
	    sp <= l->frames[0].slot)
		while (nr && l->frames[nr - 1].slot < sp)
			nr--;
	for (i = 0; i < nr; i++)
		if (!frame_words(tr->t, l->frames[i].slot, &ra, &words) ||
		    (ra != l->frames[i].ra &&
		     code_at(tr->t, ra)->frame != UPDATE_FRAME))
			return i;
	return nr;
}

static bool same_function(struct tracee *t, u64 a, u64 b)
{
	const char *name = code_at(t, a)->name;
	size_t len = strcspn(name, ".");

	return name[0] != '?' && !strncmp(code_at(t, b)->name, name, len);
}

/*
 * When a C++ exception is caught, libgcc writes the address of the handler over
 * a return address. The function with the handler is the caller then, and those
 * between are gone. Returns the level that this function has called.
 */
static size_t handler_level(const struct truth *tr, size_t level, u64 handler)
{
	size_t i = level + 1;

	while (i-- > 0 && tr->levels[i].kind == LEVEL_C)
		if (same_function(tr->t, tr->levels[i].ra, handler))
			return i;
	return level;
}

/*
 * libgcc's way to a handler: "mov %rcx,%rsp; pop %rcx; jmp *%rcx". On all three
 * the handler's function is the caller. Returns the handler, and from where on
 * there are other levels.
 */
static u64 jumps_to_handler(const struct truth *tr, u64 *above)
{
	const struct user_regs_struct *r = &tr->t->regs;
	const struct code *c = code_at(tr->t, r->rip);
	u64 next = c->addr + c->insn.length, handler = 0;

	*above = r->rsp;
	if (c->insn.mnemonic == ZYDIS_MNEMONIC_MOV &&
	    is_reg(&c->op[0], ZYDIS_REGISTER_RSP) &&
	    is_reg(&c->op[1], ZYDIS_REGISTER_RCX)) {
		*above = r->rcx + 8;
		c = code_at(tr->t, next);
		next = c->addr + c->insn.length;
	} else {
		*above += 8;
	}
	if (c->insn.mnemonic == ZYDIS_MNEMONIC_POP) {
		tracee_word(tr->t, *above - 8, &handler);
		c = code_at(tr->t, next);
	} else {
		*above -= 8;
		handler = r->rcx;
	}
	if (c->insn.mnemonic != ZYDIS_MNEMONIC_JMP ||
	    !is_reg(&c->op[0], ZYDIS_REGISTER_RCX))
		return 0;
	return handler;
}

size_t truth_chain(const struct truth *tr, struct caller *chain, size_t cap)
{
	size_t level, i, n = 0;
	u64 ra = 0, above = 0;

	if (top(tr)->kind == LEVEL_C)
		ra = jumps_to_handler(tr, &above);
	if (ra)
		chain[n++] = (struct caller){ ra, false };
	else
		above = 0;
	for (level = tr->nr; level-- > 0;) {
		const struct level *l = &tr->levels[level];

		if (l->kind == LEVEL_C && l->slot < above)
			continue;

		if (l->kind != LEVEL_HASKELL) {
			ra = l->ra;
			if (l->kind == LEVEL_C && l->slot &&
			    tracee_word(tr->t, l->slot, &ra) && ra != l->ra)
				level = handler_level(tr, level, ra);
			if (n < cap && !in_restorer(tr, level))
				chain[n++] = (struct caller){ ra, false };
			if (n < cap && l->kind == LEVEL_SIGNAL)
				chain[n++] = (struct caller){ l->interrupted, false };
			continue;
		}
		for (i = not_stripped(tr, l); i-- > 0 && n < cap; n++)
			chain[n] = (struct caller){ l->frames[i].ra, true };
	}
	return n;
}

static enum state haskell_state(const struct truth *tr, const struct code *c)
{
	u64 sp = tr->t->regs.rbp, caller = top_slot(top(tr));
	static const struct {
		const char *start;
		enum state state;
	} rts[] = {
		{ "stg_ap_", STATE_APPLY },
		{ "stg_", STATE_RTS_HASKELL },
		{ "__stg_", STATE_RTS_HASKELL },
	};
	size_t i;

	if (is_linker(c))
		return STATE_LINKER;
	for (i = 0; i < ARRAY_SIZE(rts); i++)
		if (!strncmp(c->name, rts[i].start, strlen(rts[i].start)))
			return rts[i].state;
	if (tr->entered)
		return STATE_ENTRY;
	if (tr->returned)
		return STATE_RETURNED;
	if (sp == caller)
		return STATE_SP_AT_CALLER;
	return truth_tiles(tr, sp, caller) ? STATE_OWN_FRAME :
		STATE_SP_MOVED;
}

enum state truth_state(const struct truth *tr)
{
	const struct code *c = code_at(tr->t, tr->t->regs.rip);
	const struct level *h;
	size_t i;

	if (c->addr >= tr->run && c->addr < tr->run_return + STGRETURN_BYTES)
		return STATE_STGRUN;
	if (top(tr)->kind == LEVEL_HASKELL)
		return haskell_state(tr, c);
	for (i = tr->nr; i-- > 0 && tr->levels[i].kind != LEVEL_HASKELL;)
		if (tr->levels[i].kind == LEVEL_SIGNAL)
			return STATE_SIGNAL;
	if (tr->entered)
		return STATE_C_ENTRY;
	if (c->insn.meta.category == ZYDIS_CATEGORY_RET)
		return STATE_C_END;
	if (c->insn.meta.category == ZYDIS_CATEGORY_PUSH ||
	    c->insn.meta.category == ZYDIS_CATEGORY_POP ||
	    is_reg(&c->op[0], ZYDIS_REGISTER_RSP))
		return STATE_C_FRAME;
	h = truth_haskell_below(tr);
	if (!h)
		return STATE_C_RTS;
	return h->suspended ? STATE_C_SUSPENDED : STATE_C_UNSAFE;
}

