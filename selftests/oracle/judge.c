// SPDX-License-Identifier: GPL-2.0-only
#include "judge.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptrace.h"
#include "stack_maps.h"

#define MAX_CHAIN	65536
#define MAX_PLACES	4096	/* of code with a chain that is not exact */
#define SHOWN_PLACES	25
#define SHOWN_FRAMES	6	/* around the first difference */

enum verdict { IS_EXACT, IS_SHORTER, IS_WRONG, VERDICT_NR };

static const char *const source_name[] = { "as-is", "stripped" };
static const char *const verdict_name[] = { "exact", "shorter", "wrong" };

#define STATE_TEXT(sym, text) text,
static const char *const state_text[] = { STATES(STATE_TEXT) };

/* An instruction that is not exact: where, how and how often. */
struct place {
	u64 addr;
	enum source source;
	enum verdict verdict;
	enum hsunwind_stop stop;
	enum state state;
	unsigned long count;
	char difference[200];
};

struct judge {
	struct tracee *t;
	struct hsu_process_maps maps[SOURCE_NR];
	unsigned int nr_sources;
	unsigned long count[SOURCE_NR][STATE_NR][VERDICT_NR];
	unsigned long scanned[SOURCE_NR];
	bool list_scanned;
	bool knows_collector;	/* by name: libraries may have no symbols */
	bool collecting;	/* what the last walk said */
	unsigned long differ;	/* the sources, among themselves */
	struct place places[MAX_PLACES];
	size_t nr_places;
	struct caller truth[MAX_CHAIN];
	u64 found[SOURCE_NR][MAX_CHAIN];
	size_t nr_found[SOURCE_NR];
};

struct judge *judge_create(struct tracee *t, const char *stripped,
			   bool list_scanned)
{
	struct judge *j = calloc(1, sizeof(*j));
	struct hsu_error error;
	unsigned int s;

	if (!j)
		err(1, "no memory");
	j->t = t;
	j->list_scanned = list_scanned;
	j->knows_collector = code_symbol("GarbageCollect");
	j->nr_sources = stripped ? SOURCE_NR : 1;
	for (s = 0; s < j->nr_sources; s++) {
		j->maps[s].pid = t->pid;
		j->maps[s].folder = s == SOURCE_STRIPPED ? stripped : NULL;
		if (hsu_maps_read(&j->maps[s], &error))
			errx(1, "%s", error.msg);
		if (!hsu_maps_have_haskell(&j->maps[s]))
			errx(1, "the program maps no file made by GHC");
	}
	for (s = 0; s < j->maps[0].nr; s++)
		tracee_keep(t, j->maps[0].maps[s].start & ~4095ull,
			    j->maps[0].maps[s].end);
	return j;
}

static bool starts_with(const char *s, const char *start)
{
	return !strncmp(s, start, strlen(start));
}

/*
 * Frames of the run-time system's Cmm code are not shown by default, and may
 * change while a thread is suspended: two update frames become one. Code made
 * at run time, adjustors, is never shown, nor what these return through. Names
 * tell, so that the answer of what is tested is not taken for granted.
 */
static bool is_visible(struct judge *j, u64 addr)
{
	const struct code *c = code_at(j->t, addr);

	if (!c->section || starts_with(c->name, "obscure_ccall") ||
	    (!c->is_c && (starts_with(c->name, "stg_") ||
			  starts_with(c->name, "__stg_"))))
		return false;
	return c->is_c || c->frame == FRAME_NONE ||
		(c->frame >= RET_BCO && c->frame <= RET_FUN);
}

static size_t keep_visible(struct judge *j, u64 *chain, size_t n)
{
	size_t i, kept = 0;

	for (i = 0; i < n; i++)
		if (is_visible(j, chain[i]))
			chain[kept++] = chain[i];
	return kept;
}

static size_t get_truth(struct judge *j, const struct truth *truth)
{
	size_t n = truth_chain(truth, j->truth, MAX_CHAIN), i, kept = 0;

	for (i = 0; i < n; i++)
		if (is_visible(j, j->truth[i].ra))
			j->truth[kept++] = j->truth[i];
	return kept;
}

