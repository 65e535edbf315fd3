// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory and the files of the process that is walked, and reads of it.
 */
#include <stdlib.h>

#include "check.h"
#include "model.h"
#include "model_priv.h"

u8 *model_locate(struct model *m, u64 addr, u64 len)
{
	const struct area *a;

	for (a = m->areas; a < m->areas + MODEL_AREAS; a++)
		if (addr - a->base < a->size &&
		    len <= a->size - (addr - a->base))
			return a->data + (addr - a->base);
	return NULL;
}

/* Stores that do not fit are none: the input has wanted too much. */
void model_store(struct model *m, u64 addr, u64 value)
{
	u8 *p = model_locate(m, addr, 8);
	struct undo *undo;

	if (!p || m->nr_undo == ARRAY_SIZE(m->undo))
		return;
	undo = &m->undo[m->nr_undo++];
	undo->where = p;
	memcpy(&undo->value, p, 8);
	memcpy(p, &value, 8);
}

u64 model_load(struct model *m, u64 addr)
{
	const u8 *p = model_locate(m, addr, 8);
	u64 value = 0;

	if (p)
		memcpy(&value, p, 8);
	return value;
}

void model_undo(struct model *m, u32 nr)
{
	while (m->nr_undo > nr) {
		const struct undo *u = &m->undo[--m->nr_undo];

		memcpy(u->where, &u->value, 8);
	}
}

static bool model_read(void *ctx, u64 addr, void *dst, u32 len)
{
	struct model *m = ctx;
	const u8 *src;
	u32 i;

	m->reads++;
	/* Mostly there is nothing of that kind. */
	if (!m->unruly)
		goto read;
	for (i = 0; i < m->nr_races; i++)
		if (m->races[i].read == m->reads)
			model_store(m, m->races[i].addr, m->races[i].value);
	for (i = 0; i < m->nr_fails; i++)
		if (m->fails[i] == m->reads)
			return false;
	if (m->fail_from && m->reads >= m->fail_from)
		return false;
	if (addr < m->hidden_end && addr + len > m->hidden)
		return false;
read:
	src = model_locate(m, addr, len);
	if (!src)
		return false;
	memcpy(dst, src, len);
	return true;
}

int model_walk(struct model *m, struct hsu_walk *w, u64 *out, u8 *kinds)
{
	u32 mark = m->nr_undo;
	int stop;

	*w = m->in;
	w->env.read = model_read;
	w->env.ctx = m;
	w->maps = m->maps;
	w->nr_maps = m->nr_maps;
	w->out = out;
	w->kinds = m->no_kinds ? NULL : kinds;
	m->reads = 0;
	m->unruly = m->nr_races || m->nr_fails || m->fail_from || m->hidden_end;
	stop = hsu_walk(w);
	model_undo(m, mark);
	return stop;
}

struct model *model_create(void)
{
	struct model *m = calloc(1, sizeof(*m));

	check(m, "there is memory");
	m->world = world_create();
	m->lib = world_create();
	m->areas[0] = (struct area){ WORLD_HEAP, WORLD_SIZE, m->world->heap };
	m->areas[1] = (struct area){ WORLD_STACK, WORLD_SIZE, m->world->stack };
	m->areas[2] = (struct area){ WORLD_BASE, WORLD_TEXT, m->world->text };
	m->areas[3] = (struct area){ LIB_BASE, WORLD_TEXT, m->lib->text };
	m->areas[4] = (struct area){ JIT_BASE, JIT_SIZE, m->jit };
	m->areas[5] = (struct area){ TOP_BASE, sizeof(m->top), m->top };
	m->fresh = malloc(m->world->image->size);
	check(m->fresh, "there is memory");
	memcpy(m->fresh, m->world->image, m->world->image->size);
	return m;
}
