// SPDX-License-Identifier: GPL-2.0-only
/*
 * Haskell stacks: frame by frame by info table, over underflow frames from
 * chunk to chunk, and from the stop frame to the C code that called StgRun.
 *
 * Layouts are those of GHC with tables next to code: the info table lies
 * directly before the code that a return address points to
 * (rts/include/rts/storage/InfoTables.h, Closures.h; GHC 9.0.2).
 */
#include "hsu_walk.h"

/* Larger frames do not occur; stack chunks have 32 KiB by default. */
#define MAX_FRAME_WORDS	(1u << 16)
/* Arguments that unsafe calls may have pushed on the C stack, in 16 bytes. */
#define MAX_PUSHED	16
#define SMALL_SIZE_MASK	63

struct info_table {
	u64 layout;
	u32 type;
	s32 srt;
};

/*
 * A block never crosses a page: what lies behind may not be there. The same
 * block serves several frames, which costs one read instead of many.
 */
static bool stack_word(struct hsu_walk *w, u64 addr, u64 *value)
{
	u64 at = addr - w->block_addr;

	if (addr % 8)
		return false;
	if (at >= w->block_words * 8) {
		u32 words = (4096 - (addr & 4095)) / 8;

		if (words > HSU_BLOCK_WORDS)
			words = HSU_BLOCK_WORDS;
		w->block_words = 0;
		if (!hsu_read(w, addr, w->block, words * 8))
			return false;
		w->block_addr = addr;
		w->block_words = words;
		at = 0;
	}
	*value = w->block[at / 8];
	return true;
}

static int frame_words(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		       u64 addr, const struct info_table *info,
		       const struct hsu_frame *f, u64 *words)
{
	u64 bco;

	switch (f->type) {
	case HSU_RET_SMALL:
	case HSU_UPDATE_FRAME:
	case HSU_CATCH_FRAME:
	case HSU_ATOMICALLY_FRAME:
	case HSU_CATCH_RETRY_FRAME:
	case HSU_CATCH_STM_FRAME:
		*words = 1 + (info->layout & SMALL_SIZE_MASK);
		return HSU_GO;
	case HSU_RET_BIG:
		/* offset of the large bitmap from the code, signed */
		if (!hsu_read(w, f->ra + (s32)info->layout, words, 8))
			return HSUNWIND_STOP_READ_INFO;
		break;
	case HSU_RET_FUN:
		/* header, size, function, then the arguments */
		if (!stack_word(w, addr + 8, words))
			return HSUNWIND_STOP_READ_SP;
		if (*words < MAX_FRAME_WORDS)
			*words += 2;
		break;
	case HSU_RET_BCO:
		/* header, BCO, then what its bitmap describes */
		if (!stack_word(w, addr + 8, &bco))
			return HSUNWIND_STOP_READ_SP;
		if (!hsu_read(w, bco + ghc->bco_bitmap, words, 8))
			return HSUNWIND_STOP_BAD_SIZE;
		if (*words < MAX_FRAME_WORDS)
			*words += 1;
		break;
	case HSU_UNDERFLOW_FRAME:
	case HSU_STOP_FRAME:
		*words = 0;
		return HSU_GO;
	default:
		return HSUNWIND_STOP_BAD_FRAME;
	}
	if (*words >= MAX_FRAME_WORDS)
		return HSUNWIND_STOP_BAD_SIZE;
	*words += 1;
	return HSU_GO;
}

int hsu_frame_at(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 addr,
		 struct hsu_frame *f)
{
	const struct hsunwind_rule *rule;
	struct info_table info;
	u64 words;
	int ret;

	if (!stack_word(w, addr, &f->ra))
		return HSUNWIND_STOP_READ_SP;
	/* Code that an info table belongs to is aligned like the table. */
	if (f->ra % 8 || hsu_find(w, f->ra, NULL, &rule) != HSU_GO ||
	    !hsu_is_haskell(rule))
		return HSUNWIND_STOP_BAD_FRAME;
	if (!hsu_read(w, f->ra - sizeof(info), &info, sizeof(info)))
		return HSUNWIND_STOP_READ_INFO;
	f->type = info.type;
	f->cls = rule->cls;
	ret = frame_words(w, ghc, addr, &info, f, &words);
	f->words = words;
	return ret;
}

int hsu_next_chunk(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 addr,
		   struct hsu_chunk *chunk)
{
	u64 stack;

	if (!stack_word(w, addr + 8, &stack))
		return HSUNWIND_STOP_READ_SP;
	if (!hsu_chunk_at(w, ghc, stack, 0, chunk))
		return HSUNWIND_STOP_BAD_CHUNK;
	return HSU_GO;
}

