/* SPDX-License-Identifier: GPL-2.0-only */
/* A stack of nothing but C code, as libdw unwinds it. */
#ifndef ORACLE_CSTACK_H
#define ORACLE_CSTACK_H

#include <elfutils/libdwfl.h>

#include "tracee.h"

/**
 * struct c_frame - one frame
 * @slot: address of the return address.
 * @ra: the return address.
 */
struct c_frame {
	u64 slot;
	u64 ra;
};

/**
 * c_stack() - unwind at the first instruction of a function
 * @t: the program; its thread has just been called.
 * @dwfl: session of libdwfl.
 * @frames: filled in, innermost first.
 * @cap: room for so many.
 *
 * Starts from what the registers will be after the function's return: the CFI
 * of StgRun is not right at its first instruction.
 *
 * Return: number of frames, 0 if the thread's start is not reached.
 */
size_t c_stack(struct tracee *t, Dwfl *dwfl, struct c_frame *frames, size_t cap);

#endif /* ORACLE_CSTACK_H */