static enum hsunwind_stop walk(struct judge *j, enum source s, u32 flags,
			       u64 *found, size_t *nr, bool *scanned)
{
	static struct hsu_walk w;
	enum hsunwind_stop stop;

	memset(&w, 0, sizeof(w));
	w.env.read = tracee_read;
	w.env.ctx = j->t;
	w.maps = j->maps[s].maps;
	w.nr_maps = j->maps[s].nr;
	w.ip = j->t->regs.rip;
	hsu_dwarf_regs(&j->t->regs, w.regs);
	w.flags = flags;
	w.max_steps = HSU_MAX_STEPS;
	w.out = found;
	w.cap = MAX_CHAIN;
	stop = hsu_walk(&w);
	*scanned = w.scanned > 0;
	j->collecting = w.collecting;
	/* The first one is the instruction itself. */
	*nr = w.n - 1;
	memmove(found, found + 1, (w.n - 1) * sizeof(u64));
	return stop;
}

/* Is this code of a function that does nothing but collect? */
static bool is_collector(struct judge *j, u64 addr)
{
	static const char *const names[] = {
		"GarbageCollect", "scheduleDoGC", "gcWorkerThread",
		"nonmovingCollect", "nonmovingMark", "nonmovingMark_",
		"nonmovingConcurrentMark",
	};
	const char *name = code_at(j->t, addr)->name;
	size_t i, len;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		len = strlen(names[i]);
		if (starts_with(name, names[i]) && (!name[len] || name[len] == '.'))
			return true;
	}
	return false;
}

/*
 * How many true callers there are in front of the collector, what a finalizer
 * does; all if there is none.
 */
static size_t before_collector(struct judge *j, size_t n, bool *collecting)
{
	size_t i;

	*collecting = is_collector(j, j->t->regs.rip);
	for (i = 0; i < n && !*collecting; i++)
		*collecting = is_collector(j, j->truth[i].ra - 1);
	return *collecting && i ? i - 1 : i;
}

/*
 * What is shown by default is the true chain without some C frames: those of the
 * run-time system below Haskell, and start-up code. Or, for all from the
 * collector on, one frame, which is the first of all if there are no others.
 */
static bool default_is_right(struct judge *j, enum source s, size_t nr_true)
{
	static u64 found[MAX_CHAIN];
	bool scanned, collecting;
	size_t nr, i, at = 0;

	walk(j, s, 0, found, &nr, &scanned);
	if (j->knows_collector) {
		nr_true = before_collector(j, nr_true, &collecting);
		if (collecting != j->collecting)
			return false;
	}
	if (j->collecting && !nr)
		return true;
	nr -= j->collecting;
	for (i = 0; i < nr_true; i++) {
		if (at < nr && found[at] == j->truth[i].ra)
			at++;
		else if (j->truth[i].haskell)
			return false;
	}
	return at == nr;
}

/* Of a chain, or of the truth. */
static void describe(struct judge *j, const u64 *chain, size_t n, size_t from,
		     char *text, size_t cap)
{
	size_t i, at = 0;

	for (i = from; i < n && i < from + SHOWN_FRAMES && at < cap; i++) {
		u64 ra = chain ? chain[i] : j->truth[i].ra;
		const struct code *c = code_at(j->t, ra);

		at += snprintf(text + at, cap - at, " %.40s+%#llx", c->name,
			       (unsigned long long)c->offset);
	}
	if (i == n && at < cap)
		snprintf(text + at, cap - at, " end");
}

static void note_place(struct judge *j, enum source s, enum verdict v,
		       enum hsunwind_stop stop, enum state state,
		       size_t n, size_t same)
{
	u64 ip = j->t->regs.rip;
	struct place *p;
	char found[160] = "", truth[160] = "";
	size_t i;

	for (i = 0; i < j->nr_places; i++) {
		p = &j->places[i];
		if (p->addr == ip && p->source == s && p->verdict == v &&
		    p->stop == stop) {
			p->count++;
			return;
		}
	}
	if (j->nr_places == MAX_PLACES)
		return;
	p = &j->places[j->nr_places++];
	p->addr = ip;
	p->source = s;
	p->verdict = v;
	p->stop = stop;
	p->state = state;
	p->count = 1;
	if (v == IS_EXACT)
		same = 0;
	describe(j, j->found[s], j->nr_found[s], same, found, sizeof(found));
	describe(j, NULL, n, same, truth, sizeof(truth));
	snprintf(p->difference, sizeof(p->difference),
		 "frame %zu: found%.80s, true%.80s", same, found, truth);
}

