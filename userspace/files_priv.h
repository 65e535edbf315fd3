/* SPDX-License-Identifier: GPL-2.0-only */
/* What files.c and procfiles.c share. */
#ifndef HSU_FILES_PRIV_H
#define HSU_FILES_PRIV_H

#include <stdarg.h>
#include <stdio.h>

#include "files.h"

/* Index of a file in the list, -1 if it is not there. */
int hsu_files_find(const struct hsu_files *files, u64 dev, u64 ino);

/*
 * Adds an open file, or finds it; takes over @fd in any case. Returns its index,
 * or -1 with @err set.
 */
int hsu_files_add_fd(struct hsu_files *files, int fd, const char *path,
		     struct hsu_error *err);

/* Opens what may not be a regular file without waiting for anything. */
int hsu_open_elf(const char *path);

HSU_PRINTF(2, 3)
void hsu_files_warn(const struct hsu_files *files, const char *fmt, ...);

#endif /* HSU_FILES_PRIV_H */
