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
 * @ctx: for @found.
 * @err: filled in unless 0 is returned.
 *
 * Nothing of the program is executed.
 *
 * Return: 0; 1 if a library is not found, so that the program cannot start; -1
 * if the dynamic linker cannot tell.
 */
int hsu_libs_list(const char *path, void (*found)(void *ctx, const char *path),
		  void *ctx, struct hsu_error *err);

#endif /* HSU_LIBS_H */
