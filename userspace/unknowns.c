// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets of related numbers: a union-find whose links have lengths. The root of
 * the set that zero is in is always zero.
 */
#include "unknowns.h"

#include "grow.h"

#include <stdlib.h>
#include <string.h>

bool hsu_unknowns_reset(struct hsu_unknowns *u)
{
	u->nr = 0;
	return hsu_unknowns_add(u) == HSU_ZERO && u->nr;
}

void hsu_unknowns_free(struct hsu_unknowns *u)
{
	free(u->v);
	memset(u, 0, sizeof(*u));
}

u32 hsu_unknowns_add(struct hsu_unknowns *u)
{
	struct hsu_unknown *v = hsu_grow(u->v, u->nr, &u->cap, sizeof(*v));

	if (!v)
		return 0;
	u->v = v;
	u->v[u->nr] = (struct hsu_unknown){ .of = u->nr };
	return u->nr++;
}

u32 hsu_unknowns_root(struct hsu_unknowns *u, u32 a, s32 *above)
{
	struct hsu_unknown *v = u->v;

	*above = 0;
	while (v[a].of != a) {
		u32 next = v[a].of;

		/* Halve the way for the next time. */
		v[a].above += v[next].above;
		v[a].of = v[next].of;
		*above += v[a].above;
		a = v[a].of;
	}
	return a;
}

bool hsu_unknowns_relate(struct hsu_unknowns *u, u32 a, u32 b, s32 above)
{
	s32 from_a, from_b;
	u32 root_a = hsu_unknowns_root(u, a, &from_a);
	u32 root_b = hsu_unknowns_root(u, b, &from_b);

	above += from_b - from_a;	/* of root_a over root_b */
	if (root_a == root_b)
		return !above;
	if (root_a == HSU_ZERO)
		u->v[root_b] = (struct hsu_unknown){ root_a, -above };
	else
		u->v[root_a] = (struct hsu_unknown){ root_b, above };
	return true;
}
