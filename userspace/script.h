/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs that turn out to be scripts around the real program.
 */
#ifndef HSU_SCRIPT_H
#define HSU_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>

/**
 * struct hsu_script - what a script says about itself
 * @interpreter: first word behind "#!".
 * @target: program that it execs, "" if that is not clear.
 */
struct hsu_script {
	char interpreter[256];
	char target[1024];
};

/**
 * hsu_script_read() - look whether a file is a script
 * @fd: the file.
 * @script: out: what was found.
 *
 * A shell script is read just well enough for wrappers such as /usr/bin/ghc:
 * assignments of strings and variables, and "exec".
 *
 * Return: false if it is no script.
 */
bool hsu_script_read(int fd, struct hsu_script *script);

#endif /* HSU_SCRIPT_H */
