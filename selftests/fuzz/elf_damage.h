/* SPDX-License-Identifier: GPL-2.0-only */
/* Damages an ELF file as an input says: see elf_ops.h. */
#ifndef ELF_DAMAGE_H
#define ELF_DAMAGE_H

#include "elf_ops.h"
#include "records.h"

/* Where a part of the file is. */
struct elf_part {
	u64 at;
	u64 len;
	u64 header;	/* of its section in the file, 0: it is none */
};

struct elf_file {
	u8 *data;
	size_t len;
	struct elf_part parts[AREA_NR];
};

/**
 * struct elf_damage - a damaged copy
 * @data: the file, to be freed with free().
 * @len: its length.
 * @flags: HSU_BUILD_* to build with.
 */
struct elf_damage {
	u8 *data;
	size_t len;
	unsigned int flags;
};

/**
 * elf_file_read() - read a file and find its parts
 * @f: out: the file.
 * @path: its path; the process ends if it is no good file.
 */
void elf_file_read(struct elf_file *f, const char *path);

/**
 * elf_damage() - a copy of one of two files, damaged
 * @d: out: the copy.
 * @files: the files.
 * @r: operations.
 * @nr: their number.
 */
void elf_damage(struct elf_damage *d, const struct elf_file files[2],
		const struct record *r, u32 nr);

#endif /* ELF_DAMAGE_H */
