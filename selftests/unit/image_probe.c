// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows the rules of an image for tests: builds the image of a file and prints
 * the rule of each address that it reads, or all rows, or all ranges of a class,
 * or where in Haskell code there is none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hsu_image.h"
#include "image_build.h"

static const char *const kinds[HSUNWIND_RULE_NR] = {
	"none", "cfa", "deref", "plt", "signal", "bottom", "hs_sp", "hs",
	"hs_end", "clone", "hs_scan", "ra_reg", "hs_saved",
};

static const char *const classes[HSUNWIND_CLASS_NR] = {
	"c", "libc", "rts", "hs", "hs_rts", "glue", "gc",
};

static const char *class_of(const struct hsunwind_rule *r)
{
	return !r || r->kind == HSUNWIND_RULE_NONE ? "none" : classes[r->cls];
}

static void print_rule(__u64 addr, const struct hsunwind_rule *r)
{
	static const struct hsunwind_rule none;

	if (!r)
		r = &none;
	printf("%llx %s %s %u %d %d %d %d %d%s\n", addr, class_of(r),
	       kinds[r->kind], r->cfa_reg, r->cfa_off, r->rbp, r->rbx, r->r14,
	       r->arg, r->slots ? " from rbp" : "");
}

static void print_rows(const struct hsu_image *img)
{
	__u32 i;

	for (i = 0; i < img->hdr->nr_rows; i++)
		print_rule(img->hdr->base + img->pcs[i],
			   &img->rules[img->ids[i]]);
}

static void print_classes(const struct hsu_image *img)
{
	const char *last = "";
	__u32 i;

	for (i = 0; i < img->hdr->nr_rows; i++) {
		const char *cls = class_of(&img->rules[img->ids[i]]);

		if (strcmp(cls, last))
			printf("%llx %s\n", img->hdr->base + img->pcs[i], cls);
		last = cls;
	}
}

/* What is longer than padding and an info table must be code. */
static void print_gaps(const struct hsu_image *img)
{
	const __u32 longest = 15 + 40;
	__u32 i;

	for (i = 0; i + 1 < img->hdr->nr_rows; i++) {
		const struct hsunwind_rule *r = &img->rules[img->ids[i]];

		if (r->kind == HSUNWIND_RULE_HS &&
		    r->cls == HSUNWIND_CLASS_HS &&
		    img->pcs[i + 1] - img->pcs[i] > longest)
			printf("%llx %u\n", img->hdr->base + img->pcs[i],
			       img->pcs[i + 1] - img->pcs[i]);
	}
}

static void answer(const struct hsu_image *img)
{
	unsigned long long addr;

	while (scanf("%llx", &addr) == 1) {
		__u64 pc = addr - img->hdr->base;

		print_rule(addr, addr < img->hdr->base || pc > 0xffffffff
			   ? NULL : hsu_image_rule(img, (__u32)pc));
	}
}

int main(int argc, char **argv)
{
	unsigned int flags = 0;
	struct hsu_built built;
	struct hsu_image img;
	struct hsu_error err;
	char mode = 'a';
	const char *why;
	int ret, i;

	for (i = 1; i < argc - 1; i++) {
		if (!strcmp(argv[i], "--no-debug"))
			flags |= HSU_BUILD_NO_DEBUG;
		else if (!strcmp(argv[i], "--no-flow"))
			flags |= HSU_BUILD_NO_FLOW;
		else
			mode = argv[i][2];
	}
	if (i >= argc) {
		fputs("usage: image_probe [--no-debug] [--no-flow] [--MODE] FILE\n",
		      stderr);
		return 2;
	}
	ret = strcmp(argv[i], "vdso") ? hsu_build_file(argv[i], flags, &built, &err)
				      : hsu_build_vdso(&built, &err);
	if (ret) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	why = hsu_image_init(&img, built.data, built.len);
	if (why) {
		fprintf(stderr, "%s: %s\n", argv[i], why);
		return 1;
	}
	if (mode == 'r')
		print_rows(&img);
	else if (mode == 'c')
		print_classes(&img);
	else if (mode == 'g')
		print_gaps(&img);
	else
		answer(&img);
	hsu_built_free(&built);
	return 0;
}
