// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files of the process that an input describes: rules, layout, mappings.
 */
#include "check.h"
#include "model_priv.h"

static struct world *file(struct model *m, u32 i)
{
	return i % MODEL_FILES ? m->lib : m->world;
}

/* An image that is not valid is none that the walk can meet. */
static void try_image(struct world *w, void *member, const void *value,
		      size_t len)
{
	struct hsunwind_image *h = w->image;
	u8 old[8];

	memcpy(old, member, len);
	memcpy(member, value, len);
	if (hsu_image_init(&w->img, h, h->size))
		memcpy(member, old, len);
}

void model_rule(struct model *m, const struct record *r)
{
	struct world *w = file(m, r->b / 256u);
	struct hsunwind_image *h = w->image;
	struct hsunwind_rule *to = (struct hsunwind_rule *)((u8 *)h + h->rules) +
				   r->a % h->nr_rules;
	struct hsunwind_rule new = *to;
	u8 *const bytes[] = { &new.kind, &new.cls, &new.cfa_reg, &new.slots };
	s16 *const words[] = { &new.rbp, &new.rbx, &new.r14, &new.arg };
	u32 nr = r->b % 10;

	if (nr < 4)
		*bytes[nr] = (u8)r->c;
	else if (nr < 8)
		*words[nr - 4] = (s16)r->c;
	else if (nr == 8)
		new.cfa_off = r->c;
	else	/* kind and class together, since they must fit */
		new.kind = (u8)r->c, new.cls = (u8)((u32)r->c >> 8);
	try_image(w, &to->kind, &new.kind, 4);
	try_image(w, &to->cfa_off, &new.cfa_off, 4);
	try_image(w, &to->rbp, &new.rbp, 8);
}

void model_head(struct model *m, const struct record *r)
{
	struct world *w = file(m, r->a);
	struct hsunwind_image *h = w->image;
	u8 byte = (u8)r->c;
	u16 half = (u16)r->c;
	u64 base = (u64)(u32)r->c << 12;

	switch (r->b < 10 ? r->b : r->b % 8) {
	case 0:
		try_image(w, &h->has_stgrun, &byte, 1);
		return;
	case 1:
		try_image(w, &h->nr_stgrun_rets, &byte, 1);
		return;
	case 2:
		try_image(w, &h->stgrun_rule, &half, 2);
		return;
	case 3:
		try_image(w, &h->base, &base, 8);
		return;
	case 8:
		try_image(w, &h->gc_frame, &r->c, 4);
		return;
	case 9:
		try_image(w, &h->gap_frame, &r->c, 4);
		return;
	default:
		try_image(w, &h->stgrun_rets[r->b % 4], &r->c, 4);
	}
}

/* What the kernel makes sure of: mappings are sorted and do not overlap. */
void model_map(struct model *m, const struct record *r)
{
	u32 i = r->a % MODEL_MAPS;
	struct hsu_map new, *to;

	if (i >= m->nr_maps) {
		i = m->nr_maps;
		new = m->maps[i - 1];
		new.start = new.end;
		new.end += 4096;
	} else {
		new = m->maps[i];
	}
	to = &m->maps[i];
	switch (r->b % 5) {
	case 0:
		new.start += (u64)(s64)r->c;
		break;
	case 1:
		new.end += (u64)(s64)r->c;
		break;
	case 2:
		new.bias += (u64)(s64)r->c;
		break;
	case 3:
		new.bias = m->value;
		break;
	default:
		new.img = &file(m, (u32)r->c)->img;
	}
	if (new.start >= new.end || (i && new.start < to[-1].end) ||
	    (i + 1 < m->nr_maps && new.end > to[1].start))
		return;
	*to = new;
	if (i == m->nr_maps)
		m->nr_maps++;
}

void model_ghc(struct model *m, const struct record *r)
{
	struct world *w = file(m, r->a);
	u16 *ghc = (u16 *)&w->image->ghc;

	try_image(w, &ghc[r->b % (sizeof(w->image->ghc) / 2)], &r->c, 2);
}

void model_files_start(struct model *m)
{
	u32 i;

	for (i = 0; i < MODEL_FILES; i++) {
		struct world *w = file(m, i);

		memcpy(w->image, m->fresh, m->fresh->size);
		check(!hsu_image_init(&w->img, w->image, w->image->size),
		      "the image is valid");
		m->maps[i].img = &w->img;
		m->maps[i].start = i ? LIB_BASE : WORLD_BASE;
		m->maps[i].end = m->maps[i].start + WORLD_TEXT;
		m->maps[i].bias = m->maps[i].start;
	}
	m->nr_maps = MODEL_FILES;
}
