/* SPDX-License-Identifier: GPL-2.0-only */
/* What both tools understand by --gc. */
#ifndef HSU_GCMODE_H
#define HSU_GCMODE_H

#include <stdbool.h>
#include <string.h>

#include "hsunwind.h"

/**
 * hsu_gc_mode() - the meaning of an argument of --gc
 * @mode: "collapse", "show" or "drop".
 * @show: of %HSUNWIND_SHOW_MASK: what it says of the collector is set anew.
 *
 * Return: false if it is none of these.
 */
static inline bool hsu_gc_mode(const char *mode, __u32 *show)
{
	__u32 flag = 0;

	if (!strcmp(mode, "show"))
		flag = HSUNWIND_GC_SHOW;
	else if (!strcmp(mode, "drop"))
		flag = HSUNWIND_GC_DROP;
	else if (strcmp(mode, "collapse"))
		return false;
	*show = (*show & ~(HSUNWIND_GC_SHOW | HSUNWIND_GC_DROP)) | flag;
	return true;
}

#endif /* HSU_GCMODE_H */
