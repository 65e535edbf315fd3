/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers that are not known yet, but by how much some of them differ.
 */
#ifndef HSU_UNKNOWNS_H
#define HSU_UNKNOWNS_H

#include <stdbool.h>
#include <stddef.h>

#include "hsu_core.h"

/* The number 0, which is known. */
#define HSU_ZERO	0

/**
 * struct hsu_unknowns - a set of unknown numbers
 * @v: for each, another one, and by how much it is larger than that.
 * @nr: how many there are, %HSU_ZERO included.
 * @cap: room.
 */
struct hsu_unknowns {
	struct hsu_unknown {
		u32 of;
		s32 above;
	} *v;
	u32 nr;
	size_t cap;
};

/**
 * hsu_unknowns_reset() - forget all
 * @u: the set; all zero at first.
 *
 * Return: false if memory has run out.
 */
bool hsu_unknowns_reset(struct hsu_unknowns *u);
void hsu_unknowns_free(struct hsu_unknowns *u);

/* A new unknown number; 0 if memory has run out. */
u32 hsu_unknowns_add(struct hsu_unknowns *u);

/**
 * hsu_unknowns_root() - the number that stands for all that are related to one
 * @u: the set.
 * @a: the number.
 * @above: out: by how much @a is larger.
 *
 * Return: that number; %HSU_ZERO if @a is known.
 */
u32 hsu_unknowns_root(struct hsu_unknowns *u, u32 a, s32 *above);

/**
 * hsu_unknowns_relate() - one number is larger than another
 * @u: the set.
 * @a: the one.
 * @b: the other.
 * @above: by how much; may be negative.
 *
 * Return: false if this contradicts what is known.
 */
bool hsu_unknowns_relate(struct hsu_unknowns *u, u32 a, u32 b, s32 above);

#endif /* HSU_UNKNOWNS_H */
