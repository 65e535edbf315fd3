// SPDX-License-Identifier: GPL-2.0-only
/*
 * The chain: what the walk puts into it, and what it keeps if that is too much.
 *
 * A chain that is full keeps its leaf-most and its root-most entries, with one
 * that stands for those in between:
 *
 *	out[0 .. gap_at)	leaf-most entries
 *	out[gap_at]		the gap
 *	then ring_size more	a ring of the last entries so far
 *
 * As far as possible the number of root-most ones does not depend on how many
 * others fit: stacks that have their root in common have it in common when they
 * are cut, too, whatever the kernel has put in front of them.
 */
#include "hsu_walk.h"

#define LEAF_SHARE	4	/* at least a quarter of the chain is leaf-most */
#define MIN_CAP		4	/* below that, nothing is left out */

static void put(struct hsu_walk *w, u32 at, u64 addr, enum hsu_kind kind)
{
	if (w->kinds)
		w->kinds[at] = kind;
	w->out[at] = addr;
}

/* The address that stands for a gap: only the run-time system's file has one. */
static u64 gap_frame(const struct hsu_walk *w)
{
	u32 i;

	for (i = 0; i < w->nr_maps; i++) {
		const struct hsu_map *m = &w->maps[i];
		u64 addr = m->bias + m->img->hdr->gap_frame;

		if (m->img->hdr->gap_frame && addr >= m->start && addr < m->end)
			return addr;
	}
	return 0;
}

/* Makes room for the gap, and a ring of what stands behind it. */
static bool open_gap(struct hsu_walk *w)
{
	u32 most = w->cap - 1 - w->cap / LEAF_SHARE;
	u32 root = w->root ? w->root : w->cap / 2;
	u64 addr = w->cap < MIN_CAP ? 0 : gap_frame(w);

	if (!addr)
		return false;
	w->ring_size = root < most ? root : most;
	w->gap_at = w->cap - 1 - w->ring_size;
	if (w->gap_at > w->n)
		w->gap_at = w->n;
	put(w, w->gap_at, addr, HSU_GAP);
	w->ring_first = 0;
	/* all there are, if the chain is full */
	w->ring_nr = w->n == w->cap ? w->ring_size : 0;
	w->gapped = true;
	return true;
}

bool hsu_chain_leave_out(struct hsu_walk *w)
{
	hsu_chain_settle(w);
	if (!w->gapped && !open_gap(w))
		return false;
	w->ring_nr = 0;
	w->nr_recent = 0;
	return true;
}

void hsu_chain_cut(struct hsu_walk *w, u32 nr)
{
	u32 drop = w->nr - nr;

	if (nr >= w->nr)
		return;
	w->nr = nr;
	w->nr_recent = 0;
	if (drop <= w->nr_held) {
		w->nr_held -= drop;
		return;
	}
	drop -= w->nr_held;
	w->nr_held = 0;
	if (w->gapped && nr > w->gap_at) {
		w->ring_nr -= drop < w->ring_nr ? drop : w->ring_nr;
		return;
	}
	w->gapped = false;
	w->n = nr;
}

/*
 * The shortest cycle that the chain now ends with twice, in entries; 0: none.
 * @recent is a ring of the last entries.
 */
static u32 cycle(const struct hsu_walk *w)
{
	u32 len, i;

	for (len = 1; len <= HSU_MAX_CYCLE && 2 * len <= w->nr_recent; len++) {
		for (i = 1; i <= len; i++)
			if (w->recent[(w->last_recent - i) % HSU_RECENT] !=
			    w->recent[(w->last_recent - i - len) % HSU_RECENT])
				break;
		if (i > len)
			return len;
	}
	return 0;
}

static void fold(struct hsu_walk *w, u64 addr)
{
	u32 nr, len;

	w->recent[w->last_recent++ % HSU_RECENT] = addr;
	if (w->nr_recent < HSU_RECENT)
		w->nr_recent++;
	len = cycle(w);
	if (!len)
		return;
	nr = w->nr_recent - len;
	hsu_chain_cut(w, w->nr - len);
	w->last_recent -= len;
	w->nr_recent = nr;
}

static int place(struct hsu_walk *w, u64 addr, enum hsu_kind kind)
{
	if (!w->gapped && w->n == w->cap && !open_gap(w))
		return HSUNWIND_STOP_BUDGET;
	if (w->gapped) {
		put(w, w->gap_at + 1 +
		    (w->ring_first + w->ring_nr) % w->ring_size, addr, kind);
		if (w->ring_nr < w->ring_size)
			w->ring_nr++;
		else
			w->ring_first = (w->ring_first + 1) % w->ring_size;
	} else {
		put(w, w->n++, addr, kind);
	}
	w->nr++;
	if (w->flags & HSUNWIND_FOLD_RECURSION)
		fold(w, addr);
	return HSU_GO;
}

int hsu_chain_settle(struct hsu_walk *w)
{
	u32 nr = w->nr_held, i;
	int ret = HSU_GO;

	w->nr_held = 0;
	w->nr -= nr;
	for (i = 0; i < nr && ret == HSU_GO; i++)
		ret = place(w, w->held[i].addr, w->held[i].kind);
	return ret;
}

int hsu_chain_add(struct hsu_walk *w, u64 addr, enum hsu_kind kind)
{
	int ret = hsu_chain_settle(w);

	return ret == HSU_GO ? place(w, addr, kind) : ret;
}

int hsu_chain_hold(struct hsu_walk *w, u64 addr, enum hsu_kind kind)
{
	if (w->nr_held == HSU_MAX_HELD)
		return hsu_chain_add(w, addr, kind);
	w->held[w->nr_held++] = (struct hsu_held){ addr, kind };
	w->nr++;
	return HSU_GO;
}

static void exchange(struct hsu_walk *w, u32 a, u32 b)
{
	u64 addr = w->out[a];
	u8 kind;

	w->out[a] = w->out[b];
	w->out[b] = addr;
	if (!w->kinds)
		return;
	kind = w->kinds[a];
	w->kinds[a] = w->kinds[b];
	w->kinds[b] = kind;
}

static void reverse(struct hsu_walk *w, u32 from, u32 to)
{
	while (from + 1 < to)
		exchange(w, from++, --to);
}

/* The ring begins where it begins: three reversals turn it in place. */
void hsu_chain_finish(struct hsu_walk *w)
{
	u32 from = w->gap_at + 1;
	u32 to = from + w->ring_size;

	if (!w->gapped)
		return;
	if (w->ring_first) {
		reverse(w, from, from + w->ring_first);
		reverse(w, from + w->ring_first, to);
		reverse(w, from, to);
	}
	w->n = from + w->ring_nr;
}
