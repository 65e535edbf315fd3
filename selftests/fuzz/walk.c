// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzes the walk: any process, hostile or changing under it, has to give a chain
 * that keeps what hsu_core.h promises, within a bounded number of reads.
 *
 * With HSUNWIND_FUZZ_REPORT=1 it says at the end how walks ended, and which was
 * the dearest.
 */
#include <stdio.h>
#include <stdlib.h>

#include "bound.h"
#include "check.h"
#include "model.h"

#if __has_feature(address_sanitizer)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)		((void)(p))
#define ASAN_UNPOISON_MEMORY_REGION(p, n)	((void)(p))
#endif

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

/* Coverage that no branch shows: reasons, and how dear a walk is. */
__attribute__((section("__libfuzzer_extra_counters")))
static u8 extra[HSUNWIND_STOP_NR * 2 + 128];

static struct model *model;

struct result {
	struct hsu_walk w;
	int stop;
	u64 reads;
	u64 out[MODEL_CAP];
	u8 kinds[MODEL_CAP];
};

static struct {
	u64 walks;
	u64 stops[HSUNWIND_STOP_NR];
	u64 most_reads;
	u32 most_of;	/* max_steps of that walk */
	u32 most_steps;
} report;

static void print_report(void)
{
	u32 i;

	fprintf(stderr, "walks %llu; most reads %llu, with max_steps %u, in %u steps\n",
		report.walks, report.most_reads, report.most_of,
		report.most_steps);
	for (i = 0; i < HSUNWIND_STOP_NR; i++)
		fprintf(stderr, "%-12s %llu\n", hsu_stop_name(i),
			report.stops[i]);
}

/* Is it code of a known image? Knows nothing of how the core looks that up. */
static bool is_code(u64 addr)
{
	const struct hsu_map *m;
	u32 i, pc, rule = 0;

	for (m = model->maps; m < model->maps + model->nr_maps; m++) {
		const struct hsu_image *img = m->img;

		if (addr < m->start || addr >= m->end ||
		    (addr - m->bias) >> 32)
			continue;
		pc = (u32)(addr - m->bias);
		if (pc < img->pcs[0])
			return false;
		for (i = 0; i < img->hdr->nr_rows && img->pcs[i] <= pc; i++)
			rule = img->ids[i];
		return img->rules[rule].kind != HSUNWIND_RULE_NONE;
	}
	return false;
}

/* What an uninitialised variable would find on the stack. */
static __attribute__((noinline)) void dirty_stack(int with)
{
	u8 stack[4096];

	memset(stack, with, sizeof(stack));
	__asm__ volatile("" : : "r"(stack) : "memory");
}

static void walk(struct result *r, int pattern)
{
	u32 cap = model->in.cap;

	dirty_stack(pattern);
	ASAN_POISON_MEMORY_REGION(r->out + cap, (MODEL_CAP - cap) * 8);
	ASAN_POISON_MEMORY_REGION(r->kinds + cap, MODEL_CAP - cap);
	r->stop = model_walk(model, &r->w, r->out, r->kinds);
	ASAN_UNPOISON_MEMORY_REGION(r->out, sizeof(r->out));
	ASAN_UNPOISON_MEMORY_REGION(r->kinds, sizeof(r->kinds));
	r->reads = model->reads;
}

static void check_chain(const struct result *r)
{
	const struct hsu_walk *w = &r->w;
	u32 gaps = 0;
	u32 i;

	check(r->stop >= 0 && r->stop < HSUNWIND_STOP_NR &&
	      r->stop != HSUNWIND_STOP_NOT_64BIT,
	      "there is a reason why the walk has ended");
	check(strcmp(hsu_stop_name((u32)r->stop), "unknown") &&
	      strcmp(hsu_stop_text((u32)r->stop), "unknown"),
	      "the reason has a name");
	check(w->n <= w->cap, "the chain fits");
	check(w->n || r->stop == HSUNWIND_STOP_COMPLETE,
	      "there is a leaf");
	check(!w->n || r->out[0] == model->in.ip || w->collecting,
	      "the leaf is the interrupted instruction");
	for (i = 1; i < w->n; i++)
		check(is_code(r->out[i]) || is_code(r->out[i] - 1),
		      "an address is one of known code");
	for (i = 0; !model->no_kinds && i < w->n; i++)
		check(r->kinds[i] < HSU_NR_KINDS &&
		      (r->kinds[i] == HSU_LEAF ? !i : i || w->collecting),
		      "an entry has a kind");
	for (i = 0; !model->no_kinds && i < w->n; i++)
		gaps += r->kinds[i] == HSU_GAP;
	check(model->no_kinds || gaps == w->gapped, "a gap is one entry");
	check(w->steps <= w->max_steps + 1, "steps are bounded");
	check(r->reads <= reads_bound(w->max_steps), "reads are bounded");
	check(w->reads - r->reads <= refused_bound(w->nr_maps),
	      "a walk that may not read any more ends");
}

static void compare(const struct result *a, const struct result *b)
{
	check(a->stop == b->stop && a->w.n == b->w.n &&
	      a->w.steps == b->w.steps && a->reads == b->reads &&
	      a->w.scanned == b->w.scanned &&
	      a->w.resynced == b->w.resynced &&
	      !memcmp(a->out, b->out, a->w.n * 8),
	      "the same walk ends the same way");
}

static void count(const struct result *r)
{
	u32 magnitude = 0;

	while (r->reads >> magnitude)
		magnitude++;
	extra[r->stop * 2 + (r->w.n > 1)] = 1;
	extra[HSUNWIND_STOP_NR * 2 + magnitude] = 1;
	report.walks++;
	report.stops[r->stop]++;
	if (r->reads > report.most_reads) {
		report.most_reads = r->reads;
		report.most_of = r->w.max_steps;
		report.most_steps = r->w.steps;
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	model = model_create();
	if (getenv("HSUNWIND_FUZZ_REPORT"))
		atexit(print_report);
	return 0;
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static struct record records[MAX_RECORDS];
	static struct result first, second;

	model_build(model, records, records_read(data, len, records));
	walk(&first, 0);
	check_chain(&first);
	count(&first);
	walk(&second, 0x55);
	compare(&first, &second);
	return 0;
}
