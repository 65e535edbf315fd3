// SPDX-License-Identifier: GPL-2.0-only
/*
 * Names for procedures that have none of their own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codenames.h"
#include "symtab.h"
#include "zdecode.h"

/* Number of the first procedure that begins behind an address. */
static size_t first_behind(const struct hsu_names *names, u64 addr)
{
	size_t lo = 0, hi = names->nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (names->procs[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct hsu_proc *hsu_names_at(const struct hsu_names *names, u64 addr)
{
	size_t n = first_behind(names, addr);

	return n && addr < names->procs[n - 1].end ? &names->procs[n - 1] : NULL;
}

bool hsu_names_begin(const struct hsu_names *names, u64 addr)
{
	size_t n = first_behind(names, addr);
	const struct hsu_proc *p = names->procs;

	return (n && p[n - 1].addr == addr) ||
	       (n < names->nr && p[n].cont && p[n].table == addr);
}

/* Words that begin with a capital, as long as a '.' and something follows. */
size_t hsu_module_len(const char *name)
{
	const char *p = name + (*name == ':');
	size_t len = 0, n;

	while ((*p >= 'A' && *p <= 'Z') || (unsigned char)*p >= 0x80) {
		n = strcspn(p, ".");
		if (p[n] != '.' || !p[n + 1])
			break;
		p += n;
		len = (size_t)(p - name);
		p++;
	}
	return len;
}

/* The module of what has a name, 0 if it has none. */
static size_t module_of(const struct hsu_names *names, const struct hsu_proc *p)
{
	if (!p->owner || p->rts || p->source > HSU_NAME_DEBUG)
		return 0;
	return hsu_module_len(names->strings.text + p->owner);
}

/*
 * Code that nothing refers to is of the module before and behind it if that is
 * the same one: the linker does not mix modules.
 */
static void take_neighbours(struct hsu_names *names)
{
	const char *last = NULL;
	size_t len = 0, i, j, from = 0, n;
	char module[256];
	u32 name;

	for (i = 0; i < names->nr; i++) {
		struct hsu_proc *p = &names->procs[i];
		const char *text = names->strings.text + p->owner;

		if (p->source > HSU_NAME_DEBUG)
			continue;
		n = module_of(names, p);
		if (n && n == len && n < sizeof(module) && !memcmp(text, last, n)) {
			memcpy(module, text, n);
			module[n] = 0;
			name = hsu_strtab_add(&names->strings, module);
			for (j = from; j < i; j++) {
				struct hsu_proc *q = &names->procs[j];

				if (q->owner && !q->contended)
					continue;
				q->owner = name;
				q->of_module = true;
				q->contended = false;
			}
		}
		last = names->strings.text + p->owner;
		len = n;
		from = i + 1;
	}
}

static const struct hsu_names *sorting;

static int by_owner(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	const struct hsu_proc *p = sorting->procs;

	if (p[x].owner != p[y].owner)
		return p[x].owner < p[y].owner ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void name_local(struct hsu_names *names, struct hsu_proc *p,
		       unsigned int nr, const char *file)
{
	const char *text = names->strings.text;
	char name[HSU_MAX_NAME + 512];
	size_t n;

	if (p->owner && !p->contended) {
		n = snprintf(name, sizeof(name), "%s.<local%u>",
			     text + p->owner, nr);
		p->source = HSU_NAME_OWNER;
	} else {
		n = snprintf(name, sizeof(name), "%s.hs_0x%llx", file,
			     (unsigned long long)p->addr);
	}
	if (p->where && n < sizeof(name))
		snprintf(name + n, sizeof(name) - n, " (%s)", text + p->where);
	p->name = hsu_strtab_add(&names->strings, name);
}

/* All local code of a function is numbered in the order of addresses. */
static bool name_locals(struct hsu_names *names, const char *file)
{
	u32 *order = calloc(names->nr + 1, sizeof(*order));
	size_t nr = 0, i;
	unsigned int n = 0;

	if (!order)
		return false;
	for (i = 0; i < names->nr; i++)
		if (!names->procs[i].name && !names->procs[i].function)
			order[nr++] = (u32)i;
	sorting = names;
	qsort(order, nr, sizeof(*order), by_owner);
	for (i = 0; i < nr; i++) {
		struct hsu_proc *p = &names->procs[order[i]];

		n = i && names->procs[order[i - 1]].owner == p->owner ? n + 1 : 1;
		if (p->rts)
			p->name = hsu_strtab_add(&names->strings, HSU_RTS_NAME);
		else
			name_local(names, p, n, file);
	}
	for (i = 0; i < names->nr; i++) {
		struct hsu_proc *p = &names->procs[i];
		const struct hsu_proc *q = hsu_names_at(names, p->function);

		if (!p->name && q) {
			p->name = q->name;
			p->source = q->source;
		}
	}
	free(order);
	return true;
}

bool hsu_names_find(struct hsu_elf *elf, struct hsu_elf *debug,
		    const struct hsu_symtab *tab, const struct hsu_built *built,
		    unsigned int flags, struct hsu_names *names)
{
	const char *file = strrchr(hsu_elf_name(elf), '/');
	size_t i;

	memset(names, 0, sizeof(*names));
	names->exact = flags & HSU_NAMES_EXACT;
	file = file ? file + 1 : hsu_elf_name(elf);
	if (!hsu_procs_find(elf, debug, tab, built, flags, names))
		return false;
	if (tab->nr && !hsu_owners_find(elf, tab, names))
		return false;
	take_neighbours(names);
	if (!name_locals(names, file))
		return false;
	for (i = 0; i < names->nr; i++)
		names->count[names->procs[i].source]++;
	return !names->strings.failed;
}

void hsu_names_free(struct hsu_names *names)
{
	free(names->procs);
	free(names->conts);
	hsu_strtab_free(&names->strings);
	memset(names, 0, sizeof(*names));
}
