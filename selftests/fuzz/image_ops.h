/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an input of the fuzzer of image validation says: what is changed in a
 * valid image.
 */
#ifndef IMAGE_OPS_H
#define IMAGE_OPS_H

/* X(name, what it does with a, b and c) */
#define IMAGE_OPS(X)							\
	X(head8, "byte b of the header is c")				\
	X(head16, "half word b of the header is c")			\
	X(head32, "word b of the header is c")				\
	X(add32, "c is added to word b of the header")			\
	X(seg, "segment a: double word b is c, shifted up by b / 4")	\
	X(rule, "rule a: byte b is c")					\
	X(pc, "address b is c")						\
	X(id, "rule number b is c")					\
	X(ghc, "layout: half word b is c")				\
	X(len, "the length that is told is c more; a: also in the header") \
	X(look, "look address c up")					\
	X(bias, "where does a mapping at double word c, file offset b, put it")

enum image_op {
#define IMAGE_OP_ENUM(name, text)	IMAGE_##name,
	IMAGE_OPS(IMAGE_OP_ENUM)
	IMAGE_NR
};

#endif /* IMAGE_OPS_H */
