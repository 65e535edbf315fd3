// SPDX-License-Identifier: GPL-2.0-only
/*
 * hsunwind-stack: the stacks of a live process, Haskell and C, with the same
 * core as the kernel module but without it.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hsu_core.h"
#include "image_build.h"
#include "ptrace.h"
#include "stack_maps.h"
#include "stack_options.h"
#include "stack_print.h"

#define FIRST_FRAMES	1024u

struct session {
	const struct options *opt;
	struct hsu_process_maps maps;
	struct hsu_process_maps other;	/* for the second look of --both */
	struct hsu_memory *memory;
	struct hsu_symbols *symbols;
	__u64 *out;
	__u8 *kinds;
	__u32 cap;
	unsigned long stops[HSUNWIND_STOP_NR];
	unsigned long stacks;
};

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static bool grow(struct session *s)
{
	__u32 cap = s->cap ? s->cap * 2 : FIRST_FRAMES;
	__u64 *out;
	__u8 *kinds;

	if (s->cap >= s->opt->max_frames)
		return false;
	if (cap > s->opt->max_frames)
		cap = s->opt->max_frames;
	out = realloc(s->out, cap * sizeof(*out));
	if (out)
		s->out = out;
	kinds = realloc(s->kinds, cap);
	if (kinds)
		s->kinds = kinds;
	if (!out || !kinds)
		return false;
	s->cap = cap;
	return true;
}

static enum hsunwind_stop walk_thread(struct session *s,
				      const struct hsu_thread *t,
				      struct hsu_walk *w)
{
	bool reread = false;

	for (;;) {
		enum hsunwind_stop stop;

		memset(w, 0, sizeof(*w));
		w->env.read = hsu_memory_read;
		w->env.ctx = s->memory;
		w->maps = s->maps.maps;
		w->nr_maps = s->maps.nr;
		w->ip = t->regs.rip;
		hsu_dwarf_regs(&t->regs, w->regs);
		w->flags = s->opt->show;
		w->max_steps = s->opt->max_steps;
		w->out = s->out;
		w->kinds = s->kinds;
		w->cap = s->cap;
		if (t->regs.cs != 0x33) {
			w->out[0] = w->ip;
			w->kinds[0] = HSU_LEAF;
			w->n = 1;
			return HSUNWIND_STOP_NOT_64BIT;
		}
		stop = hsu_walk(w);
		if ((stop == HSUNWIND_STOP_BUDGET || w->gapped) && grow(s))
			continue;
		/* The process may have loaded a library since we looked. */
		if (stop == HSUNWIND_STOP_NO_CODE && !reread) {
			struct hsu_error err;

			reread = true;
			if (!hsu_maps_read(&s->maps, &err))
				continue;
		}
		return stop;
	}
}

/* What a report of an incomplete stack should contain. */
static void print_registers(const struct user_regs_struct *r)
{
	printf("# rip %llx rsp %llx rbp %llx rbx %llx r12 %llx r13 %llx r14 %llx r15 %llx\n",
	       r->rip, r->rsp, r->rbp, r->rbx, r->r12, r->r13, r->r14, r->r15);
}

/* The stack of one thread, kept until the process runs again. */
struct stack {
	struct hsu_thread thread;
	enum hsunwind_stop stop;
	bool scanned;
	__u32 n;
	__u64 *out;
	__u8 *kinds;
};

static void print_stack(struct session *s, const struct stack *st)
{
	__u32 i;

	if (s->opt->verbose && st->stop != HSUNWIND_STOP_COMPLETE)
		print_registers(&st->thread.regs);
	else if (s->opt->quiet)
		return;
	if (s->opt->raw) {
		printf("T %d\n", st->thread.tid);
		for (i = 0; i < st->n; i++)
			printf("%c 0x%llx\n", hsu_kind_letter[st->kinds[i]],
			       (unsigned long long)st->out[i]);
		printf("E %s%s\n", hsu_stop_name(st->stop),
		       st->scanned ? " scanned" : "");
		return;
	}
	printf("thread %d:\n", st->thread.tid);
	for (i = 0; i < st->n; i++)
		hsu_print_frame(s->symbols, i, st->out[i], st->kinds[i]);
	if (st->stop != HSUNWIND_STOP_COMPLETE)
		printf("     (incomplete: %s)\n", hsu_stop_text(st->stop));
	putchar('\n');
}

static int keep_stack(struct session *s, const struct hsu_thread *t,
		      struct stack *st)
{
	struct hsu_walk w;

	st->thread = *t;
	st->stop = walk_thread(s, t, &w);
	st->scanned = w.scanned;
	st->n = w.n;
	st->out = malloc(w.n * sizeof(*st->out));
	st->kinds = malloc(w.n);
	if (!st->out || !st->kinds)
		return -ENOMEM;
	memcpy(st->out, s->out, w.n * sizeof(*st->out));
	memcpy(st->kinds, s->kinds, w.n);
	return 0;
}

static int keep_stacks(struct session *s, const struct hsu_stopped *stopped,
		       struct stack *stacks, struct hsu_error *err)
{
	int ret = s->maps.nr ? 0 : hsu_maps_read(&s->maps, err);
	size_t i;

	for (i = 0; !ret && i < stopped->nr; i++)
		ret = keep_stack(s, &stopped->threads[i], &stacks[i]);
	return ret;
}

static void swap_maps(struct session *s)
{
	struct hsu_process_maps maps = s->maps;

	s->maps = s->other;
	s->other = maps;
}

