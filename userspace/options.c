// SPDX-License-Identifier: GPL-2.0-only
/*
 * The command line of hsunwind-register.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "gcmode.h"
#include "options.h"

#ifndef HSUNWIND_VERSION
#define HSUNWIND_VERSION	"unknown"
#endif

#define EXIT_USAGE	2

static void show_help(FILE *f)
{
	fputs("usage: " NAME " [options] PROGRAM...\n"
	      "       " NAME " [options] -p PID...\n"
	      "       " NAME " --list | --status | --remove FILE|PID|all\n"
	      "\n"
	      "Makes perf record -g show the Haskell stacks of programs made by GHC.\n"
	      "\n"
	      "  -p, --pid PID     a running process\n"
	      "      --own         for your own processes only: needs no privilege\n"
	      "      --dry-run     show what would be registered; needs no module\n"
	      "      --no-debug    do not use debugging information (.debug_frame)\n"
	      "      --no-symbols  write no readable symbols for perf\n"
	      "      --symbols-only  write nothing else; needs no module\n"
	      "      --exact-names keep the compiler's z-encoded names\n"
	      "      --show-internal  frames of GHC's run-time system within Haskell's\n"
	      "      --show-rts    its frames below Haskell, and start-up code\n"
	      "      --gc=MODE     collapse: one frame for all that the garbage collector\n"
	      "                    does (default); show: its frames; drop: none\n"
	      "      --fold-recursion  a cycle of up to 8 frames only once\n"
	      "      --list        show registered files and processes\n"
	      "      --status      show counters, and why walks ended\n"
	      "      --remove WHAT forget a file, a process, or all\n"
	      "      --json        --list, --status and --dry-run as JSON\n"
	      "  -v, --verbose     say more\n"
	      "  -q, --quiet       say nothing but errors\n"
	      "      --help        show this help\n"
	      "      --version     show the version\n", f);
}

static int usage_error(const char *sentence, const char *what)
{
	fprintf(stderr, "%s: %s%s; '%s --help' shows how to use it\n", NAME,
		sentence, what, NAME);
	return EXIT_USAGE;
}

bool parse_pid(const char *text, int *pid)
{
	char *end;
	long v;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtol(text, &end, 10);
	if (errno || *end || v < 1 || v > __INT_MAX__)
		return false;
	*pid = (int)v;
	return true;
}

/* A second mode is a mistake. */
static bool set_mode(struct options *o, enum mode mode)
{
	if (o->mode != MODE_ADD)
		return false;
	o->mode = mode;
	return true;
}

enum {
	OPT_LIST = 256, OPT_STATUS, OPT_REMOVE, OPT_JSON, OPT_OWN, OPT_DRY_RUN,
	OPT_NO_DEBUG, OPT_NO_SYMBOLS, OPT_SYMBOLS_ONLY, OPT_EXACT_NAMES,
	OPT_SHOW_INTERNAL, OPT_SHOW_RTS, OPT_GC, OPT_FOLD, OPT_HELP, OPT_VERSION,
};

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "status", no_argument, NULL, OPT_STATUS },
	{ "remove", required_argument, NULL, OPT_REMOVE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "own", no_argument, NULL, OPT_OWN },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "no-debug", no_argument, NULL, OPT_NO_DEBUG },
	{ "no-symbols", no_argument, NULL, OPT_NO_SYMBOLS },
	{ "symbols-only", no_argument, NULL, OPT_SYMBOLS_ONLY },
	{ "exact-names", no_argument, NULL, OPT_EXACT_NAMES },
	{ "show-internal", no_argument, NULL, OPT_SHOW_INTERNAL },
	{ "show-rts", no_argument, NULL, OPT_SHOW_RTS },
	{ "gc", required_argument, NULL, OPT_GC },
	{ "fold-recursion", no_argument, NULL, OPT_FOLD },
	{ "verbose", no_argument, NULL, 'v' },
	{ "quiet", no_argument, NULL, 'q' },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

