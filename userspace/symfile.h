/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A copy of an ELF file with other symbols.
 */
#ifndef HSU_SYMFILE_H
#define HSU_SYMFILE_H

#include "codenames.h"
#include "symtab.h"

/**
 * hsu_symfile_write() - write what perf needs of a file, with readable symbols
 * @elf: the file.
 * @tab: its symbols; those outside of Haskell code stay as they are.
 * @built: its image.
 * @names: names of its Haskell code; strings are added.
 * @fd: an empty file, open for writing.
 * @path: what to call it in messages.
 * @err: filled in on failure.
 *
 * The copy has the same build-id, code, unwind and debugging information at
 * the same offsets. What a profiler does not read, such as data, is left out
 * as a hole.
 *
 * Return: 0, or -1 with @err set.
 */
int hsu_symfile_write(struct hsu_elf *elf, const struct hsu_symtab *tab,
		      const struct hsu_built *built, struct hsu_names *names,
		      int fd, const char *path, struct hsu_error *err);

/**
 * hsu_symfile_is_ours() - has hsu_symfile_write() made this file?
 * @fd: an open file.
 */
bool hsu_symfile_is_ours(int fd);

#endif /* HSU_SYMFILE_H */
