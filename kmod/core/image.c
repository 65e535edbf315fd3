// SPDX-License-Identifier: GPL-2.0-only
/*
 * Images: validation, once and in full, and look-up.
 *
 * An image comes from user space and is hostile until it has passed
 * hsu_image_init(). After that no look-up checks anything again.
 */
#include "hsu_core.h"
#include "hsu_image.h"

/* Rules must not carry offsets that could wrap an address around. */
#define MAX_CFA_OFF	(1 << 28)
#define MAX_GHC_OFF	4096

static bool array_ok(const struct hsunwind_image *h, u32 off, u32 nr, u32 size)
{
	return off % 8 == 0 && off >= h->header_size && off <= h->size &&
	       (u64)nr * size <= h->size - off;
}

static bool is_haskell_class(u8 cls)
{
	return cls == HSUNWIND_CLASS_HS || cls == HSUNWIND_CLASS_HS_RTS;
}

static const char *check_rule(const struct hsunwind_rule *r)
{
	bool hs = hsu_is_haskell(r);

	if (r->kind >= HSUNWIND_RULE_NR)
		return "rules: unknown kind";
	if (r->cls >= HSUNWIND_CLASS_NR)
		return "rules: unknown class";
	if (r->kind != HSUNWIND_RULE_NONE && hs != is_haskell_class(r->cls))
		return "rules: class does not fit the kind";
	if (r->cfa_reg >= HSU_NR_REGS)
		return "rules: no such register";
	if (r->slots >= HSUNWIND_SLOTS_NR)
		return "rules: unknown base of slots";
	if (r->cfa_off > MAX_CFA_OFF || r->cfa_off < -MAX_CFA_OFF)
		return "rules: cfa_off is out of range";
	if ((r->kind == HSUNWIND_RULE_HS_SP ||
	     r->kind == HSUNWIND_RULE_HS_SAVED ||
	     r->kind == HSUNWIND_RULE_HS_SCAN) && (r->cfa_off % 8 || r->arg % 8))
		return "rules: Haskell offset is not a multiple of 8";
	if (r->kind == HSUNWIND_RULE_HS_SCAN && r->arg && r->arg != 8)
		return "rules: search by a register that has no words";
	if (r->kind == HSUNWIND_RULE_RA_REG &&
	    (r->arg < 0 || r->arg >= HSU_NR_REGS))
		return "rules: no such register for the return address";
	return NULL;
}

static const char *check_segs(const struct hsunwind_image *h,
			      const struct hsunwind_seg *segs)
{
	u64 end = h->base;
	u32 i;

	for (i = 0; i < h->nr_segs; i++) {
		const struct hsunwind_seg *s = &segs[i];

		if (!s->size || s->vaddr < end)
			return "segs: empty, overlapping or below base";
		end = s->vaddr + s->size;
		if (end < s->vaddr || end - h->base > 0xffffffffu)
			return "segs: beyond 4 GiB";
		if (s->offset + s->size < s->offset)
			return "segs: offset wraps around";
	}
	return NULL;
}

static const char *check_ghc(const struct hsunwind_ghc *g)
{
	const u16 offs[] = {
		g->header, g->reg_tso, g->tso_stackobj, g->stack_size,
		g->stack_sp, g->stack_stack, g->bco_bitmap, g->task_incall[0],
		g->task_incall[1], g->incall_suspended, g->incall_task,
		g->incall_prev, g->task_cap, g->cap_reg, g->reg_task,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(offs); i++)
		if (offs[i] % 4 || offs[i] >= MAX_GHC_OFF)
			return "ghc: offset out of range";
	if (g->version && (g->stack_stack > 256 || g->stack_size > 256 ||
			   g->stack_sp > 256))
		return "ghc: StgStack is too large";
	return NULL;
}

static const char *check_rows(const struct hsunwind_image *h, const u32 *pcs,
			      const u16 *ids, const struct hsunwind_rule *rules)
{
	u32 i;

	for (i = 0; i < h->nr_rows; i++) {
		if (i && pcs[i] <= pcs[i - 1])
			return "pcs: not increasing";
		if (ids[i] >= h->nr_rules)
			return "ids: no such rule";
	}
	if (rules[ids[h->nr_rows - 1]].kind != HSUNWIND_RULE_NONE)
		return "ids: the last row does not end the table";
	return NULL;
}

/* An address that may be put into a chain must be in code of these classes. */
static bool frame_ok(const struct hsu_image *img, u32 addr, u32 classes)
{
	const struct hsunwind_rule *r = addr ? hsu_image_rule(img, addr) : NULL;

	return !addr || (r && r->kind != HSUNWIND_RULE_NONE &&
			 classes & 1u << r->cls);
}