/* Returns -1 to go on, else the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
	bool ok = true;
	int c;

	o->pids = calloc((size_t)argc, sizeof(*o->pids));
	if (!o->pids) {
		fprintf(stderr, "%s: out of memory\n", NAME);
		return EXIT_FAILURE;
	}
	while ((c = getopt_long(argc, argv, "p:vq", long_options, NULL)) != -1) {
		switch (c) {
		case 'p':
			if (!parse_pid(optarg, &o->pids[o->nr_pids]))
				return usage_error("not a process number: ",
						   hsu_shown(optarg));
			o->nr_pids++;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'q':
			o->quiet = true;
			break;
		case OPT_LIST:
			ok &= set_mode(o, MODE_LIST);
			break;
		case OPT_STATUS:
			ok &= set_mode(o, MODE_STATUS);
			break;
		case OPT_REMOVE:
			ok &= set_mode(o, MODE_REMOVE);
			o->remove = optarg;
			break;
		case OPT_JSON:
			o->json = true;
			break;
		case OPT_OWN:
			o->own = true;
			break;
		case OPT_DRY_RUN:
			o->dry_run = true;
			break;
		case OPT_NO_DEBUG:
			o->no_debug = true;
			break;
		case OPT_NO_SYMBOLS:
			o->no_symbols = true;
			break;
		case OPT_SYMBOLS_ONLY:
			o->symbols_only = true;
			break;
		case OPT_EXACT_NAMES:
			o->exact_names = true;
			break;
		case OPT_SHOW_INTERNAL:
			o->show |= HSUNWIND_SHOW_INTERNAL;
			break;
		case OPT_SHOW_RTS:
			o->show |= HSUNWIND_SHOW_RTS;
			break;
		case OPT_GC:
			if (!hsu_gc_mode(optarg, &o->show))
				return usage_error("--gc takes collapse, show or drop, not ",
						   hsu_shown(optarg));
			break;
		case OPT_FOLD:
			o->show |= HSUNWIND_FOLD_RECURSION;
			break;
		case OPT_HELP:
			show_help(stdout);
			return EXIT_SUCCESS;
		case OPT_VERSION:
			printf("%s %s\n", NAME, HSUNWIND_VERSION);
			return EXIT_SUCCESS;
		default:
			fprintf(stderr, "'%s --help' shows how to use it\n",
				NAME);
			return EXIT_USAGE;
		}
	}
	if (!ok)
		return usage_error("--list, --status and --remove exclude each other",
				   "");
	return -1;
}

static int check_options(const struct options *o, bool args)
{
	bool add = o->mode == MODE_ADD;

	if (add && !args && !o->nr_pids)
		return usage_error("no program given", "");
	if (!add && (args || o->nr_pids))
		return usage_error("too many arguments", "");
	if (!add && o->dry_run)
		return usage_error("--dry-run needs a program or -p", "");
	if (o->show && (!add || o->symbols_only))
		return usage_error("what is shown is told when a program is registered",
				   "");
	if (o->own && o->symbols_only)
		return usage_error("--own and --symbols-only exclude each other", "");
	if (o->own && !add)
		return usage_error("--own needs a program or -p", "");
	if (o->symbols_only && o->no_symbols)
		return usage_error("--symbols-only and --no-symbols exclude each other",
				   "");
	if (o->symbols_only && (o->mode == MODE_LIST || o->mode == MODE_STATUS))
		return usage_error("--symbols-only needs a program or --remove",
				   "");
	if (o->json && (add ? !o->dry_run : o->mode == MODE_REMOVE))
		return usage_error("--json needs --list, --status or --dry-run",
				   "");
	return -1;
}

int options_parse(int argc, char **argv, struct options *o)
{
	int ret;

	memset(o, 0, sizeof(*o));
	ret = parse_options(argc, argv, o);
	o->args = argv + optind;
	return ret < 0 ? check_options(o, optind < argc) : ret;
}
