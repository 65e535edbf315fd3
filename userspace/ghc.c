// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything that depends on the version of GHC.
 *
 * Where the numbers are from: DerivedConstants.h and rts/storage/ClosureTypes.h
 * of each version's package; Task and InCall, which are private to the RTS,
 * from the code of suspendThread() in the packages' libHSrts.
 */
#include <string.h>

#include "ghc.h"

/* The same in 8.8.4, 9.0.2, 9.6.6 and 9.10.3; see rts/storage/ClosureTypes.h. */
enum closure_type {
	CONSTR = 1,
	CONSTR_NOCAF = 7,
	FUN = 8,
	THUNK_STATIC = 21,
	THUNK_SELECTOR = 22,
	IND_STATIC = 28,
	RET_SMALL = 30,
	RET_BIG = 31,
	UPDATE_FRAME = 33,
	CATCH_FRAME = 34,
	UNDERFLOW_FRAME = 35,
	STOP_FRAME = 36,
	ATOMICALLY_FRAME = 55,
	CATCH_RETRY_FRAME = 56,
	CATCH_STM_FRAME = 57,
};

enum hsu_ghc_kind hsu_ghc_closure(u32 type)
{
	if (type >= CONSTR && type <= CONSTR_NOCAF)
		return HSU_GHC_CONSTR;
	if ((type >= FUN && type <= THUNK_SELECTOR) || type == IND_STATIC)
		return HSU_GHC_HEAP;
	if (type == RET_SMALL || hsu_ghc_rts_frame(type) >= 0)
		return HSU_GHC_FRAME;
	if (type == RET_BIG)
		return HSU_GHC_BIG_FRAME;
	return HSU_GHC_OTHER;
}

int hsu_ghc_rts_frame(u32 type)
{
	switch (type) {
	case UPDATE_FRAME:
	case CATCH_FRAME:
	case UNDERFLOW_FRAME:
	case STOP_FRAME:
		return (int)type - UPDATE_FRAME;
	case ATOMICALLY_FRAME:
	case CATCH_RETRY_FRAME:
	case CATCH_STM_FRAME:
		return (int)type - ATOMICALLY_FRAME + 4;
	}
	return -1;
}

#define HEADER		8	/* sizeof(StgHeader) */
#define PROF_HEADER	24	/* the same in profiled code */

/* Offsets of closure fields count from behind the header here. */
static const struct hsunwind_ghc layouts[] = {
	{
		.version = 900,
		.reg_tso = 872,
		.tso_stackobj = 16,
		.stack_size = 0,
		.stack_sp = 8,
		.stack_stack = 16,
		.bco_bitmap = 32,
		.task_incall = { 0x08, 0x78 },
		.incall_suspended = 0x08,
		.incall_task = 0x28,
		.incall_prev = 0x30,
		.task_cap = 0x08,
		.cap_reg = 0x18,
		.reg_task = 0x3a0,
	},
};

static unsigned int distance(unsigned int a, unsigned int b)
{
	return a > b ? a - b : b - a;
}

bool hsu_ghc_layout(unsigned int version, bool profiled,
		    struct hsunwind_ghc *ghc)
{
	u16 header = profiled ? PROF_HEADER : HEADER;
	size_t i, best = 0;

	for (i = 1; i < ARRAY_SIZE(layouts); i++)
		if (distance(version, layouts[i].version) <
		    distance(version, layouts[best].version))
			best = i;
	*ghc = layouts[best];
	ghc->header = header;
	ghc->tso_stackobj += header;
	ghc->stack_size += header;
	ghc->stack_sp += header;
	ghc->stack_stack += header;
	ghc->bco_bitmap += header;
	return ghc->version == version;
}

static size_t number(const char *text, size_t len, unsigned int *out)
{
	size_t i;

	*out = 0;
	for (i = 0; i < len && i < 8 && text[i] >= '0' && text[i] <= '9'; i++)
		*out = *out * 10 + (unsigned int)(text[i] - '0');
	return i;
}

unsigned int hsu_ghc_version(const char *text, size_t len, char *out,
			     size_t cap)
{
	unsigned int major, minor, patch;
	size_t n, m;

	n = number(text, len, &major);
	if (!n || n > 2 || n >= len || text[n] != '.')
		return 0;
	m = number(text + n + 1, len - n - 1, &minor);
	if (!m || m > 2 || major < 6 || major > 99)
		return 0;
	n += 1 + m;
	while (n + 1 < len && text[n] == '.') {
		m = number(text + n + 1, len - n - 1, &patch);
		if (!m)
			break;
		n += 1 + m;
	}
	if (n >= cap)
		n = cap - 1;
	memcpy(out, text, n);
	out[n] = 0;
	return major * 100 + minor;
}
