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

/* A local procedure, and where the first of its code is. */
struct local {
	u32 owner;
	u32 first;	/* number of that procedure, a slow entry may lie before */
	u32 proc;
};

static int by_owner(const void *a, const void *b)
{
	const struct local *x = a, *y = b;

	if (x->owner != y->owner)
		return x->owner < y->owner ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
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

/* A slow entry has the name of its function. */
static void name_slow_entries(struct hsu_names *names)
{
	size_t i;

	for (i = 0; i < names->nr; i++) {
		struct hsu_proc *p = &names->procs[i];
		const struct hsu_proc *q = hsu_names_at(names, p->function);

		if (!p->name && q) {
			p->name = q->name;
			p->source = q->source;
		}
	}
}

/* What has no name yet, by owner and in the order of addresses. */
static size_t list_locals(const struct hsu_names *names, struct local *locals)
{
	const struct hsu_proc *procs = names->procs, *q;
	size_t nr = 0, i;

	for (i = 0; i < names->nr; i++)
		locals[i].first = (u32)i;
	for (i = names->nr; i-- > 0;) {
		q = hsu_names_at(names, procs[i].function);
		if (q)
			locals[q - procs].first = (u32)i;
	}
	for (i = 0; i < names->nr; i++)
		if (!procs[i].name && !procs[i].function)
			locals[nr++] = (struct local){
				procs[i].owner.name, locals[i].first, (u32)i,
			};
	qsort(locals, nr, sizeof(*locals), by_owner);
	return nr;
}

/* All local code of a function is numbered as the file has it. */
static bool name_locals(struct hsu_names *names, const char *file)
{
	struct local *locals = calloc(names->nr + 1, sizeof(*locals));
	unsigned int n = 0;
	size_t nr, i;

	if (!locals)
		return false;
	nr = list_locals(names, locals);
	for (i = 0; i < nr; i++) {
		struct hsu_proc *p = &names->procs[locals[i].proc];

		n = i && locals[i - 1].owner == locals[i].owner ? n + 1 : 1;
		if (p->rts)
			p->name = hsu_strtab_add(&names->strings, HSU_RTS_NAME);
		else
			name_local(names, p, n, file);
	}
	name_slow_entries(names);
	free(locals);
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