static const char *check_frames(const struct hsu_image *img)
{
	if (!frame_ok(img, img->hdr->gc_frame, 1u << HSUNWIND_CLASS_GC |
					       1u << HSUNWIND_CLASS_RTS))
		return "gc_frame: not in the collector";
	if (!frame_ok(img, img->hdr->gap_frame, 1u << HSUNWIND_CLASS_HS_RTS))
		return "gap_frame: not in the run-time system's Haskell code";
	return NULL;
}

static const char *check_stgrun(const struct hsunwind_image *h,
				const struct hsunwind_rule *rules)
{
	if (h->has_stgrun > 1)
		return "has_stgrun: neither 0 nor 1";
	if (h->nr_stgrun_rets > HSUNWIND_MAX_STGRUN_RETS)
		return "nr_stgrun_rets: too many";
	if (!h->has_stgrun)
		return NULL;
	if (h->stgrun_rule >= h->nr_rules ||
	    rules[h->stgrun_rule].kind != HSUNWIND_RULE_CFA ||
	    rules[h->stgrun_rule].cfa_reg != HSU_RSP)
		return "stgrun_rule: not a rule with a CFA from rsp";
	if (rules[h->stgrun_rule].cfa_off < 8 ||
	    rules[h->stgrun_rule].cfa_off % 8)
		return "stgrun_rule: impossible frame size";
	return NULL;
}

const char *hsu_image_init(struct hsu_image *img, const void *data, size_t len)
{
	const struct hsunwind_image *h = data;
	const char *err;
	u32 i;

	if (len < sizeof(*h))
		return "size: shorter than the header";
	if (h->magic != HSUNWIND_IMAGE_MAGIC)
		return "magic: not an hsunwind image";
	if (h->version != HSUNWIND_IMAGE_VERSION)
		return "version: unknown image version";
	if (h->header_size != sizeof(*h))
		return "header_size: does not fit the version";
	if (h->size != len || len % 8 || len > HSUNWIND_MAX_IMAGE_SIZE)
		return "size: not the length of the image";
	if (h->flags)
		return "flags: unknown flag";
	if (h->base % 4096 || h->base >> 47)
		return "base: not a page-aligned user address";
	if (!h->nr_segs || h->nr_segs > HSUNWIND_MAX_SEGS ||
	    !array_ok(h, h->segs, h->nr_segs, sizeof(struct hsunwind_seg)))
		return "segs: outside the image";
	if (!h->nr_rules || h->nr_rules > HSUNWIND_MAX_RULES ||
	    !array_ok(h, h->rules, h->nr_rules, sizeof(struct hsunwind_rule)))
		return "rules: outside the image";
	if (!h->nr_rows || h->nr_rows > HSUNWIND_MAX_ROWS ||
	    !array_ok(h, h->pcs, h->nr_rows, sizeof(u32)))
		return "pcs: outside the image";
	if (!array_ok(h, h->ids, h->nr_rows, sizeof(u16)))
		return "ids: outside the image";

	img->hdr = h;
	img->segs = data + h->segs;
	img->rules = data + h->rules;
	img->pcs = data + h->pcs;
	img->ids = data + h->ids;

	err = check_segs(h, img->segs);
	for (i = 0; !err && i < h->nr_rules; i++)
		err = check_rule(&img->rules[i]);
	if (!err)
		err = check_rows(h, img->pcs, img->ids, img->rules);
	if (!err)
		err = check_stgrun(h, img->rules);
	if (!err)
		err = check_frames(img);
	if (!err)
		err = check_ghc(&h->ghc);
	return err;
}

bool hsu_image_bias(const struct hsu_image *img, u64 start, u64 offset,
		    u64 *bias)
{
	u32 i;

	for (i = 0; i < img->hdr->nr_segs; i++) {
		const struct hsunwind_seg *s = &img->segs[i];

		/* The loader maps whole pages around the segment. */
		if (offset < s->offset - s->offset % 4096 ||
		    offset >= s->offset + s->size)
			continue;
		*bias = start - (s->vaddr - s->offset + offset) +
			img->hdr->base;
		return true;
	}
	return false;
}

const struct hsunwind_rule *hsu_image_rule(const struct hsu_image *img, u32 pc)
{
	const u32 *pcs = img->pcs;
	u32 lo = 0;
	u32 hi = img->hdr->nr_rows;

	if (pc < pcs[0])
		return NULL;
	/* pcs[lo] <= pc, and pc < pcs[hi] as far as hi exists */
	while (hi - lo > 1) {
		u32 mid = lo + (hi - lo) / 2;

		if (pcs[mid] <= pc)
			lo = mid;
		else
			hi = mid;
	}
	return &img->rules[img->ids[lo]];
}
