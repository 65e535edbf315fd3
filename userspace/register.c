// SPDX-License-Identifier: GPL-2.0-only
/*
 * hsunwind-register: tells the kernel module how to unwind a program.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "files.h"
#include "json.h"
#include "show.h"

#ifndef HSUNWIND_VERSION
#define HSUNWIND_VERSION	"unknown"
#endif

#define NAME	"hsunwind-register"

#define EXIT_USAGE	2

enum mode {
	MODE_ADD,
	MODE_LIST,
	MODE_STATUS,
	MODE_REMOVE,
};

struct options {
	enum mode mode;
	bool dry_run;
	bool no_debug;
	bool verbose;
	bool json;
	const char *remove;
	int *pids;
	size_t nr_pids;
};

static bool quiet;

static void say(const char *what, const char *sentence)
{
	fflush(stdout);
	fprintf(stderr, "%s: %s%s\n", NAME, what, sentence);
}

static void warn(const char *sentence)
{
	if (!quiet)
		say("warning: ", sentence);
}

static int fail(const struct hsu_error *err)
{
	say("", err->msg);
	return EXIT_FAILURE;
}

static void show_help(FILE *f)
{
	fputs("usage: " NAME " [options] PROGRAM...\n"
	      "       " NAME " [options] -p PID...\n"
	      "       " NAME " --list | --status | --remove FILE|PID|all\n"
	      "\n"
	      "Makes perf record -g show the Haskell stacks of programs made by GHC.\n"
	      "\n"
	      "  -p, --pid PID     a running process\n"
	      "      --dry-run     show what would be registered; needs no module\n"
	      "      --no-debug    do not use debugging information (.debug_frame)\n"
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

static bool parse_pid(const char *text, int *pid)
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

/*
 * A file that is registered already keeps what it was registered as: adding a
 * running process must not disarm its program.
 */
static int was_program(int dev, const struct hsu_file *f, bool *program,
		       struct hsu_error *err)
{
	struct hsu_image_entry e;
	u64 id = 0;
	int ret;

	while ((ret = hsu_device_image_next(dev, id, &e, err)) > 0) {
		if (e.info.dev == f->dev && e.info.ino == f->ino &&
		    e.info.flags & HSUNWIND_ADD_PROGRAM)
			*program = true;
		id = e.info.id + 1;
	}
	return ret;
}

static int add_file(int dev, const struct hsu_file *f, struct hsu_error *err)
{
	bool program = f->program;
	u32 flags = HSUNWIND_ADD_VDSO;

	if (f->fd >= 0) {
		if (!program && was_program(dev, f, &program, err))
			return -1;
		flags = program ? HSUNWIND_ADD_PROGRAM : 0;
	}
	return hsu_device_image_add(dev, flags, f->fd, f->built.data,
				    f->built.len, f->path, err);
}

static void report_file(const struct hsu_file *f)
{
	const struct hsu_build_info *info = &f->built.info;
	char buf[16];

	printf("registered %s: %s", f->path,
	       hsu_show_bytes(f->built.len, buf));
	if (info->ghc_text[0])
		printf(", GHC %s", info->ghc_text);
	putchar('\n');
}

/* Hands all files to the kernel, then the processes. */
static int register_all(const struct hsu_files *files, const struct options *o)
{
	struct hsu_error err;
	u32 nr_maps;
	size_t i;
	int dev, ret = 0;

	dev = hsu_device_open(&err);
	if (dev < 0)
		return fail(&err);
	for (i = 0; i < files->nr && !ret; i++) {
		const struct hsu_file *f = &files->v[i];

		if (add_file(dev, f, &err)) {
			ret = fail(&err);
			break;
		}
		if (!quiet && (o->verbose || f->program))
			report_file(f);
	}
	for (i = 0; i < o->nr_pids && !ret; i++) {
		if (hsu_device_process_add(dev, o->pids[i], &nr_maps, &err))
			ret = fail(&err);
		else if (!quiet)
			printf("registered process %d: %u mappings\n",
			       o->pids[i], nr_maps);
	}
	hsu_device_close(dev);
	return ret;
}

static void show_all(const struct hsu_files *files, const struct options *o)
{
	struct hsu_show how = { .json = o->json, .verbose = o->verbose };
	size_t i;

	if (o->json)
		hsu_json_open(NULL, '[');
	for (i = 0; i < files->nr; i++)
		hsu_show_file(&files->v[i], &how);
	if (o->json)
		hsu_json_close(']');
}

