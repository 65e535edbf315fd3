/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Inputs of the fuzzers: lists of records of one size, each an operation with
 * operands. Any bytes are a list, so that any mutation is one too; and a list
 * can be written down as text, one operation a line (text.c).
 */
#ifndef RECORDS_H
#define RECORDS_H

#include "hsu_env.h"

/**
 * struct record - one operation
 * @op: which; taken modulo the number of operations of the target.
 * @a: first operand.
 * @b: second operand.
 * @c: third operand.
 *
 * What the operands mean is told where the target's operations are listed.
 */
struct record {
	u8 op;
	u8 a;
	u16 b;
	s32 c;
};

#define MAX_RECORDS	512

/**
 * records_read() - the records of an input
 * @data: the input.
 * @len: its length in bytes; what is left over at the end is ignored.
 * @out: room for %MAX_RECORDS.
 *
 * Return: number of records.
 */
u32 records_read(const u8 *data, size_t len, struct record *out);

#endif /* RECORDS_H */
