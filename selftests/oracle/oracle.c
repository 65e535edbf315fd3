// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps a real program, instruction by instruction, keeps its true logical
 * stack, and compares at every instruction what hsunwind makes of it.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge.h"

#define MAX_TRIES	5000

struct options {
	unsigned long steps;
	unsigned long passes;
	const char *stripped;
	bool scanned;
	bool ticker;
	double bar[SOURCE_NR];
};

static void usage(FILE *f)
{
	fputs("Usage: oracle [OPTION]... PROGRAM [ARGUMENT]...\n"
	      "Step a program and compare the stack that hsunwind finds at every instruction\n"
	      "with the true one. The first thread that gets to StgRun is stepped, then, if it\n"
	      "ends or sleeps, the next one.\n"
	      "\n"
	      "  --steps N          instructions (200000), or until the thread ends\n"
	      "  --passes N         let StgRun be called N times first (0)\n"
	      "  --stripped FOLDER  also describe the program by the stripped copies in there\n"
	      "  --scanned          list every place whose caller was searched for\n"
	      "  --ticker           let GHC's timer tick in real time: at this speed the program\n"
	      "                     does little else than handle that and switch threads\n"
	      "  --bar PERCENT      exact chains wanted (99.99)\n"
	      "  --bar-stripped P   the same with stripped files (99.9)\n"
	      "\n"
	      "Exit status: 0 if both bars are met, no chain is wrong, and the true stack was\n"
	      "never in doubt; else 1; 2 usage.\n", f);
}

static unsigned long number(const char *text)
{
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno)
		errx(2, "'%s' is no number (see --help)", text);
	return value;
}

static double percent(const char *text)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value >= 0 && value <= 100))
		errx(2, "'%s' is no percentage (see --help)", text);
	return value;
}

/* Without a copy, the program's own file would be taken for a stripped one. */
static void need_copy(const char *folder, const char *program)
{
	const char *slash = strrchr(program, '/');
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder,
		 slash ? slash + 1 : program);
	if (access(path, R_OK))
		err(2, "--stripped needs %s", path);
}

static void parse(struct options *opt, int argc, char **argv)
{
	enum { STEPS = 256, PASSES, STRIPPED, SCANNED, TICKER, BAR, BAR_STRIPPED };
	static const struct option longopts[] = {
		{ "steps", required_argument, NULL, STEPS },
		{ "passes", required_argument, NULL, PASSES },
		{ "stripped", required_argument, NULL, STRIPPED },
		{ "scanned", no_argument, NULL, SCANNED },
		{ "ticker", no_argument, NULL, TICKER },
		{ "bar", required_argument, NULL, BAR },
		{ "bar-stripped", required_argument, NULL, BAR_STRIPPED },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	int c;

	while ((c = getopt_long(argc, argv, "+h", longopts, NULL)) != -1) {
		switch (c) {
		case STEPS:
			opt->steps = number(optarg);
			break;
		case PASSES:
			opt->passes = number(optarg);
			break;
		case STRIPPED:
			opt->stripped = optarg;
			break;
		case SCANNED:
			opt->scanned = true;
			break;
		case TICKER:
			opt->ticker = true;
			break;
		case BAR:
			opt->bar[SOURCE_AS_IS] = percent(optarg);
			break;
		case BAR_STRIPPED:
			opt->bar[SOURCE_STRIPPED] = percent(optarg);
			break;
		case 'h':
			usage(stdout);
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind == argc)
		errx(2, "no program is given (see --help)");
	if (opt->stripped)
		need_copy(opt->stripped, argv[optind]);
}

static bool verdict(const struct options *opt, const struct judge *j,
		    const struct truth_checks *checks, unsigned long steps)
{
	unsigned long wrong;
	bool good = true;
	unsigned int s;

	printf("# %lu instructions; the true stack: %lu entries, %lu returns, ",
	       steps, checks->entries, checks->returns);
	printf("%lu frames dropped, %lu times resumed, %lu doubts\n",
	       checks->dropped, checks->resumed, checks->doubts);
	judge_report(j);
	if (checks->doubts || !checks->returns)
		good = false;
	for (s = 0; s <= (opt->stripped ? SOURCE_STRIPPED : SOURCE_AS_IS); s++)
		if (judge_share(j, s, &wrong) < opt->bar[s] || wrong)
			good = false;
	return good;
}

/*
 * Steps one thread after the other, each from a call of StgRun with nothing but
 * C code below up to its end, or until it sleeps.
 */
static unsigned long step_all(const struct options *opt, struct tracee *t,
			      struct judge *j, Dwfl *dwfl,
			      struct truth_checks *checks)
{
	unsigned long n = 0, tries = 0;

	do {
		struct truth *truth = truth_start(t, dwfl);

		if (!truth && ++tries == MAX_TRIES)
			errx(1, "StgRun is never called from C code alone");
		while (truth && n < opt->steps) {
			struct user_regs_struct before = t->regs;

			judge_step(j, truth);
			n++;
			if (!tracee_step(t) || !truth_step(truth, &before))
				break;
		}
		if (truth)
			truth_end(truth, checks);
	} while (n < opt->steps && !t->exited && tracee_run_to(t, truth_stgrun(), 0));
	return n;
}

int main(int argc, char **argv)
{
	struct options opt = {
		.steps = 200000, .bar = { 99.99, 99.9 },
	};
	struct truth_checks checks = { 0 };
	struct judge *judge;
	struct tracee t;
	unsigned long n;
	Dwfl *dwfl;
	bool good;

	parse(&opt, argc, argv);
	setvbuf(stdout, NULL, _IOLBF, 0);
	tracee_start(&t, argv + optind);
	dwfl = code_init(&t);
	if (!truth_stgrun())
		errx(1, "%s has no symbol StgReturn: it is no Haskell program, or stripped",
		     argv[optind]);
	if (!tracee_run_to(&t, truth_stgrun(), opt.passes))
		errx(1, "the program did not call StgRun %lu times",
		     opt.passes + 1);
	t.slow_ticks = !opt.ticker;
	if (!opt.ticker)
		tracee_hold(&t, "ghc_ticker");
	judge = judge_create(&t, opt.stripped, opt.scanned);
	n = step_all(&opt, &t, judge, dwfl, &checks);
	good = verdict(&opt, judge, &checks, n);
	tracee_kill(&t);
	dwfl_end(dwfl);
	return good ? 0 : 1;
}
