/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What lies at a code address of the program: names, instructions, and GHC's
 * info tables. Nothing here is shared with what is tested: names and sections
 * are libdwfl's, layouts are read anew.
 */
#ifndef ORACLE_CODE_H
#define ORACLE_CODE_H

#include <Zydis/Zydis.h>
#include <elfutils/libdwfl.h>

#include "tracee.h"

/* Closure types of frames (rts/storage/ClosureTypes.h, GHC 8.8 to 9.10). */
enum frame_type {
	FRAME_NONE = 0,
	RET_BCO = 29, RET_SMALL = 30, RET_BIG = 31, RET_FUN = 32,
	UPDATE_FRAME = 33, CATCH_FRAME = 34, UNDERFLOW_FRAME = 35,
	STOP_FRAME = 36, ATOMICALLY_FRAME = 55, CATCH_RETRY_FRAME = 56,
	CATCH_STM_FRAME = 57,
};

/**
 * struct code - what is known of one address
 * @addr: the address.
 * @name: function, for reports; "?" if there is none.
 * @offset: distance from its start.
 * @section: section that it is in; NULL outside of files.
 * @section_start: address of that section, to tell sections apart.
 * @is_c: it has CFI, as only C code has in programs of GHC.
 * @entry: code that is entered begins here: a function, a thunk, or another
 *	closure's, or a function of the run-time system.
 * @frame: type of the frame whose return address this is, if any.
 * @insn: the instruction.
 * @op: its operands.
 */
struct code {
	u64 addr;
	const char *name;
	u64 offset;
	const char *section;
	u64 section_start;
	bool is_c;
	bool entry;
	enum frame_type frame;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

/**
 * code_init() - read the symbols of a program
 * @t: the program.
 *
 * Return: the session of libdwfl.
 */
Dwfl *code_init(struct tracee *t);

/**
 * code_at() - look an address up; what has been found is kept
 * @t: the program.
 * @addr: the address.
 *
 * Return: never NULL; valid until the next call.
 */
const struct code *code_at(struct tracee *t, u64 addr);

/**
 * code_symbol() - address of a symbol
 * @name: the symbol.
 *
 * Return: 0 if no file has it.
 */
u64 code_symbol(const char *name);

/**
 * code_function_start() - start of a C function, by its CFI
 * @addr: an address of it.
 *
 * Return: 0 if it has no CFI.
 */
u64 code_function_start(u64 addr);

/**
 * frame_words() - size of a frame on a Haskell stack
 * @t: the program.
 * @slot: address of its return address.
 * @ra: out: the return address.
 * @words: out: size; 0 for the last frame of a chunk.
 *
 * Return: false if there is no frame.
 */
bool frame_words(struct tracee *t, u64 slot, u64 *ra, u64 *words);

#endif /* ORACLE_CODE_H */
