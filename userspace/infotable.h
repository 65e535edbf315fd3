/* SPDX-License-Identifier: GPL-2.0-only */
/* Recognises GHC's info tables in front of code, with or without symbols. */
#ifndef HSU_INFOTABLE_H
#define HSU_INFOTABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "codeflow.h"

/**
 * struct hsu_entry - a place where code is entered from outside
 * @addr: its virtual address.
 * @off: bytes from Sp, at entry, up to the caller's return address.
 * @proc: a function or thunk starts here; else a continuation.
 * @function: it is a function.
 * @last: the outermost frame of a thread is entered: it has no caller.
 * @fixed: @off is certain; else there can be arguments on the stack that it
 *	does not count.
 * @slow: code that takes all arguments from the stack, 0: none.
 * @args: words of arguments on the stack there.
 * @table: bytes of the info table.
 */
struct hsu_entry {
	u64 addr;
	s32 off;
	bool proc;
	bool function;
	bool last;
	bool fixed;
	u64 slow;
	u32 args;
	u32 table;
};

/**
 * hsu_info_map() - find all info tables in a piece of code
 * @code: the code; its @tables is set, and to be freed.
 *
 * hsu_info_entry() is much quicker afterwards.
 *
 * Return: false if memory has run out.
 */
bool hsu_info_map(struct hsu_code *code);

/**
 * hsu_info_entry() - is there an info table in front of this address?
 * @code: the piece of code.
 * @addr: address in it.
 * @entry: out: what is entered there.
 *
 * Checks every field that the closure type constrains, so that instructions
 * do not pass for a table.
 */
bool hsu_info_entry(const struct hsu_code *code, u64 addr,
		    struct hsu_entry *entry);

#endif /* HSU_INFOTABLE_H */
