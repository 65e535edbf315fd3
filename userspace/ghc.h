/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between versions of GHC.
 */
#ifndef HSU_GHC_H
#define HSU_GHC_H

#include "hsu_core.h"

/* Kinds of closures, by what their info tables look like. */
enum hsu_ghc_kind {
	HSU_GHC_OTHER,		/* unknown, or of no use as evidence */
	HSU_GHC_CONSTR,		/* the SRT field holds a constructor number */
	HSU_GHC_HEAP,		/* layout: numbers of pointers and others */
	HSU_GHC_FRAME,		/* layout: bitmap */
	HSU_GHC_BIG_FRAME,	/* layout: offset of a bitmap */
};

#define HSU_GHC_MAX_TYPE	64
#define HSU_GHC_UNDERFLOW	35	/* the frame that leads to the next chunk */

/**
 * hsu_ghc_closure() - kind of a closure type
 * @type: number in the info table; any value.
 */
enum hsu_ghc_kind hsu_ghc_closure(u32 type);

/**
 * hsu_ghc_rts_frame() - is it a frame type that only the RTS has code for?
 * @type: number in the info table; any value.
 *
 * Return: a small number that is different for each such type, or -1.
 */
int hsu_ghc_rts_frame(u32 type);

/**
 * hsu_ghc_layout() - layout of the RTS of a version
 * @version: major * 100 + minor, 0: not known.
 * @profiled: for profiled code.
 * @ghc: out: the layout; its version is @version if that is known exactly,
 *	else that of the nearest known one.
 *
 * Return: true if @version is known exactly.
 */
bool hsu_ghc_layout(unsigned int version, bool profiled,
		    struct hsunwind_ghc *ghc);

/**
 * hsu_ghc_version() - parse a version
 * @text: starts with a version like "9.0.2".
 * @len: bytes that may be read.
 * @out: the version as text.
 * @cap: room in @out.
 *
 * Return: major * 100 + minor, or 0 if @text is no version of GHC.
 */
unsigned int hsu_ghc_version(const char *text, size_t len, char *out,
			     size_t cap);

#endif /* HSU_GHC_H */
