/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which code an image says is of a class.
 */
#ifndef HSU_IMAGE_RANGES_H
#define HSU_IMAGE_RANGES_H

#include "image_build.h"

/**
 * hsu_image_ranges() - visit the code of one class
 * @built: the image.
 * @cls: HSUNWIND_CLASS_*.
 * @fn: called for each contiguous range, in order; what has no rule between two
 *	parts does not count as an end.
 * @ctx: for @fn.
 */
void hsu_image_ranges(const struct hsu_built *built, u8 cls,
		      void (*fn)(void *ctx, u64 start, u64 end), void *ctx);

#endif /* HSU_IMAGE_RANGES_H */
