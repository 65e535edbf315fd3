/* SPDX-License-Identifier: GPL-2.0-only */
/* How the true stack is kept; for truth.c and chain.c only. */
#ifndef ORACLE_LEVELS_H
#define ORACLE_LEVELS_H

#include "truth.h"

/* Where GHC 9.0.2 keeps things (DerivedConstants.h; header of 8 bytes). */
#define TSO_STACKOBJ	(8 + 16)
#define STACK_SP	(8 + 8)

enum level_kind { LEVEL_C, LEVEL_SIGNAL, LEVEL_HASKELL };

struct frame {
	u64 slot;
	u64 ra;
};

/**
 * struct level - one C frame, or one Haskell stack
 * @kind: which.
 * @slot: where on the C stack its return address is.
 * @ra: the return address; of a signal handler, the restorer's.
 * @interrupted: the instruction that a signal came at.
 * @suspended: this Haskell stack's thread is in a safe call.
 * @stripped: frames are being taken off this Haskell stack by C code.
 * @tso: its thread, while it calls C.
 * @frames: of a Haskell stack: those that wait, outermost first.
 * @nr: their number.
 * @cap: room for so many.
 */
struct level {
	enum level_kind kind;
	u64 slot;
	u64 ra;
	u64 interrupted;
	bool suspended;
	bool stripped;
	u64 tso;
	struct frame *frames;
	size_t nr;
	size_t cap;
};

struct truth {
	struct tracee *t;
	struct level *levels;
	size_t nr, cap;
	u64 run;		/* StgRun, */
	u64 run_return;		/* and StgReturn behind it */
	u64 suspend;		/* suspendThread() */
	u64 resume;		/* resumeThread() */
	u64 strip[4];		/* functions that take frames off, 0: not known */
	bool just_resumed;	/* that was the last C function called */
	bool entered;		/* the last instruction led to an entry */
	bool returned;		/* Sp is still where a return has left it */
	struct truth_checks checks;
};

static inline struct level *top(const struct truth *tr)
{
	return &tr->levels[tr->nr - 1];
}

static inline u64 top_slot(const struct level *l)
{
	return l->nr ? l->frames[l->nr - 1].slot : ~0ull;
}

static inline bool is_reg(const ZydisDecodedOperand *op, ZydisRegister reg)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER && op->reg.value == reg;
}

/* Do frames, one next to the other, lead from a slot to another one? */
bool truth_tiles(const struct truth *tr, u64 slot, u64 until);

/* The innermost Haskell stack, or NULL. */
struct level *truth_haskell_below(const struct truth *tr);

#endif /* ORACLE_LEVELS_H */
