// SPDX-License-Identifier: GPL-2.0-only
/*
 * hsunwind-register: tells the kernel module how to unwind a program.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device.h"
#include "files.h"
#include "json.h"
#include "options.h"
#include "show.h"

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

static bool is_own(const struct hsunwind_image_info *info)
{
	return info->flags & HSUNWIND_ADD_OWN && info->uid == getuid();
}

/*
 * A file that is registered already keeps what it was registered as: adding a
 * running process must not disarm its program.
 */
static int old_flags(int dev, const struct hsu_file *f, bool own, u32 *flags,
		     struct hsu_error *err)
{
	struct hsu_image_entry e;
	u64 id = 0;
	int ret;

	*flags = 0;
	while ((ret = hsu_device_image_next(dev, id, &e, err)) > 0) {
		if (e.info.dev == f->dev && e.info.ino == f->ino &&
		    is_own(&e.info) == own)
			*flags = e.info.flags;
		id = e.info.id + 1;
	}
	return ret;
}

/*
 * The kernel goes by the file as it is when it gets the image, which was made
 * from what the file was before.
 */
static bool file_changed(const struct hsu_file *f)
{
	struct stat st;

	return f->fd >= 0 && (fstat(f->fd, &st) ||
			      st.st_mtim.tv_sec != f->mtime.tv_sec ||
			      st.st_mtim.tv_nsec != f->mtime.tv_nsec);
}

/*
 * What is shown is up to the file that is asked for: the libraries that it needs
 * are others' as well.
 */
static int add_file(int dev, const struct hsu_file *f, const struct options *o,
		    struct hsu_error *err)
{
	u32 flags = HSUNWIND_ADD_VDSO;
	u64 id;

	if (f->fd >= 0) {
		if (old_flags(dev, f, o->own, &flags, err))
			return -1;
		if (f->program)
			flags |= HSUNWIND_ADD_PROGRAM;
		if (f->wanted)
			flags = (flags & ~HSUNWIND_SHOW_MASK) | o->show;
	}
	if (o->own)
		flags |= HSUNWIND_ADD_OWN;
	if (hsu_device_image_add(dev, flags, f->fd, f->built.data,
				 f->built.len, f->path, &id, err))
		return -1;
	if (!file_changed(f))
		return 0;
	if (hsu_device_image_remove(dev, id, f->path, err))
		return -1;
	return hsu_fail(err, "%s was changed while it was read: register it again",
			f->path);
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

