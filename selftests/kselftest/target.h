/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The test program is also the program under test, in copies of its own. Their
 * image says that f2 has no caller. So the chain of one that is unwound by the
 * module is "leaf f3 f2", and one that is left to the kernel, "leaf f3 f2 f1
 * main". What a target is to do it reads from a pipe, a letter each:
 *
 *	s	sample and write the chain
 *	f	fork; the child samples and writes
 *	v	vfork; the child executes the program named on the command line
 *		with the argument "once"
 *	m	map the file that is named there, and sample in that copy
 *	d, D	be not dumpable, or dumpable, and sample
 *	n	go to a user namespace of its own, and sample
 */
#ifndef TARGET_H
#define TARGET_H

#include <sys/types.h>

#include "device.h"

#define BY_MODULE "leaf f3 f2"
#define BY_KERNEL "leaf f3 f2 f1 main"

struct target {
	pid_t pid;
	int in, out;
};

/* Makes a copy of the test program. Exits if it cannot. */
void copy_self(const char *to);

/*
 * Makes two of them in a new folder in @where, and the image of the first. The
 * names go to @dir (64 bytes), @exe and @other (80 each). Exits if it cannot.
 */
void copies_make(const char *where, char *dir, char *exe, char *other,
		 struct test_image *image);

/*
 * Runs @exe, a copy of the test program; @other is the file for the letters v
 * and m. Exits if it cannot. Returns when it has been executed.
 */
void target_start(struct target *t, const char *exe, const char *other);
void target_stop(struct target *t);

/* Lets it do something; returns the chain that it writes. */
const char *target_ask(const struct target *t, char what);

/* Likewise, of one that is started for that and stopped again. */
const char *target_once(const char *exe, const char *other, char what);

/* For the test program's main() if it has two arguments. */
int target_main(char **argv);

void pause_ms(long ms);

/* What the worker does for us takes a moment: waits up to 5 s for @cond. */
#define EVENTUALLY(cond)						\
	({								\
		int _i;							\
		for (_i = 0; _i < 500 && !(cond); _i++)			\
			pause_ms(10);					\
		_i < 500;						\
	})

#endif /* TARGET_H */
