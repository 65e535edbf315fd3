/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command line of hsunwind-register.
 */
#ifndef HSU_OPTIONS_H
#define HSU_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "hsunwind.h"

#define NAME	"hsunwind-register"

enum mode {
	MODE_ADD,
	MODE_LIST,
	MODE_STATUS,
	MODE_REMOVE,
};

/**
 * struct options - what is wanted
 * @mode: what to do.
 * @dry_run: only show what would be done.
 * @no_debug: do not use debugging information.
 * @no_symbols: write no symbols for perf.
 * @symbols_only: do nothing else.
 * @exact_names: keep z-encoded names.
 * @own: for the user's own processes only.
 * @show: what is shown of stacks, of %HSUNWIND_SHOW_MASK.
 * @verbose: say more.
 * @quiet: say nothing but errors.
 * @json: print JSON.
 * @remove: what to remove.
 * @pids: processes.
 * @nr_pids: their number.
 * @args: programs, ends with NULL.
 */
struct options {
	enum mode mode;
	bool dry_run;
	bool no_debug;
	bool no_symbols;
	bool symbols_only;
	bool exact_names;
	bool own;
	__u32 show;
	bool verbose;
	bool quiet;
	bool json;
	const char *remove;
	int *pids;
	size_t nr_pids;
	char **args;
};

/**
 * options_parse() - read and check the command line
 * @argc: as main() has it.
 * @argv: the same.
 * @o: out: the options; its @pids are to be freed in any case.
 *
 * Return: -1 to go on, else the exit status.
 */
int options_parse(int argc, char **argv, struct options *o);

/* A process number; false if it is none. */
bool parse_pid(const char *text, int *pid);

#endif /* HSU_OPTIONS_H */
