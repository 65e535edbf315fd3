/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Symbols for perf, as a part of registration.
 */
#ifndef HSU_SYMBOLS_H
#define HSU_SYMBOLS_H

#include "codenames.h"
#include "error.h"

struct hsu_files;

/**
 * struct hsu_symbols - the symbols for one file
 * @path: where perf will find them; "" if there are none.
 * @bytes: how large that file is on disk; 0 if it has not been written.
 * @count: how many procedures have their name from where.
 * @problem: why there are none, "" if there are or need be none.
 */
struct hsu_symbols {
	char path[4096 + 1024];
	u64 bytes;
	unsigned long count[HSU_NAME_SOURCES];
	char problem[512];
};

/**
 * struct hsu_symbol_options - how symbols are made
 * @exact: keep z-encoded names.
 * @no_debug: do not use debugging information.
 * @dry_run: write nothing.
 */
struct hsu_symbol_options {
	bool exact;
	bool no_debug;
	bool dry_run;
};

/**
 * hsu_symbols_write() - write symbols for the Haskell files of a list
 * @files: the files; each gets its @symbols, unless it has no Haskell code.
 * @how: how.
 * @err: filled in on failure.
 *
 * Return: 0, or -1 with @err set if there is no place for any symbols; a
 * problem with one file is no failure.
 */
int hsu_symbols_write(struct hsu_files *files,
		      const struct hsu_symbol_options *how,
		      struct hsu_error *err);

/**
 * hsu_symbols_remove() - remove what was written
 * @path: of the file, or NULL: all.
 * @files: out: how many files.
 * @bytes: out: how large they were.
 * @err: filled in on failure.
 *
 * Return: 0, or -1 with @err set.
 */
int hsu_symbols_remove(const char *path, unsigned long *files, u64 *bytes,
		       struct hsu_error *err);

#endif /* HSU_SYMBOLS_H */
