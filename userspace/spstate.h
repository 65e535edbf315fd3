/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the analysis of Sp share: spflow.c, hsflow.c, rtsflow.c.
 */
#ifndef HSU_SPSTATE_H
#define HSU_SPSTATE_H

#include "hsregs.h"
#include "spflow.h"
#include "unknowns.h"

#define MAX_WORDS	4096	/* of a frame */

/*
 * States: how many words lie between Sp and the caller's frame, made a positive
 * number; or one of these. In the upper half, what that is not the whole truth
 * of, which differs: see hsflow.c and rtsflow.c.
 */
#define POISONED	1	/* not known */
#define NO_CALLER	2	/* behind the outermost frame */
#define DISTANCE_0	65536

/* What a finished flow has in the upper half. */
#define EXACT		0
#define AT_LEAST	1	/* and then more words, no return addresses */
#define SAVED		2	/* Sp is saved in the thread, and may be stale */
#define PLUS_REG	3	/* this plus a register's DWARF number */

/**
 * struct sp_entry - where the number of words on the stack is not known
 * @addr: the entry.
 * @words: from Sp at entry to the caller's frame, as far as is known.
 * @continuation: else a function.
 * @related: by a jump to one, or from one to another.
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
	u64 addr;
	s32 words;
	bool continuation;
	bool related;
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

struct sp_flow;

/**
 * struct sp_rules - how a kind of code is followed
 * @flow: the paths.
 * @enter: enters a procedure everywhere, and follows it; @entry is what starts
 *	it, NULL if that is none.
 * @settle: leaves only states that are finished; NULL if all are.
 */
struct sp_rules {
	struct hsu_flow_ops flow;
	void (*enter)(struct sp_flow *f, struct hsu_entry *entry);
	void (*settle)(struct sp_flow *f);
};

extern const struct sp_rules hsu_hs_rules;	/* code that GHC has compiled */
extern const struct sp_rules hsu_rts_rules;	/* of the run-time system */

struct sp_flow {
	struct hsu_flow flow;
	const struct sp_rules *rules;
	struct hsu_targets *targets;
	u8 cls;

	struct hsu_targets far;	/* targets of jumps that may be functions */
	struct hsu_targets called;	/* and of those that look like calls */

	/* hsflow.c */
	struct slow_entry *slow;	/* by address */
	size_t nr_slow;
	size_t next_slow;
	u32 thunk;		/* number of its entry, 0: none */
	struct hsu_unknowns unknowns;
	struct hsu_hs_states states;
	struct sp_entry *entries;	/* by number of the unknown */
	size_t cap_entries;
	u32 nr_numbered;	/* continuations and functions, by address */
	struct hsu_targets *functions;	/* those without info tables */

	/* rtsflow.c */
	u64 root;		/* function that is being followed */
	struct hsu_targets stacked;	/* those with arguments on the stack */
	struct hsu_targets mistaken;	/* those that are no functions */
	struct multiple {
		u64 next;	/* instruction that it is known before */
		ZydisRegister reg;
		ZydisRegister of;
		s64 factor;
	} multiple;		/* a register that is one of another */
};

static inline struct sp_flow *sp_flow(struct hsu_flow *f)
{
	return (struct sp_flow *)f;	/* its first member */
}

static inline bool is_distance(u64 state)
{
	return (u32)state > NO_CALLER;
}

static inline s32 distance(u64 state)
{
	return (s32)((u32)state - DISTANCE_0);
}

static inline u64 state_of(u32 upper, s64 words)
{
	return (u64)upper << 32 | (u32)(DISTANCE_0 + words);
}

/**
 * hsu_saves_sp() - does an instruction save Sp in the thread's stack object?
 * @f: the flow.
 * @insn: the instruction.
 * @reg: the register that has Sp.
 *
 * From there until Sp is loaded again, the run-time system may move the stack.
 */
bool hsu_saves_sp(const struct sp_flow *f, const struct hsu_insn *insn,
		  ZydisRegister reg);

/* Finds the slow entries of functions; false if memory has run out. */
bool hsu_find_slow_entries(struct sp_flow *f);

#endif /* HSU_SPSTATE_H */