/* Is this return address one of schedule()'s, behind its call of StgRun? */
static bool returns_to_scheduler(const struct hsu_walk *w,
				 const struct hsu_map *map, u64 ra)
{
	const struct hsunwind_image *h = map->img->hdr;
	const struct hsunwind_rule *rule;
	u32 i;

	for (i = 0; i < h->nr_stgrun_rets; i++)
		if (ra == map->bias + h->stgrun_rets[i])
			return true;
	return !h->nr_stgrun_rets &&
	       hsu_find(w, ra - 1, NULL, &rule) == HSU_GO &&
	       !hsu_is_haskell(rule);
}

/*
 * In Haskell code rsp stays what StgRun made it, 8 below a multiple of 16,
 * except that a call of C has pushed the arguments that do not fit in
 * registers, and has aligned for the call.
 */
static bool leave_stgrun(struct hsu_walk *w, const struct hsu_map *map, u64 rsp)
{
	const struct hsu_image *img = map->img;
	const struct hsunwind_rule *rule = &img->rules[img->hdr->stgrun_rule];
	u64 base = ((rsp + 7) & ~15ull) + 8;
	u32 i;

	for (i = 0; i < MAX_PUSHED; i++, base += 16) {
		u64 cfa = base + rule->cfa_off;
		u64 ra;

		if (hsu_read(w, cfa - 8, &ra, 8) &&
		    returns_to_scheduler(w, map, ra))
			return hsu_load_slots(w, rule, cfa) == HSU_GO;
	}
	return false;
}

static int step_stgrun(struct hsu_walk *w, const struct hsu_map *map, u64 rsp)
{
	u32 i;

	if (!hsu_valid(w, HSU_RSP))
		return HSUNWIND_STOP_NO_REG;
	if (map->img->hdr->has_stgrun && leave_stgrun(w, map, rsp))
		goto found;
	for (i = 0; i < w->nr_maps; i++)
		if (w->maps[i].img->hdr->has_stgrun &&
		    leave_stgrun(w, &w->maps[i], rsp))
			goto found;
	return HSUNWIND_STOP_NO_STGRUN;
found:
	w->below_haskell = true;
	/* A Haskell stack below StgRun has a call-in record of its own. */
	if (!w->incall_used)
		w->nr_incalls++;
	w->incall_used = false;
	return HSU_GO;
}

static int leave_chunk(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		       u64 *addr)
{
	struct hsu_chunk chunk;
	int ret;

	if (hsu_is_deep(w))
		return hsu_skip_chunks(w, ghc, addr);
	ret = hsu_next_chunk(w, ghc, *addr, &chunk);
	if (ret == HSU_GO)
		*addr = chunk.sp;
	return ret;
}

/* All frames of the stack from the caller's on. */
static int walk_frames(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		       u64 addr)
{
	struct hsu_frame f;
	int ret = HSU_GO;

	while (ret == HSU_GO) {
		if (w->steps++ >= w->max_steps)
			return HSUNWIND_STOP_STEPS;
		ret = hsu_frame_at(w, ghc, addr, &f);
		if (ret != HSU_GO && hsu_skip_gap(w, ghc, &addr)) {
			ret = HSU_GO;
			continue;
		}
		if (ret == HSU_GO)
			ret = hsu_emit_haskell(w, f.ra, f.cls);
		if (ret != HSU_GO || f.type == HSU_STOP_FRAME)
			return ret;
		if (f.type == HSU_UNDERFLOW_FRAME)
			ret = leave_chunk(w, ghc, &addr);
		else
			addr += f.words * 8ull;
	}
	return ret;
}

int hsu_step_haskell(struct hsu_walk *w, const struct hsu_map *map,
		     const struct hsunwind_rule *rule)
{
	const struct hsunwind_ghc *ghc = &map->img->hdr->ghc;
	u64 rsp = w->regs[HSU_RSP];
	u32 nr = w->nr;
	u64 addr;
	int ret;

	if (rule->kind == HSUNWIND_RULE_HS_END)
		return step_stgrun(w, map, rsp);
	if (rule->kind == HSUNWIND_RULE_HS_SP ||
	    rule->kind == HSUNWIND_RULE_HS_SAVED)
		rsp += rule->arg;
	w->skipped = false;
	w->squeezed = 0;
	w->incall = 0;
	ret = hsu_first_frame(w, map, rule, &addr);
	if (ret == HSU_GO)
		ret = walk_frames(w, ghc, addr);
	if (!hsu_stays_suspended(w, ghc)) {
		hsu_chain_cut(w, nr);
		return HSUNWIND_STOP_BAD_FRAME;
	}
	return ret == HSU_GO ? step_stgrun(w, map, rsp) : ret;
}
