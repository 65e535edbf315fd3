/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the analysis of code that GHC has compiled share: hsflow.c,
 * hsentry.c, hsfunctions.c, hssolve.c.
 */
#ifndef HSU_HSFLOW_H
#define HSU_HSFLOW_H

#include "spstate.h"

/* A state that is none of the special ones is the number of a set of registers. */
#define HSU_HS_FIRST	(NO_CALLER + 1)

static inline const struct hsu_hs_regs *
hsu_hs_regs_of(const struct sp_flow *f, u64 state)
{
	return &f->states.v[state - HSU_HS_FIRST];
}

/* The state of a set of registers. */
u64 hsu_hs_put(struct sp_flow *f, const struct hsu_hs_regs *regs);

/* Words from Sp up to the caller's frame, if known. */
static inline bool hsu_hs_sp_words(const struct hsu_hs_regs *regs, s32 *words)
{
	*words = regs->saved ? regs->sp : regs->words[HSU_GPR_RBP];
	return regs->saved || regs->address >> HSU_GPR_RBP & 1;
}

/* The number of a continuation or function of this procedure, 0: none is there. */
u32 hsu_hs_number_at(const struct sp_flow *f, u64 addr);

/* Is there an info table in front of any address of the file? */
bool hsu_hs_entry_at(const struct sp_flow *f, u64 addr,
		     struct hsu_entry *entry);

/*
 * Words of the frame that returns to @addr, or 0. The run-time system has some for
 * its callers to push, to apply a function that is not known to more arguments.
 */
s32 hsu_hs_frame_at(const struct sp_flow *f, u64 addr);

/* Sees to it that @entry counts all arguments on the stack, if they can be known. */
void hsu_hs_count_arguments(struct sp_flow *f, struct hsu_entry *entry);

/* Enters a procedure everywhere; @entry is what starts it, NULL if that is none. */
void hsu_hs_enter(struct sp_flow *f, struct hsu_entry *entry);

/* Are there more functions without info tables than were known? */
bool hsu_hs_learn_functions(struct sp_flow *f);

/* Puts distances into the states instead of unknowns. */
void hsu_hs_settle(struct sp_flow *f);

#endif /* HSU_HSFLOW_H */
