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
u32 hsu_module_of(struct hsu_names *names, const char *name)
{
	const char *p = name + (*name == ':');
	char module[HSU_MAX_NAME];
	size_t len = 0, n;

	while ((*p >= 'A' && *p <= 'Z') || (unsigned char)*p >= 0x80) {
		n = strcspn(p, ".");
		if (p[n] != '.' || !p[n + 1])
			break;
		p += n;
		len = (size_t)(p - name);
		p++;
	}
	snprintf(module, sizeof(module), "%.*s", (int)len, name);
	return hsu_strtab_add(&names->strings, module);
}

/* Between what modules, as the linker has put them one after the other. */
static void find_modules(struct hsu_names *names)
{
	u32 module = 0;
	size_t i;

	for (i = 0; i < names->nr; i++) {
		struct hsu_proc *p = &names->procs[i];

		if (p->rts)
			module = 0;
		if (p->owner.name && !p->rts) {
			p->owner.module =
				hsu_module_of(names, names->strings.text +
					      p->owner.name);
			module = p->owner.module;
		}
		p->before = module;
	}
	module = 0;
	for (i = names->nr; i-- > 0;) {
		struct hsu_proc *p = &names->procs[i];

		if (p->rts || p->owner.name)
			module = p->rts ? 0 : p->owner.module;
		p->behind = module;
	}
}

/*
 * Code that nothing refers to, or too many seem to, is of the module before and
 * behind it if that is the same one: the linker does not mix modules.
 */
static void take_neighbours(struct hsu_names *names)
{
	size_t i, from = 0;
	u32 last = 0;

	for (i = 0; i < names->nr; i++) {
		const struct hsu_owner *o = &names->procs[i].owner;

		if (!o->module || o->contended) {
			if (names->procs[i].rts)
				last = 0;
			continue;
		}
		for (; o->module == last && from < i; from++)
			names->procs[from].owner = (struct hsu_owner){
				.name = last, .module = last, .of_module = true,
			};
		last = o->module;
		from = i + 1;
	}
}

static const struct hsu_names *sorting;

static int by_owner(const void *a, const void *b)
{
	u32 x = *(const u32 *)a, y = *(const u32 *)b;
	const struct hsu_proc *p = sorting->procs;

	if (p[x].owner.name != p[y].owner.name)
		return p[x].owner.name < p[y].owner.name ? -1 : 1;
	return x < y ? -1 : x > y;
}

static void name_local(struct hsu_names *names, struct hsu_proc *p,
		       unsigned int nr, const char *file)
{
	const char *text = names->strings.text;
	char name[HSU_MAX_NAME + 512];
	size_t n;

	if (p->owner.name && !p->owner.contended) {
		n = snprintf(name, sizeof(name), "%s.<local%u>",
			     text + p->owner.name, nr);
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

		n = i && names->procs[order[i - 1]].owner.name ==
			p->owner.name ? n + 1 : 1;
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
	find_modules(names);
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
