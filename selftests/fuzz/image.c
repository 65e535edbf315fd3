// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzes the validation of images: what it accepts must hold for the look-ups,
 * which check nothing, and for a walk of a process that is all made up.
 */
#include <stdlib.h>

#include "bound.h"
#include "check.h"
#include "hsu_image.h"
#include "image_ops.h"
#include "records.h"
#include "../unit/world.h"

#define MAX_STEPS	50
#define CHAIN		64

int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

/* An image that is damaged, in memory of exactly its length. */
struct image {
	u8 *data;
	size_t len;		/* as it is */
	size_t told;		/* as hsu_image_init() is told */
	u32 look;
	u64 start, offset;	/* of a mapping */
};

static u64 reads;

static void put(struct image *im, size_t at, const void *value, size_t len)
{
	if (at <= im->len && len <= im->len - at)
		memcpy(im->data + at, value, len);
}

static void apply(struct image *im, const struct hsunwind_image *h,
		  const struct record *r)
{
	u64 shifted = (u64)(s64)r->c << (r->b / 4 % 64);
	u32 word = 0;

	switch ((enum image_op)(r->op % IMAGE_NR)) {
	case IMAGE_head8:
		put(im, r->b % sizeof(*h), &r->c, 1);
		return;
	case IMAGE_head16:
		put(im, r->b % (sizeof(*h) / 2) * 2, &r->c, 2);
		return;
	case IMAGE_head32:
		put(im, r->b % (sizeof(*h) / 4) * 4, &r->c, 4);
		return;
	case IMAGE_add32:
		memcpy(&word, im->data + r->b % (sizeof(*h) / 4) * 4, 4);
		word += (u32)r->c;
		put(im, r->b % (sizeof(*h) / 4) * 4, &word, 4);
		return;
	case IMAGE_seg:
		put(im, h->segs + r->a * sizeof(struct hsunwind_seg) +
		    r->b % 4 * 8, &shifted, 8);
		return;
	case IMAGE_rule:
		put(im, h->rules + r->a * sizeof(struct hsunwind_rule) +
		    r->b % sizeof(struct hsunwind_rule), &r->c, 1);
		return;
	case IMAGE_pc:
		put(im, h->pcs + r->b % 64 * 4, &r->c, 4);
		return;
	case IMAGE_id:
		put(im, h->ids + r->b % 64 * 2, &r->c, 2);
		return;
	case IMAGE_ghc:
		put(im, offsetof(struct hsunwind_image, ghc) +
		    r->b % (sizeof(h->ghc) / 2) * 2, &r->c, 2);
		return;
	case IMAGE_len:
		im->told = (size_t)((s64)im->len + r->c);
		if (im->told > im->len)
			im->told = im->len;
		word = (u32)im->told;
		if (r->a)
			put(im, offsetof(struct hsunwind_image, size), &word, 4);
		return;
	case IMAGE_look:
		im->look = (u32)r->c;
		return;
	case IMAGE_bias:
		im->start = (u64)(s64)r->c << 12;
		im->offset = r->b;
		return;
	case IMAGE_NR:
		return;
	}
}

/* A word of the made-up process: code of the image, mostly, or a small number. */
static bool made_up(void *ctx, u64 addr, void *dst, u32 len)
{
	const struct hsu_map *map = ctx;
	u8 *to = dst;
	u32 i;

	reads++;
	for (i = 0; i < len; i += 8) {
		u64 x = (addr + i) * 0x9e3779b97f4a7c15ull;
		const struct hsu_image *img = map->img;
		u64 word = x >> 60;

		if (x >> 63)
			word = map->bias +
			       img->pcs[(x >> 32) % img->hdr->nr_rows] +
			       (x & 0x38);
		else if (x >> 62)
			word = addr + (x >> 56 & 0xf8);
		if (!(x >> 58 & 7))
			return false;
		memcpy(to + i, &word, len - i < 8 ? len - i : 8);
	}
	return true;
}

static void walk(const struct hsu_image *img, u32 look, u64 bias)
{
	struct hsu_map map = { .bias = bias, .end = ~0ull, .img = img };
	u64 out[CHAIN];
	struct hsu_walk w = {
		.env = { made_up, &map }, .maps = &map, .nr_maps = 1,
		.ip = bias + look, .max_steps = MAX_STEPS, .out = out,
		.cap = CHAIN,
	};
	int i;

	for (i = 0; i < HSU_NR_REGS; i++)
		w.regs[i] = 0x10000ull * (u64)(i + 1);
	w.regs[HSU_RSP] += 8;
	reads = 0;
	check(hsu_walk(&w) < HSUNWIND_STOP_NR, "the walk ends");
	check(reads <= reads_bound(MAX_STEPS), "reads are bounded");
}

static void look_up(const struct hsu_image *img, u32 pc)
{
	const struct hsunwind_rule *rule = hsu_image_rule(img, pc);

	if (!rule) {
		check(pc < img->pcs[0], "only the first row is behind it");
		return;
	}
	check(rule >= img->rules &&
	      rule < img->rules + img->hdr->nr_rules,
	      "a rule is one of the image");
	check(rule->kind < HSUNWIND_RULE_NR &&
	      rule->cls < HSUNWIND_CLASS_NR &&
	      rule->cfa_reg < HSU_NR_REGS,
	      "a rule is one that the walk knows");
}

static void check_image(const struct image *im)
{
	struct hsu_image img;
	u64 bias = 0, again;
	const char *why;
	u32 i;

	why = hsu_image_init(&img, im->data, im->told);
	if (why) {
		check(strchr(why, ':'), "a field is named");
		return;
	}
	check(img.hdr->size == im->told, "an image is as long as told");
	for (i = 0; i < img.hdr->nr_rows; i++) {
		look_up(&img, img.pcs[i]);
		look_up(&img, img.pcs[i] - 1);
	}
	check(img.rules[img.ids[i - 1]].kind == HSUNWIND_RULE_NONE,
	      "code ends");
	look_up(&img, im->look);
	look_up(&img, 0);
	look_up(&img, ~0u);
	if (hsu_image_bias(&img, im->start, im->offset, &bias))
		check(hsu_image_bias(&img, im->start + 4096, im->offset,
				     &again) && again == bias + 4096,
		      "an image moves with its mapping");
	walk(&img, im->look, bias);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static struct record records[MAX_RECORDS];
	static struct world *world;
	const struct hsunwind_image *good;
	struct image im = { 0 };
	u32 nr, i;

	if (!world)
		world = world_create();
	good = world->image;
	im.len = good->size;
	im.told = im.len;
	im.data = malloc(im.len);
	check(im.data, "there is memory");
	memcpy(im.data, good, im.len);
	nr = records_read(data, len, records);
	for (i = 0; i < nr; i++)
		apply(&im, good, &records[i]);
	/* What is behind the told length is not there. */
	im.data = realloc(im.data, im.told ? im.told : 1);
	check_image(&im);
	free(im.data);
	return 0;
}
