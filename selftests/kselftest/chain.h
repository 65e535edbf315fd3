/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A known chain of calls, and a perf event that samples it.
 *
 * chain_run() calls f1, f2, f3 and leaf, each the only caller of the next; leaf
 * writes to a fresh page. A page-fault event with a period of 1 thus gives
 * exactly one sample, always at the same instruction.
 */
#ifndef CHAIN_H
#define CHAIN_H

#include <linux/types.h>

#define CHAIN_MAX 127

struct chain {
	unsigned int n;
	__u64 ip[CHAIN_MAX];
};

/* One sample of the calling thread, user part, leaf first. Exits on error. */
void chain_sample(struct chain *chain);

/* The same with all of the chain's code @shift bytes further on. */
void chain_sample_at(struct chain *chain, long shift);

/*
 * The functions of a chain by name, "leaf f3 f2 f1 main", without others and
 * without repetitions. @shift as above.
 */
const char *chain_names(const struct chain *chain, long shift);

/* Where f2 is, from the start of the first page of the program. */
void chain_f2(__u32 *from, __u32 *to);

/* The program's first page, and its executable segment. */
extern const char __ehdr_start[];

/* Tests put main(), and what it calls, into this section to be named. */
#define CHAIN_MAIN __attribute__((section("link_main")))

#endif /* CHAIN_H */