static int run_add(char **argv, const struct options *o)
{
	struct hsu_files files = {
		.build_flags = o->no_debug ? HSU_BUILD_NO_DEBUG : 0,
		.warn = warn,
	};
	struct hsu_error err;
	int ret = 0;
	size_t i;

	if (hsu_files_add_vdso(&files, &err))
		ret = fail(&err);
	for (; *argv && !ret; argv++)
		if (hsu_files_add_program(&files, *argv, &err) < 0)
			ret = fail(&err);
	if (!ret && hsu_files_check(&files, &err))
		ret = fail(&err);
	for (i = 0; i < o->nr_pids && !ret; i++)
		if (hsu_files_add_process(&files, o->pids[i], &err))
			ret = fail(&err);
	if (!ret && o->dry_run)
		show_all(&files, o);
	else if (!ret)
		ret = register_all(&files, o);
	hsu_files_free(&files);
	return ret;
}

/* Finds a registered file by identity, or by the name that --list shows. */
static int find_image(int dev, const char *what, u64 *found,
		      struct hsu_error *err)
{
	char *path = hsu_find_program(what, err);
	struct hsu_image_entry e;
	bool have = false;
	struct stat st;
	u64 id = 0;
	int ret;

	if (path && !stat(path, &st))
		have = true;
	while ((ret = hsu_device_image_next(dev, id, &e, err)) > 0) {
		if ((have && e.info.dev == st.st_dev &&
		     e.info.ino == st.st_ino) ||
		    (path && !strcmp(e.path, path)) || !strcmp(e.path, what))
			break;
		id = e.info.id + 1;
	}
	*found = e.info.id;
	free(path);
	if (ret)
		return ret < 0 ? -1 : 0;
	return hsu_fail(err, "%s is not registered: --list shows what is", what);
}

static int run_remove(int dev, const char *what, struct hsu_error *err)
{
	u64 id;
	int pid;

	if (!strcmp(what, "all"))
		return hsu_device_remove_all(dev, err);
	if (parse_pid(what, &pid))
		return hsu_device_process_remove(dev, pid, err);
	if (find_image(dev, what, &id, err))
		return -1;
	return hsu_device_image_remove(dev, id, what, err);
}

static int run_query(const struct options *o)
{
	struct hsu_show how = { .json = o->json, .verbose = o->verbose };
	struct hsu_error err;
	int dev, ret;

	dev = hsu_device_open(&err);
	if (dev < 0)
		return fail(&err);
	if (o->mode == MODE_LIST)
		ret = hsu_show_list(dev, &how, &err);
	else if (o->mode == MODE_STATUS)
		ret = hsu_show_status(dev, &how, &err);
	else
		ret = run_remove(dev, o->remove, &err);
	hsu_device_close(dev);
	return ret ? fail(&err) : EXIT_SUCCESS;
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
	OPT_LIST = 256, OPT_STATUS, OPT_REMOVE, OPT_JSON, OPT_DRY_RUN,
	OPT_NO_DEBUG, OPT_HELP, OPT_VERSION,
};

static const struct option long_options[] = {
	{ "pid", required_argument, NULL, 'p' },
	{ "list", no_argument, NULL, OPT_LIST },
	{ "status", no_argument, NULL, OPT_STATUS },
	{ "remove", required_argument, NULL, OPT_REMOVE },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "dry-run", no_argument, NULL, OPT_DRY_RUN },
	{ "no-debug", no_argument, NULL, OPT_NO_DEBUG },
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
		say("", "out of memory");
		return EXIT_FAILURE;
	}
	while ((c = getopt_long(argc, argv, "p:vq", long_options, NULL)) != -1) {
		switch (c) {
		case 'p':
			if (!parse_pid(optarg, &o->pids[o->nr_pids]))
				return usage_error("not a process number: ",
						   optarg);
			o->nr_pids++;
			break;
		case 'v':
			o->verbose = true;
			break;
		case 'q':
			quiet = true;
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
		case OPT_DRY_RUN:
			o->dry_run = true;
			break;
		case OPT_NO_DEBUG:
			o->no_debug = true;
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
	if (o->json && (add ? !o->dry_run : o->mode == MODE_REMOVE))
		return usage_error("--json needs --list, --status or --dry-run",
				   "");
	return -1;
}

int main(int argc, char **argv)
{
	struct options o = { .mode = MODE_ADD };
	int ret;

	ret = parse_options(argc, argv, &o);
	if (ret < 0)
		ret = check_options(&o, optind < argc);
	if (ret < 0)
		ret = o.mode == MODE_ADD ? run_add(argv + optind, &o)
					 : run_query(&o);
	free(o.pids);
	if (fflush(stdout) || ferror(stdout)) {
		say("", "standard output cannot be written");
		return EXIT_FAILURE;
	}
	return ret;
}
