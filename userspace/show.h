/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What hsunwind-register shows.
 */
#ifndef HSU_SHOW_H
#define HSU_SHOW_H

#include <stdbool.h>

#include "files.h"

/* How to show it. */
struct hsu_show {
	bool json;
	bool verbose;
};

/* Registered images and processes; 0, or -1 with @err set. */
int hsu_show_list(int dev, const struct hsu_show *how, struct hsu_error *err);
/* Counters; 0, or -1 with @err set. */
int hsu_show_status(int dev, const struct hsu_show *how, struct hsu_error *err);
/* What an image holds. */
void hsu_show_file(const struct hsu_file *file, const struct hsu_show *how);

/* "12.3 KiB"; the buffer holds at least 16 bytes. */
const char *hsu_show_bytes(u64 bytes, char *buf);

#endif /* HSU_SHOW_H */
