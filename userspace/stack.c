// SPDX-License-Identifier: GPL-2.0-only
/*
 * hsunwind-stack: the stacks of a live process, Haskell and C, with the same
 * core as the kernel module but without it.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hsu_core.h"
#include "image_build.h"
#include "ptrace.h"
#include "stack_maps.h"
#include "stack_print.h"

#define FIRST_FRAMES	1024u

struct options {
	pid_t pid;
	bool raw;
	bool quiet;
	bool verbose;
	bool all;
	bool no_debug;
	const char *files;
	bool both;
	unsigned long samples;
	unsigned long interval;		/* milliseconds */
	unsigned long max_frames;
};

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
		w->flags = s->opt->all ? HSU_SHOW_ALL : 0;
		w->max_steps = HSU_MAX_STEPS;
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
		if (stop == HSUNWIND_STOP_BUDGET && grow(s))
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
	static const char letter[] = { 'L', 'H', 'C' };
	__u32 i;

	if (s->opt->verbose && st->stop != HSUNWIND_STOP_COMPLETE)
		print_registers(&st->thread.regs);
	else if (s->opt->quiet)
		return;
	if (s->opt->raw) {
		printf("T %d\n", st->thread.tid);
		for (i = 0; i < st->n; i++)
			printf("%c 0x%llx\n", letter[st->kinds[i]],
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

static void usage(FILE *f)
{
	fputs("Usage: hsunwind-stack [OPTION]... PID\n"
	      "Print the Haskell and C stacks of all threads of a live process.\n"
	      "\n"
	      "  --raw            per thread T <tid>, then L|H|C 0x<address> per frame, leaf\n"
	      "                   first (leaf, Haskell, C), then E <stop-reason>, with\n"
	      "                   \"scanned\" behind it if a caller had to be searched for\n"
	      "  --all            also frames of GHC's run-time system that are left out by\n"
	      "                   default\n"
	      "  --no-debug       ignore .debug_frame\n"
	      "  --files FOLDER   read files that are there instead of the mapped ones that\n"
	      "                   have the same name (stripped ones, for example)\n"
	      "  --both           look with the mapped files, and again with those of --files\n"
	      "  --samples N      look N times, then print a summary of stop reasons\n"
	      "  --interval MS    milliseconds between samples, on average (100)\n"
	      "  --max-frames N   frames per stack (65536)\n"
	      "  -q, --quiet      only the summary\n"
	      "  -v, --verbose    with incomplete stacks, registers; with -q, those stacks\n"
	      "  -h, --help       this text\n"
	      "  -V, --version    version\n"
	      "\n"
	      "Exit status: 0 ok, 1 failure, 2 usage.\n", f);
}

static int written(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	perror("hsunwind-stack: cannot write the output");
	return 1;
}

static int bad_usage(const char *what, const char *value)
{
	fprintf(stderr, "hsunwind-stack: %s: %s (see --help)\n", what, value);
	return 2;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool number(const char *text, unsigned long max, unsigned long *value)
{
	char *end;

	errno = 0;
	*value = strtoul(text, &end, 10);
	return *text >= '0' && *text <= '9' && !*end && !errno &&
	       *value <= max;
}

int main(int argc, char **argv)
{
	enum { RAW = 256, ALL, NO_DEBUG, FILES, BOTH, SAMPLES, INTERVAL, MAX_FRAMES };
	static const struct option longopts[] = {
		{ "raw", no_argument, NULL, RAW },
		{ "all", no_argument, NULL, ALL },
		{ "no-debug", no_argument, NULL, NO_DEBUG },
		{ "files", required_argument, NULL, FILES },
		{ "both", no_argument, NULL, BOTH },
		{ "samples", required_argument, NULL, SAMPLES },
		{ "interval", required_argument, NULL, INTERVAL },
		{ "max-frames", required_argument, NULL, MAX_FRAMES },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	struct options opt = {
		.samples = 1, .interval = 100, .max_frames = 65536,
	};
	struct sigaction sa = { .sa_handler = on_interrupt };
	unsigned long pid;
	int c;

	while ((c = getopt_long(argc, argv, "qvhV", longopts, NULL)) != -1) {
		switch (c) {
		case RAW:
			opt.raw = true;
			break;
		case ALL:
			opt.all = true;
			break;
		case NO_DEBUG:
			opt.no_debug = true;
			break;
		case FILES:
			opt.files = optarg;
			break;
		case BOTH:
			opt.both = true;
			break;
		case SAMPLES:
			if (!number(optarg, ULONG_MAX, &opt.samples) ||
			    !opt.samples)
				return bad_usage("--samples takes a number from 1",
						 optarg);
			break;
		case INTERVAL:
			if (!number(optarg, 3600000, &opt.interval))
				return bad_usage("--interval takes milliseconds",
						 optarg);
			break;
		case MAX_FRAMES:
			if (!number(optarg, HSU_MAX_STEPS, &opt.max_frames) ||
			    !opt.max_frames)
				return bad_usage("--max-frames takes 1 to 131072",
						 optarg);
			break;
		case 'q':
			opt.quiet = true;
			break;
		case 'v':
			opt.verbose = true;
			break;
		case 'h':
			usage(stdout);
			return written();
		case 'V':
			puts("hsunwind-stack " HSUNWIND_VERSION);
			return written();
		default:
			return 2;
		}
	}
	if (argc - optind != 1)
		return bad_usage("exactly one process is wanted",
				 optind < argc ? argv[optind + 1] : "none given");
	if (opt.files && !is_folder(opt.files))
		return bad_usage("--files takes a folder", opt.files);
	if (opt.both && !opt.files)
		return bad_usage("--both needs --files", "not given");
	if (!number(argv[optind], INT_MAX, &pid) || !pid)
		return bad_usage("not a process number", argv[optind]);
	opt.pid = pid;
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	return run(&opt);
}
