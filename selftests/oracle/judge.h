/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares the chains that hsunwind finds with the true one, and counts. */
#ifndef ORACLE_JUDGE_H
#define ORACLE_JUDGE_H

#include "truth.h"

/* What describes the program to hsunwind. */
enum source {
	SOURCE_AS_IS,		/* its own files */
	SOURCE_STRIPPED,	/* stripped copies of them */
	SOURCE_NR
};

struct judge;

/**
 * judge_create() - get ready
 * @t: the program, with all its files mapped.
 * @stripped: folder with stripped copies of some of these files, or NULL.
 * @list_scanned: also report where a caller had to be searched for.
 */
struct judge *judge_create(struct tracee *t, const char *stripped,
			   bool list_scanned);

/**
 * judge_step() - compare where the program is now
 * @j: the judge.
 * @truth: the true chain.
 */
void judge_step(struct judge *j, const struct truth *truth);

/**
 * judge_report() - print the account
 * @j: the judge.
 */
void judge_report(const struct judge *j);

/**
 * judge_share() - share of the instructions with the true chain
 * @j: the judge.
 * @s: what described the program.
 * @wrong: out: number of instructions with a wrong chain. Others that are not
 *	exact had a shorter one, with a stop reason.
 *
 * Return: per cent.
 */
double judge_share(const struct judge *j, enum source s, unsigned long *wrong);

#endif /* ORACLE_JUDGE_H */
