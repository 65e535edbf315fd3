// SPDX-License-Identifier: GPL-2.0-only
/*
 * hsunwind-register --dry-run: what an image holds.
 */
#include <stdio.h>
#include <string.h>

#include "image_ranges.h"
#include "json.h"
#include "show.h"

#define MAX_RANGES	8	/* of each class, without -v */

static const char *const class_names[HSUNWIND_CLASS_NR] = {
	[HSUNWIND_CLASS_C] = "c",
	[HSUNWIND_CLASS_LIBC] = "libc",
	[HSUNWIND_CLASS_RTS] = "rts",
	[HSUNWIND_CLASS_HS] = "haskell",
	[HSUNWIND_CLASS_HS_RTS] = "haskell-rts",
	[HSUNWIND_CLASS_GLUE] = "glue",
	[HSUNWIND_CLASS_GC] = "collector",
};

static const char *const kind_names[] = {
	[HSUNWIND_RULE_NONE] = "none",
	[HSUNWIND_RULE_CFA] = "cfa",
	[HSUNWIND_RULE_DEREF] = "deref",
	[HSUNWIND_RULE_PLT] = "plt",
	[HSUNWIND_RULE_SIGNAL] = "signal",
	[HSUNWIND_RULE_BOTTOM] = "bottom",
	[HSUNWIND_RULE_HS_SP] = "haskell-sp",
	[HSUNWIND_RULE_HS] = "haskell",
	[HSUNWIND_RULE_HS_END] = "haskell-end",
	[HSUNWIND_RULE_HS_SCAN] = "haskell-scan",
	[HSUNWIND_RULE_HS_SAVED] = "haskell-saved",
	[HSUNWIND_RULE_RA_REG] = "ra-reg",
	[HSUNWIND_RULE_CLONE] = "clone",
};

_Static_assert(ARRAY_SIZE(kind_names) == HSUNWIND_RULE_NR,
	       "a name for each kind of rule");

static const char *evidence_text(const struct hsu_build_info *info)
{
	switch (info->evidence) {
	case HSU_GHC_NONE:
		break;
	case HSU_GHC_STGRUN:
		return "contains the run-time system";
	case HSU_GHC_LINK_INFO:
		return "section .debug-ghc-link-info";
	case HSU_GHC_COMMENT:
		return "section .comment";
	case HSU_GHC_SONAME:
		return "its name";
	case HSU_GHC_TABLES:
		return "info tables in its code";
	case HSU_GHC_NEEDED:
		return "its libraries, and an info table";
	}
	return "none";
}

/* Access to the parts of a finished image. */
struct view {
	const struct hsunwind_image *h;
	const struct hsunwind_rule *rules;
	const u32 *pcs;
	const u16 *ids;
};

static struct view view_of(const struct hsu_file *file)
{
	const u8 *p = file->built.data;
	const struct hsunwind_image *h = file->built.data;

	return (struct view){
		.h = h,
		.rules = (const void *)(p + h->rules),
		.pcs = (const void *)(p + h->pcs),
		.ids = (const void *)(p + h->ids),
	};
}

static const struct hsunwind_rule *row_rule(const struct view *v, u32 row)
{
	return &v->rules[v->ids[row]];
}

struct print_ctx {
	unsigned int nr;
	unsigned int max;
};

static void print_range(void *ctx, u64 start, u64 end)
{
	struct print_ctx *p = ctx;

	if (p->nr++ < p->max)
		printf("%s0x%llx-0x%llx", p->nr % 3 == 1 ? "\n\t\t" : "  ",
		       (unsigned long long)start, (unsigned long long)end);
}

static void json_range(void *ctx, u64 start, u64 end)
{
	(void)ctx;
	hsu_json_open(NULL, '[');
	hsu_json_number(NULL, start);
	hsu_json_number(NULL, end);
	hsu_json_close(']');
}

static void count_kinds(const struct view *v, u64 *kinds)
{
	u32 i;

	memset(kinds, 0, HSUNWIND_RULE_NR * sizeof(*kinds));
	for (i = 0; i < v->h->nr_rows; i++)
		kinds[row_rule(v, i)->kind]++;
}

static const char *hex(const u8 *id, unsigned int len, char *out)
{
	hsu_build_id_text(id, len, out);
	return out;
}

