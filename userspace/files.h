/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files that one call of hsunwind-register is about, and their images.
 */
#ifndef HSU_FILES_H
#define HSU_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include "error.h"
#include "image_build.h"
#include "symbols.h"

/**
 * struct hsu_file - a file and its image
 * @path: as people know it.
 * @fd: open for reading, -1 for the vdso.
 * @dev: device, as st_dev has it.
 * @ino: inode.
 * @mtime: when its content was changed last, before it was read.
 * @program: processes that execute it are to be unwound.
 * @wanted: asked for by the user, or executed by a process that is.
 * @foreign: a program that neither is nor is linked with Haskell code.
 * @built: its image.
 * @symbols: its symbols for perf.
 */
struct hsu_file {
	char *path;
	int fd;
	u64 dev;
	u64 ino;
	struct timespec mtime;
	bool program;
	bool wanted;
	bool foreign;
	struct hsu_built built;
	struct hsu_symbols symbols;
};

/**
 * struct hsu_files - a list of files
 * @v: the files.
 * @nr: their number.
 * @cap: room.
 * @haskell_lib: a Haskell library was given, which a program may load later.
 * @build_flags: %HSU_BUILD_* for new ones.
 * @warn: called with a sentence that is no reason to stop.
 */
struct hsu_files {
	struct hsu_file *v;
	size_t nr;
	size_t cap;
	bool haskell_lib;
	unsigned int build_flags;
	void (*warn)(const char *sentence);
};

/**
 * hsu_files_add_program() - a program or library with all it is linked with
 * @files: the list.
 * @arg: path, or the name of a program in PATH.
 * @err: filled in on failure.
 *
 * Return: index of the file itself, behind its libraries; -1 with @err set.
 */
int hsu_files_add_program(struct hsu_files *files, const char *arg,
			  struct hsu_error *err);

/**
 * hsu_files_check() - after the last program: is there Haskell code to unwind?
 * @files: the list.
 * @err: filled in on failure.
 *
 * A program without any is accepted together with a Haskell library, which it
 * can load when it runs.
 *
 * Return: 0, or -1 with @err set.
 */
int hsu_files_check(const struct hsu_files *files, struct hsu_error *err);

/**
 * hsu_files_add_process() - the files that a process executes code of
 * @files: the list.
 * @pid: the process.
 * @err: filled in on failure.
 *
 * Return: 0, or -1 with @err set.
 */
int hsu_files_add_process(struct hsu_files *files, int pid,
			  struct hsu_error *err);

/* Adds the vdso; a system without one is no error. */
int hsu_files_add_vdso(struct hsu_files *files, struct hsu_error *err);

void hsu_files_free(struct hsu_files *files);

/**
 * hsu_find_program() - path of a program
 * @arg: path, or a name to look for here and then in PATH.
 * @err: filled in on failure.
 *
 * Return: absolute path without symbolic links, to be freed with free(); NULL
 * with @err set.
 */
char *hsu_find_program(const char *arg, struct hsu_error *err);

#endif /* HSU_FILES_H */
