/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A string table that holds every string once, laid out as ELF wants it.
 */
#ifndef HSU_STRTAB_H
#define HSU_STRTAB_H

#include <stdbool.h>
#include <stddef.h>

#include "hsu_core.h"

/**
 * struct hsu_strtab - the table
 * @text: all strings, each with its 0; the empty one is at 0.
 * @len: bytes in @text.
 * @failed: memory has run out; some strings are missing.
 *
 * All zero is an empty table.
 */
struct hsu_strtab {
	char *text;
	size_t len;
	bool failed;

	/* private: */
	size_t cap;
	u32 *slots;
	size_t nr_slots;
	size_t used;
};

/**
 * hsu_strtab_add() - put a string into the table, or find it there
 * @s: the table.
 * @text: the string.
 *
 * Return: where it is in @s->text: equal strings, equal numbers. 0 if it is
 * empty or memory is short.
 */
u32 hsu_strtab_add(struct hsu_strtab *s, const char *text);
void hsu_strtab_free(struct hsu_strtab *s);

#endif /* HSU_STRTAB_H */
