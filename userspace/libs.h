/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The libraries that a program will be linked with when it is started.
 */
#ifndef HSU_LIBS_H
#define HSU_LIBS_H

#include "error.h"

/**
 * hsu_libs_list() - ask the dynamic linker for a program's libraries
 * @path: absolute path of the program or library.
 * @found: called for each library with its path.
 * @missing: called for each library that was not found, with its name.
 * @ctx: for @found and @missing.
 * @err: filled in on failure.
 *
 * Nothing of the program is executed.
 *
 * Return: 0, or -1 with @err set.
 */
int hsu_libs_list(const char *path, void (*found)(void *ctx, const char *path),
		  void (*missing)(void *ctx, const char *name), void *ctx,
		  struct hsu_error *err);

#endif /* HSU_LIBS_H */
