/* SPDX-License-Identifier: GPL-2.0-only */
/* The command line of hsunwind-stack. */
#ifndef HSU_STACK_OPTIONS_H
#define HSU_STACK_OPTIONS_H

#include <stdbool.h>
#include <sys/types.h>

#include "hsu_core.h"

/**
 * struct options - what is wanted
 * @pid: the process.
 * @raw: print addresses only.
 * @quiet: print only the summary.
 * @verbose: print registers with incomplete stacks.
 * @show: what is shown of stacks, of %HSUNWIND_SHOW_MASK.
 * @no_debug: ignore .debug_frame.
 * @files: folder of files to read instead, or NULL.
 * @both: look with the mapped files, and again with those of @files.
 * @samples: how often to look.
 * @interval: milliseconds in between.
 * @max_frames: entries of a stack.
 * @max_steps: physical frames and chunks of a stack.
 */
struct options {
	pid_t pid;
	bool raw;
	bool quiet;
	bool verbose;
	__u32 show;
	bool no_debug;
	const char *files;
	bool both;
	unsigned long samples;
	unsigned long interval;
	unsigned long max_frames;
	unsigned long max_steps;
};

/**
 * stack_options_parse() - read and check the command line
 * @argc: as main() has it.
 * @argv: the same.
 * @opt: out: the options.
 *
 * Return: -1 to go on, else the exit status.
 */
int stack_options_parse(int argc, char **argv, struct options *opt);

#endif /* HSU_STACK_OPTIONS_H */
