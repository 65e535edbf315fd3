// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hash table of offsets, with linear probing.
 */
#include <stdlib.h>
#include <string.h>

#include "strtab.h"

static u64 hash(const char *text)
{
	u64 h = 0xcbf29ce484222325ULL;	/* FNV-1a */

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3ULL;
	return h ^ h >> 29;
}

static u32 *find_slot(const struct hsu_strtab *s, const char *text)
{
	size_t mask = s->nr_slots - 1, i = hash(text) & mask;

	while (s->slots[i] && strcmp(s->text + s->slots[i], text))
		i = (i + 1) & mask;
	return &s->slots[i];
}

static bool grow_slots(struct hsu_strtab *s)
{
	size_t nr = s->nr_slots, i;
	u32 *old = s->slots;

	if (2 * (s->used + 1) <= nr)
		return true;
	s->nr_slots = nr ? 2 * nr : 1024;
	s->slots = calloc(s->nr_slots, sizeof(*s->slots));
	if (!s->slots) {
		s->slots = old;
		s->nr_slots = nr;
		return false;
	}
	for (i = 0; i < nr; i++)
		if (old[i])
			*find_slot(s, s->text + old[i]) = old[i];
	free(old);
	return true;
}

static bool grow_text(struct hsu_strtab *s, size_t len)
{
	size_t cap = s->cap;
	char *text;

	if (s->len + len > 0xffffffff)
		return false;
	while (s->len + len > cap)
		cap = cap ? 2 * cap : 1u << 16;
	if (cap == s->cap)
		return true;
	text = realloc(s->text, cap);
	if (!text)
		return false;
	s->text = text;
	s->cap = cap;
	return true;
}

u32 hsu_strtab_add(struct hsu_strtab *s, const char *text)
{
	size_t len = strlen(text) + 1;
	u32 *slot;

	if (!grow_text(s, len + 1) || !grow_slots(s)) {
		s->failed = true;
		return 0;
	}
	if (!s->len)
		s->text[s->len++] = 0;
	if (!*text)
		return 0;
	slot = find_slot(s, text);
	if (!*slot) {
		*slot = (u32)s->len;
		memcpy(s->text + s->len, text, len);
		s->len += len;
		s->used++;
	}
	return *slot;
}

void hsu_strtab_free(struct hsu_strtab *s)
{
	free(s->text);
	free(s->slots);
	memset(s, 0, sizeof(*s));
}
