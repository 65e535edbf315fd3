// SPDX-License-Identifier: GPL-2.0-only
/*
 * The number of words that each entry finds on the stack, from what the paths have
 * told of all of them together.
 */
#include "hsflow.h"

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

void hsu_hs_settle(struct sp_flow *f)
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
		regs = hsu_hs_regs_of(f, flow->at[i]);
		flow->at[i] = POISONED;
		if (hsu_hs_sp_words(regs, &sp) &&
		    hsu_unknowns_root(&f->unknowns, regs->unknown, &words) ==
		    HSU_ZERO)
			flow->at[i] = state_of(regs->saved ? SAVED : EXACT,
					       sp + words);
	}
}