/*
 * Nothing is printed, and no symbol looked up, while the process is stopped: it
 * would wait for whoever reads our output.
 */
static int sample(struct session *s, struct hsu_error *err)
{
	struct hsu_stopped stopped;
	struct stack *stacks;
	size_t i, nr;
	int ret;

	ret = hsu_stop_process(s->opt->pid, &stopped, err);
	if (ret)
		return ret;
	nr = s->opt->both ? 2 * stopped.nr : stopped.nr;
	stacks = calloc(nr, sizeof(*stacks));
	hsu_memory_forget(s->memory);
	if (stacks)
		ret = keep_stacks(s, &stopped, stacks, err);
	if (stacks && !ret && s->opt->both) {
		swap_maps(s);
		ret = keep_stacks(s, &stopped, stacks + stopped.nr, err);
		swap_maps(s);
	}
	hsu_resume_process(&stopped);
	if (!stacks || ret == -ENOMEM) {
		hsu_fail(err, "out of memory");
		ret = -ENOMEM;
	}
	for (i = 0; stacks && i < nr; i++) {
		if (!ret) {
			s->stops[stacks[i].stop]++;
			s->stacks++;
			print_stack(s, &stacks[i]);
		}
		free(stacks[i].out);
		free(stacks[i].kinds);
	}
	free(stacks);
	return ret;
}

static void print_summary(const struct session *s, unsigned long samples)
{
	const char *mark = s->opt->raw ? "# " : "";
	unsigned int i;

	printf("%s%lu samples, %lu stacks\n", mark, samples, s->stacks);
	for (i = 0; i < HSUNWIND_STOP_NR; i++)
		if (s->stops[i])
			printf("%s%-10s %8lu %7.3f%%\n", mark,
			       hsu_stop_name(i), s->stops[i],
			       100.0 * s->stops[i] / s->stacks);
}

/* Half to one and a half intervals: never in step with what is sampled. */
static void pause_randomly(unsigned long ms)
{
	unsigned long long ns = ms * 1000000ull;
	struct timespec ts;

	ns = ns / 2 + (ns ? (unsigned long long)(drand48() * ns) : 0);
	ts.tv_sec = ns / 1000000000ull;
	ts.tv_nsec = ns % 1000000000ull;
	nanosleep(&ts, NULL);
}

/* A kernel thread has no program, and nothing to show. */
static bool is_kernel_thread(pid_t pid)
{
	char path[64], target[8];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return readlink(path, target, sizeof(target)) < 0 && errno == ENOENT;
}

static int run(const struct options *opt)
{
	struct session s = {
		.opt = opt,
		.maps = {
			.pid = opt->pid,
			.build_flags = opt->no_debug ? HSU_BUILD_NO_DEBUG : 0,
			.folder = opt->both ? NULL : opt->files,
		},
		.other = { .pid = opt->pid, .folder = opt->files },
	};
	struct hsu_error err = { "" };
	unsigned long taken = 0;
	int ret = -ENOMEM;

	s.memory = hsu_memory_create(opt->pid);
	if (!s.memory || !grow(&s)) {
		hsu_fail(&err, "out of memory");
		goto out;
	}
	/* Read the files while the process still runs: it can take a while. */
	ret = hsu_maps_read(&s.maps, &err);
	if (ret == -ENOENT)
		hsu_fail(&err, "process %d does not exist or has ended",
			 opt->pid);
	if (ret == -EACCES || ret == -EPERM)
		hsu_fail(&err, "may not look at process %d: run as its user or as root",
			 opt->pid);
	if (ret)
		goto out;
	if (!s.maps.nr && is_kernel_thread(opt->pid)) {
		ret = hsu_fail(&err,
			       "process %d has no program: it is a kernel thread, or has ended",
			       opt->pid);
		goto out;
	}
	if (s.maps.nr && !hsu_maps_have_haskell(&s.maps))
		fprintf(stderr,
			"hsunwind-stack: process %d maps no file made by GHC\n",
			opt->pid);
	if (!opt->raw && !opt->quiet) {
		struct hsu_error ignored;

		s.symbols = hsu_symbols_open(opt->pid, &ignored);
	}
	srand48(time(NULL) ^ opt->pid);
	while (taken < opt->samples && !interrupted) {
		if (taken)
			pause_randomly(opt->interval);
		ret = sample(&s, &err);
		if (ret)
			break;
		taken++;
	}
	if (ret == -ESRCH && taken) {
		fprintf(stderr,
			"hsunwind-stack: process %d ended after %lu of %lu samples\n",
			opt->pid, taken, opt->samples);
		ret = 0;
	}
	/* What has been seen is not lost if the rest fails. */
	if (taken && opt->samples > 1)
		print_summary(&s, taken);
	if (fflush(stdout) || ferror(stdout))
		ret = hsu_fail(&err, "cannot write the output: %m");
out:
	if (ret)
		fprintf(stderr, "hsunwind-stack: %s\n", err.msg);
	hsu_symbols_close(s.symbols);
	hsu_memory_destroy(s.memory);
	hsu_maps_free(&s.maps);
	hsu_maps_free(&s.other);
	free(s.out);
	free(s.kinds);
	return ret ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_interrupt };
	struct options opt;
	int ret;

	ret = stack_options_parse(argc, argv, &opt);
	if (ret >= 0)
		return ret;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	return run(&opt);
}
