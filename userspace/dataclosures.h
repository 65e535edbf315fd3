/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Static closures in the data of a Haskell file.
 */
#ifndef HSU_DATACLOSURES_H
#define HSU_DATACLOSURES_H

#include "codenames.h"

/* A word of data that points into the file. */
struct hsu_word {
	u64 addr;
	u64 value;
};

/**
 * struct hsu_closure - a static closure
 * @addr: where it is.
 * @word: index of its first word in the list.
 * @exported: it has a symbol, from which @owner is.
 * @owner: whose it is.
 */
struct hsu_closure {
	u64 addr;
	size_t word;
	bool exported;
	struct hsu_owner owner;
};

/**
 * struct hsu_closures - the static closures of a file, by address
 * @v: the closures.
 * @nr: their number.
 * @words: words that point into the file, by address.
 * @nr_words: their number.
 */
struct hsu_closures {
	struct hsu_closure *v;
	size_t nr;
	struct hsu_word *words;
	size_t nr_words;

	/* private: */
	size_t cap;
	size_t cap_words;
	bool failed;
};

/**
 * hsu_closures_find() - find the static closures of a file
 * @elf: the file.
 * @tab: its symbols.
 * @names: its procedures: a closure begins with the address of one.
 * @c: out: to be freed with hsu_closures_free(), also on failure.
 *
 * Return: false if memory is short.
 */
bool hsu_closures_find(struct hsu_elf *elf, const struct hsu_symtab *tab,
		       struct hsu_names *names, struct hsu_closures *c);
void hsu_closures_free(struct hsu_closures *c);

/* Index of the closure at exactly this address, -1 if there is none. */
long hsu_closures_at(const struct hsu_closures *c, u64 addr);

#endif /* HSU_DATACLOSURES_H */
