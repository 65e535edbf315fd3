// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line of hsunwind-stack.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "gcmode.h"
#include "stack_options.h"

static void usage(FILE *f)
{
	fputs("Usage: hsunwind-stack [OPTION]... PID\n"
	      "Print the Haskell and C stacks of all threads of a live process.\n"
	      "\n"
	      "  --raw            per thread T <tid>, then L|H|C|G|M 0x<address> per frame,\n"
	      "                   leaf first (leaf, Haskell, C, the collector, frames that are\n"
	      "                   missing), then E <stop-reason>, with \"scanned\" behind it if\n"
	      "                   a caller had to be searched for\n"
	      "  --all            --show-internal --show-rts --gc=show\n"
	      "  --show-internal  frames of GHC's run-time system within Haskell's\n"
	      "  --show-rts       its frames below Haskell, and start-up code\n"
	      "  --gc=MODE        collapse: one frame for all that the garbage collector does\n"
	      "                   (default); show: its frames; drop: none\n"
	      "  --fold-recursion a cycle of up to 8 frames only once\n"
	      "  --no-debug       ignore .debug_frame\n"
	      "  --files FOLDER   read files that are there instead of the mapped ones that\n"
	      "                   have the same name (stripped ones, for example)\n"
	      "  --both           look with the mapped files, and again with those of --files\n"
	      "  --samples N      look N times, then print a summary of stop reasons\n"
	      "  --interval MS    milliseconds between samples, on average (100)\n"
	      "  --max-frames N   frames per stack (65536); of more, half of them at the leaf\n"
	      "                   and half at the root\n"
	      "  --max-steps N    frames and stack chunks looked at, per stack (1048576); the\n"
	      "                   kernel module has 16384\n"
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
	fprintf(stderr, "hsunwind-stack: %s: %s (see --help)\n", what,
		*value ? value : "''");
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

int stack_options_parse(int argc, char **argv, struct options *opt)
{
	enum {
		RAW = 256, ALL, SHOW_INTERNAL, SHOW_RTS, GC, FOLD, NO_DEBUG,
		FILES, BOTH, SAMPLES, INTERVAL, MAX_FRAMES, MAX_STEPS,
	};
	static const struct option longopts[] = {
		{ "raw", no_argument, NULL, RAW },
		{ "all", no_argument, NULL, ALL },
		{ "show-internal", no_argument, NULL, SHOW_INTERNAL },
		{ "show-rts", no_argument, NULL, SHOW_RTS },
		{ "gc", required_argument, NULL, GC },
		{ "fold-recursion", no_argument, NULL, FOLD },
		{ "no-debug", no_argument, NULL, NO_DEBUG },
		{ "files", required_argument, NULL, FILES },
		{ "both", no_argument, NULL, BOTH },
		{ "samples", required_argument, NULL, SAMPLES },
		{ "interval", required_argument, NULL, INTERVAL },
		{ "max-frames", required_argument, NULL, MAX_FRAMES },
		{ "max-steps", required_argument, NULL, MAX_STEPS },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 }
	};
	unsigned long pid;
	int c;

	*opt = (struct options){
		.samples = 1, .interval = 100, .max_frames = 65536,
		.max_steps = HSU_MAX_STEPS,
	};
	while ((c = getopt_long(argc, argv, "qvhV", longopts, NULL)) != -1) {
		switch (c) {
		case RAW:
			opt->raw = true;
			break;
		case ALL:
			opt->show |= HSU_SHOW_ALL;
			break;
		case SHOW_INTERNAL:
			opt->show |= HSUNWIND_SHOW_INTERNAL;
			break;
		case SHOW_RTS:
			opt->show |= HSUNWIND_SHOW_RTS;
			break;
		case GC:
			if (!hsu_gc_mode(optarg, &opt->show))
				return bad_usage("--gc takes collapse, show or drop",
						 optarg);
			break;
		case FOLD:
			opt->show |= HSUNWIND_FOLD_RECURSION;
			break;
		case NO_DEBUG:
			opt->no_debug = true;
			break;
		case FILES:
			opt->files = optarg;
			break;
		case BOTH:
			opt->both = true;
			break;
		case SAMPLES:
			if (!number(optarg, ULONG_MAX, &opt->samples) ||
			    !opt->samples)
				return bad_usage("--samples takes a number from 1",
						 optarg);
			break;
		case INTERVAL:
			if (!number(optarg, 3600000, &opt->interval))
				return bad_usage("--interval takes milliseconds",
						 optarg);
			break;
		case MAX_FRAMES:
			if (!number(optarg, HSU_MAX_STEPS, &opt->max_frames) ||
			    !opt->max_frames)
				return bad_usage("--max-frames takes 1 to 1048576",
						 optarg);
			break;
		case MAX_STEPS:
			if (!number(optarg, HSU_MAX_STEPS, &opt->max_steps) ||
			    !opt->max_steps)
				return bad_usage("--max-steps takes 1 to 1048576",
						 optarg);
			break;
		case 'q':
			opt->quiet = true;
			break;
		case 'v':
			opt->verbose = true;
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
	if (opt->files && !is_folder(opt->files))
		return bad_usage("--files takes a folder", opt->files);
	if (opt->both && !opt->files)
		return bad_usage("--both needs --files", "not given");
	if (!number(argv[optind], INT_MAX, &pid) || !pid)
		return bad_usage("not a process number", argv[optind]);
	opt->pid = pid;
	return -1;
}