static enum verdict judge_walk(struct judge *j, enum source s, size_t n,
			       enum hsunwind_stop *stop, size_t *same,
			       bool *scanned)
{
	size_t found;

	*stop = walk(j, s, HSU_SHOW_ALL, j->found[s], &j->nr_found[s], scanned);
	found = keep_visible(j, j->found[s], j->nr_found[s]);
	j->nr_found[s] = found;
	for (*same = 0; *same < n && *same < found; ++*same)
		if (j->truth[*same].ra != j->found[s][*same])
			break;
	if (*same == found && *stop != HSUNWIND_STOP_COMPLETE)
		return IS_SHORTER;
	if (*same == n && *same == found && default_is_right(j, s, n))
		return IS_EXACT;
	return IS_WRONG;
}

void judge_step(struct judge *j, const struct truth *truth)
{
	enum state state = truth_state(truth);
	size_t n = get_truth(j, truth), same;
	enum hsunwind_stop stop;
	enum verdict v;
	unsigned int s;
	bool scanned;

	for (s = 0; s < j->nr_sources; s++) {
		v = judge_walk(j, s, n, &stop, &same, &scanned);
		/* Another thread may move the stack between two reads. */
		if (v != IS_EXACT) {
			tracee_forget(j->t);
			v = judge_walk(j, s, n, &stop, &same, &scanned);
		}
		j->scanned[s] += scanned;
		j->count[s][state][v]++;
		if (v != IS_EXACT || (j->list_scanned && scanned))
			note_place(j, s, v, stop, state, n, same);
	}
	if (j->nr_sources == SOURCE_NR &&
	    (j->nr_found[0] != j->nr_found[1] ||
	     memcmp(j->found[0], j->found[1], j->nr_found[0] * sizeof(u64))))
		j->differ++;
}

double judge_share(const struct judge *j, enum source s, unsigned long *wrong)
{
	unsigned long all = 0, exact = 0, st;

	*wrong = 0;
	for (st = 0; st < STATE_NR; st++) {
		exact += j->count[s][st][IS_EXACT];
		*wrong += j->count[s][st][IS_WRONG];
		all += j->count[s][st][IS_EXACT] + j->count[s][st][IS_SHORTER] +
			j->count[s][st][IS_WRONG];
	}
	return all ? 100.0 * exact / all : 0;
}

static int by_count(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->count < y->count ? 1 : -(x->count > y->count);
}

static void report_states(const struct judge *j, enum source s)
{
	unsigned int st;

	for (st = 0; st < STATE_NR; st++) {
		const unsigned long *c = j->count[s][st];
		unsigned long all = c[IS_EXACT] + c[IS_SHORTER] + c[IS_WRONG];

		if (all)
			printf("# %-8s %9lu %8.3f %% exact %6lu shorter %6lu wrong  %s\n",
			       source_name[s], all, 100.0 * c[IS_EXACT] / all,
			       c[IS_SHORTER], c[IS_WRONG], state_text[st]);
	}
}

void judge_report(const struct judge *j)
{
	static struct place places[MAX_PLACES];
	unsigned long wrong;
	size_t i, shown;
	unsigned int s;

	for (s = 0; s < j->nr_sources; s++) {
		report_states(j, s);
		printf("# %-8s %.4f %% exact, ", source_name[s],
		       judge_share(j, s, &wrong));
		printf("%lu wrong, %lu scanned\n", wrong, j->scanned[s]);
	}
	if (j->nr_sources == SOURCE_NR)
		printf("# %lu times the two differ\n", j->differ);
	memcpy(places, j->places, sizeof(places));
	qsort(places, j->nr_places, sizeof(*places), by_count);
	shown = j->list_scanned ? MAX_PLACES : SHOWN_PLACES;
	for (i = 0; i < j->nr_places && i < shown; i++) {
		const struct place *p = &places[i];
		const struct code *c = code_at(j->t, p->addr);

		printf("# %6lu %s %s (%s) at %#llx %s+%#llx, %s: %s\n", p->count,
		       source_name[p->source], verdict_name[p->verdict],
		       hsu_stop_name(p->stop), (unsigned long long)p->addr,
		       c->name, (unsigned long long)c->offset,
		       state_text[p->state], p->difference);
	}
}