static const char *const source_names[HSU_NAME_SOURCES] = {
	[HSU_NAME_SYMBOL] = "symbol", [HSU_NAME_DEBUG] = "debug",
	[HSU_NAME_OWNER] = "owner", [HSU_NAME_ADDRESS] = "address",
};

static void json_symbols(const struct hsu_symbols *s)
{
	size_t i;

	if (!s->path[0] && !s->problem[0])
		return;
	hsu_json_open("symbols", '{');
	hsu_json_string("path", s->path);
	hsu_json_string("problem", s->problem);
	for (i = 0; i < HSU_NAME_SOURCES; i++)
		hsu_json_number(source_names[i], s->count[i]);
	hsu_json_close('}');
}

static void text_symbols(const struct hsu_symbols *s)
{
	if (s->problem[0])
		printf("  symbols       none: %s\n", s->problem);
	if (!s->path[0])
		return;
	printf("  symbols       %s\n", s->path);
	printf("\tnames from symbols %lu, debugging information %lu,\n",
	       s->count[HSU_NAME_SYMBOL], s->count[HSU_NAME_DEBUG]);
	printf("\twho refers to it %lu, addresses %lu\n",
	       s->count[HSU_NAME_OWNER], s->count[HSU_NAME_ADDRESS]);
}

static void file_json(const struct hsu_file *file)
{
	const struct hsu_build_info *info = &file->built.info;
	struct view v = view_of(file);
	u64 kinds[HSUNWIND_RULE_NR];
	char id[2 * sizeof(info->build_id) + 1];
	u32 i;

	hsu_json_open(NULL, '{');
	hsu_json_string("path", file->path);
	hsu_json_bool("program", file->program);
	hsu_json_string("soname", info->soname);
	hsu_json_string("build_id", hex(info->build_id, info->build_id_len, id));
	hsu_json_bool("haskell", info->is_haskell);
	hsu_json_string("evidence", evidence_text(info));
	hsu_json_string("ghc", info->ghc_text);
	hsu_json_bool("ghc_known", info->ghc_known);
	hsu_json_bool("profiled", info->profiled);
	hsu_json_number("bytes", file->built.len);
	hsu_json_number("rows", v.h->nr_rows);
	hsu_json_number("rules", v.h->nr_rules);
	hsu_json_number("fdes", info->nr_fdes);
	hsu_json_number("sp_rows", info->nr_sp_rows);
	hsu_json_number("inexpressible", info->nr_inexpressible);
	hsu_json_number("damaged", info->nr_damaged);
	hsu_json_string("debug_file", info->debug_file);
	count_kinds(&v, kinds);
	hsu_json_open("kinds", '{');
	for (i = 0; i < HSUNWIND_RULE_NR; i++)
		hsu_json_number(kind_names[i], kinds[i]);
	hsu_json_close('}');
	hsu_json_open("classes", '{');
	for (i = 0; i < HSUNWIND_CLASS_NR; i++) {
		hsu_json_open(class_names[i], '{');
		hsu_json_number("bytes", info->class_bytes[i]);
		hsu_json_open("ranges", '[');
		hsu_image_ranges(&file->built, (u8)i, json_range, NULL);
		hsu_json_close(']');
		hsu_json_close('}');
	}
	hsu_json_close('}');
	hsu_json_number("none_bytes", info->none_bytes);
	hsu_json_number("gc_frame", v.h->gc_frame ? v.h->base + v.h->gc_frame : 0);
	hsu_json_number("gap_frame",
			v.h->gap_frame ? v.h->base + v.h->gap_frame : 0);
	json_symbols(&file->symbols);
	if (v.h->has_stgrun) {
		const struct hsunwind_rule *r = &v.rules[v.h->stgrun_rule];

		hsu_json_open("stgrun", '{');
		hsu_json_signed("frame", r->cfa_off);
		hsu_json_signed("rbp", r->rbp * 8);
		hsu_json_signed("rbx", r->rbx * 8);
		hsu_json_signed("r14", r->r14 * 8);
		hsu_json_open("returns", '[');
		for (i = 0; i < v.h->nr_stgrun_rets; i++)
			hsu_json_number(NULL, v.h->base + v.h->stgrun_rets[i]);
		hsu_json_close(']');
		hsu_json_close('}');
	}
	hsu_json_close('}');
}

static const char *kind_text(const struct hsu_file *file)
{
	const struct hsu_build_info *info = &file->built.info;

	if (file->fd < 0)
		return "vdso";
	if (info->soname[0])
		return "library";
	if (!info->has_interp)
		return "statically linked program";
	return "program";
}

