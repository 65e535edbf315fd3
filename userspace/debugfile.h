/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Separate files with debugging information.
 */
#ifndef HSU_DEBUGFILE_H
#define HSU_DEBUGFILE_H

#include "elffile.h"

/* An opened debug file; @elf is NULL if there is none. */
struct hsu_debugfile {
	struct hsu_elf *elf;
	int fd;
	char path[256];
};

/**
 * hsu_debugfile_open() - find and open the debug file of an ELF file
 * @elf: the file.
 * @d: out: the debug file.
 *
 * Looks for its build-id, then for its .gnu_debuglink, in the usual places. A
 * file with another build-id is not taken.
 */
void hsu_debugfile_open(struct hsu_elf *elf, struct hsu_debugfile *d);
void hsu_debugfile_close(struct hsu_debugfile *d);

#endif /* HSU_DEBUGFILE_H */