		if (add_file(dev, f, o, &err)) {
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

/*
 * Says what was written for whom. Who has asked for nothing else must be told if
 * it is not all that it should be.
 */
static int report_symbols(const struct hsu_files *files,
			  const struct options *o)
{
	unsigned int nr = 0, problems = 0;
	u64 bytes = 0;
	char buf[16];
	size_t i;

	for (i = 0; i < files->nr; i++) {
		const struct hsu_file *f = &files->v[i];

		if (f->symbols.problem[0]) {
			problems++;
			if (o->symbols_only)
				say("", f->symbols.problem);
			else
				warn(f->symbols.problem);
		}
		if (!f->symbols.path[0])
			continue;
		nr++;
		bytes += f->symbols.bytes;
		if (!quiet && o->verbose)
			printf("symbols of %s: %s\n", f->path, f->symbols.path);
	}
	if (nr && !quiet)
		printf("wrote symbols of %u file%s for perf: %s; --remove removes them\n",
		       nr, nr > 1 ? "s" : "", hsu_show_bytes(bytes, buf));
	if (!o->symbols_only)
		return EXIT_SUCCESS;
	if (!nr)
		say("", "no symbols have been written");
	return nr && !problems ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Without symbols everything else works as well: a warning is enough. */
static int write_symbols(struct hsu_files *files, const struct options *o)
{
	const struct hsu_symbol_options how = {
		.exact = o->exact_names,
		.no_debug = o->no_debug,
		.dry_run = o->dry_run,
	};
	struct hsu_error err;

	if (hsu_symbols_write(files, &how, &err)) {
		if (o->symbols_only)
			return fail(&err);
		warn(err.msg);
		return 0;
	}
	return o->dry_run ? EXIT_SUCCESS : report_symbols(files, o);
}

static int run_add(const struct options *o)
{
	char **argv = o->args;
	struct hsu_files files = {
		.build_flags = o->no_debug ? HSU_BUILD_NO_DEBUG : 0,
		.warn = warn,
	};
	struct hsu_error err;
	int ret = 0, file;
	size_t i;

	if (hsu_files_add_vdso(&files, &err))
		ret = fail(&err);
	for (; *argv && !ret; argv++) {
		file = hsu_files_add_program(&files, *argv, &err);
		if (file < 0)
			ret = fail(&err);
		else
			files.v[file].wanted = true;
	}
	if (!ret && hsu_files_check(&files, &err))
		ret = fail(&err);
	for (i = 0; i < o->nr_pids && !ret; i++)
		if (hsu_files_add_process(&files, o->pids[i], &err))
			ret = fail(&err);
	if (!ret && !o->dry_run && !o->symbols_only)
		ret = register_all(&files, o);
	if (!ret && !o->no_symbols)
		ret = write_symbols(&files, o);
	if (!ret && o->dry_run)
		show_all(&files, o);
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
	return hsu_fail(err, "%s is not registered: --list shows what is",
			hsu_shown(what));
}

static int run_remove(int dev, const char *what, struct hsu_error *err)
{
	struct hsu_error none;
	u64 id;
	int pid;

	if (!strcmp(what, "all"))
		return hsu_device_remove_all(dev, err);
	if (parse_pid(what, &pid))
		return hsu_device_process_remove(dev, pid, err);
	if (find_image(dev, what, &id, err))
		return -1;
	/* There may be one for everyone's processes, and others. */
	do {
		if (hsu_device_image_remove(dev, id, what, err))
			return -1;
	} while (!find_image(dev, what, &id, &none));
	return 0;
}

/* What is removed need not exist any more. */
static int remove_symbols(const char *what, bool only, struct hsu_error *err)
{
	bool all = !strcmp(what, "all");
	char *path = all ? NULL : hsu_find_program(what, err), buf[16];
	unsigned long files;
	u64 bytes;
	int pid, ret;

	if (!all && parse_pid(what, &pid)) {
		free(path);
		return !only ? 0 : hsu_fail(err,
			"--symbols-only --remove %s: symbols belong to files, not to processes: give the file",
			hsu_shown(what));
	}
	ret = hsu_symbols_remove(all ? NULL : path ? path : what, &files, &bytes,
				 err);
	free(path);
	if (!ret && files && !quiet)
		printf("removed symbols of %lu file%s: %s\n", files,
		       files > 1 ? "s" : "", hsu_show_bytes(bytes, buf));
	if (!ret && !files && only && !all)
		return hsu_fail(err, "perf's cache has no symbols of %s that could be removed",
				hsu_shown(what));
	return ret;
}

static int run_query(const struct options *o)
{
	struct hsu_show how = { .json = o->json, .verbose = o->verbose };
	struct hsu_error err;
	int dev, ret;

	if (o->mode == MODE_REMOVE && !o->no_symbols) {
		ret = remove_symbols(o->remove, o->symbols_only, &err);
		if (ret || o->symbols_only)
			return ret ? fail(&err) : EXIT_SUCCESS;
	}
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

int main(int argc, char **argv)
{
	struct options o;
	int ret;

	/* A file that gets too large is then an error as any other. */
	signal(SIGXFSZ, SIG_IGN);
	ret = options_parse(argc, argv, &o);
	quiet = o.quiet;
	if (ret < 0)
		ret = o.mode == MODE_ADD ? run_add(&o) : run_query(&o);
	free(o.pids);
	if (fflush(stdout) || ferror(stdout)) {
		say("", "standard output cannot be written");
		return EXIT_FAILURE;
	}
	return ret;
}