static void text_classes(const struct hsu_file *file, bool verbose)
{
	const struct hsu_build_info *info = &file->built.info;
	char buf[16];
	u32 i;

	for (i = 0; i < HSUNWIND_CLASS_NR; i++) {
		struct print_ctx p = { .max = verbose ? ~0u : MAX_RANGES };

		if (!info->class_bytes[i])
			continue;
		printf("\t%-12s %10s", class_names[i],
		       hsu_show_bytes(info->class_bytes[i], buf));
		hsu_image_ranges(&file->built, (u8)i, print_range, &p);
		if (p.nr > p.max)
			printf("  and %u more, see -v", p.nr - p.max);
		putchar('\n');
	}
	if (info->none_bytes)
		printf("\t%-12s %10s\n", "no rule",
		       hsu_show_bytes(info->none_bytes, buf));
}

static void text_stgrun(const struct view *v)
{
	const struct hsunwind_rule *r = &v->rules[v->h->stgrun_rule];
	u32 i;

	printf("  StgRun        frame of %d bytes; rbp at CFA%+d, rbx at CFA%+d, r14 at CFA%+d;",
	       r->cfa_off, 8 * r->rbp, 8 * r->rbx, 8 * r->r14);
	if (!v->h->nr_stgrun_rets)
		printf(" no direct calls");
	for (i = 0; i < v->h->nr_stgrun_rets; i++)
		printf("%s 0x%llx", i ? "," : " returns to",
		       (unsigned long long)(v->h->base + v->h->stgrun_rets[i]));
	putchar('\n');
}

static void text_stand_ins(const struct view *v)
{
	printf("  stand-ins     ");
	if (v->h->gc_frame)
		printf("0x%llx for the garbage collector",
		       (unsigned long long)(v->h->base + v->h->gc_frame));
	else
		printf("the garbage collector was not found");
	if (v->h->gap_frame)
		printf(", 0x%llx for frames left out",
		       (unsigned long long)(v->h->base + v->h->gap_frame));
	putchar('\n');
}

static void file_text(const struct hsu_file *file, bool verbose)
{
	const struct hsu_build_info *info = &file->built.info;
	struct view v = view_of(file);
	u64 kinds[HSUNWIND_RULE_NR];
	char id[2 * sizeof(info->build_id) + 1], buf[16];
	u32 i;

	printf("%s\n", file->path);
	printf("  kind          %s\n", kind_text(file));
	if (info->is_haskell)
		printf("  GHC           %s%s%s; known by: %s\n",
		       info->ghc_text[0] ? info->ghc_text : "version unknown",
		       info->ghc_known ? "" : " (layout of the nearest known version)",
		       info->profiled ? ", profiled" : "", evidence_text(info));
	else
		printf("  GHC           not made by GHC\n");
	if (info->build_id_len)
		printf("  build-id      %s\n",
		       hex(info->build_id, info->build_id_len, id));
	printf("  image         %s; %u rows, %u rules\n",
	       hsu_show_bytes(file->built.len, buf), v.h->nr_rows,
	       v.h->nr_rules);
	count_kinds(&v, kinds);
	printf("  rows         ");
	for (i = 0; i < HSUNWIND_RULE_NR; i++)
		if (kinds[i])
			printf(" %s %llu", kind_names[i],
			       (unsigned long long)kinds[i]);
	putchar('\n');
	if (info->nr_sp_rows)
		printf("  .debug_frame  %u rows%s%s\n", info->nr_sp_rows,
		       info->debug_file[0] ? " from " : "", info->debug_file);
	if (verbose || info->nr_damaged)
		printf("  losses        %u inexpressible rows, %u damaged entries\n",
		       info->nr_inexpressible, info->nr_damaged);
	if (v.h->has_stgrun) {
		text_stgrun(&v);
		text_stand_ins(&v);
	}
	printf("  code\n");
	text_classes(file, verbose);
	text_symbols(&file->symbols);
}

void hsu_show_file(const struct hsu_file *file, const struct hsu_show *how)
{
	char buf[16];

	if (how->json)
		file_json(file);
	else if (how->verbose || file->built.info.is_haskell)
		file_text(file, how->verbose);
	else
		printf("%s: %s, %u rows, not made by GHC\n", file->path,
		       hsu_show_bytes(file->built.len, buf),
		       view_of(file).h->nr_rows);
}
