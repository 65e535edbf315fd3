/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an input of the walk's fuzzer says: the process that is walked, piece by
 * piece. The world is that of the unit tests (unit/world.h); it has a second file
 * of the same kind, and a page of code that no file describes.
 *
 * There is a value, which "val" sets and most operations use; a place, which "at"
 * sets; a cursor on the Haskell stack and one on the C stack, which move upwards
 * by what is put there; and the objects made so far.
 */
#ifndef WALK_OPS_H
#define WALK_OPS_H

/* X(name, what it does with a, b and c) */
#define WALK_OPS(X)							\
	X(val, "value of kind a, number b, plus c: see enum value")	\
	X(at, "the place, likewise")					\
	X(poke, "store the value at the place, and go on by 8")		\
	X(push, "put the value on the Haskell stack, a + 1 times")	\
	X(frame, "a frame of slot a, b words in its payload, c counts repeats") \
	X(gap, "a gap of a words as squeezing makes it, the next lower at value") \
	X(chunk, "a StgStack; the cursor goes b words above its start")	\
	X(close, "end it: stop frame, or if a, underflow frame to the value") \
	X(obj, "an object: see enum object; b: its type, c: a number in it") \
	X(set, "store the value c bytes into object b")			\
	X(cpush, "put the value on the C stack, a + 1 times")		\
	X(cframe, "a return address into row a, plus b; c words below it") \
	X(stgrun, "StgRun's frame and a return address into row a, plus b") \
	X(sigframe, "a signal frame: ip is the value, registers as they are") \
	X(reg, "register a is the value")				\
	X(ip, "the interrupted instruction is the value")		\
	X(hs, "the cursor on the Haskell stack is the value")		\
	X(cs, "the cursor on the C stack is the value")			\
	X(rule, "rule a of file b / 256: field b is c")			\
	X(ghc, "layout of file a: member b is c")			\
	X(head, "header of file a: member b is c")			\
	X(map, "mapping a: member b is c; b: start, end, bias, file")	\
	X(info, "an info table of type a before the place; c: layout")	\
	X(adjustor, "code of an adjustor at the place; a: that pushes")	\
	X(fail, "read number b fails, if a all from there on")		\
	X(hide, "c bytes from the place on cannot be read")		\
	X(race, "before read number b the value is stored at the place") \
	X(limit, "b: most steps, c: entries that fit")			\
	X(flags, "a: HSUNWIND_SHOW_MASK >> 8, b: no kinds, root-most entries << 8")

/* Kinds of values. */
enum value {
	VALUE_NUMBER,	/* c */
	VALUE_HS,	/* the cursor on the Haskell stack */
	VALUE_CS,	/* that on the C stack */
	VALUE_OBJ,	/* object b */
	VALUE_CODE,	/* address b in the first file */
	VALUE_LIB,	/* the same in the second */
	VALUE_JIT,	/* code of no file */
	VALUE_RET,	/* return address of slot b */
	VALUE_HIGH,	/* b in the uppermost bits */
	VALUE_EDGE,	/* an address b at the end of something */
	VALUE_SAME,	/* the value */
	VALUE_AT,	/* what is stored at the place */
	VALUE_REG,	/* register b */
	VALUE_NR,
};

enum object {
	OBJ_TSO,	/* on the latest stack chunk */
	OBJ_TASK,	/* with the latest InCall and Capability */
	OBJ_INCALL,	/* of the latest Task, and thread, over the one before */
	OBJ_CAP,	/* with the latest thread and Task */
	OBJ_CLOSURE,	/* with an info table of its own, of type b */
	OBJ_BCO,	/* of c words */
	OBJ_NR,
};

enum walk_op {
#define WALK_OP_ENUM(name, text)	OP_##name,
	WALK_OPS(WALK_OP_ENUM)
	OP_NR
};

#endif /* WALK_OPS_H */
