// SPDX-License-Identifier: GPL-2.0-only
/* Names of the stop reasons, from the one table in the UAPI header. */
#include "hsu_core.h"

static const char * const stop_names[] = {
#define HSU_STOP_NAME(nr, sym, name, text)	[nr] = name,
	HSUNWIND_STOP_REASONS(HSU_STOP_NAME)
};

static const char * const stop_texts[] = {
#define HSU_STOP_TEXT(nr, sym, name, text)	[nr] = text,
	HSUNWIND_STOP_REASONS(HSU_STOP_TEXT)
};

const char *hsu_stop_name(unsigned int stop)
{
	return stop < HSUNWIND_STOP_NR ? stop_names[stop] : "unknown";
}

const char *hsu_stop_text(unsigned int stop)
{
	return stop < HSUNWIND_STOP_NR ? stop_texts[stop] : "unknown";
}
