// SPDX-License-Identifier: GPL-2.0-only
/*
 * The symbol table that perf is to see: C's symbols as they were, and one for
 * every procedure of Haskell code. All are functions: perf shows what is an
 * object, as GHC's symbols may be, with its offset.
 */
#include <stdlib.h>
#include <string.h>

#include "newsyms.h"

struct maker {
	struct hsu_newsyms *out;
	const Elf64_Shdr *sh;
	size_t nr_sh;
	size_t last;	/* section of the last symbol */
};

static bool contains(const Elf64_Shdr *sh, u64 addr)
{
	return sh->sh_flags & SHF_ALLOC && !(sh->sh_flags & SHF_TLS) &&
	       addr - sh->sh_addr < sh->sh_size;
}

/* Number of the section at an address, 0 if there is none. */
static u16 section_at(struct maker *m, u64 addr)
{
	size_t i;

	if (m->last && contains(&m->sh[m->last], addr))
		return (u16)m->last;
	for (i = 1; i < m->nr_sh; i++) {
		if (contains(&m->sh[i], addr)) {
			m->last = i;
			return (u16)i;
		}
	}
	return 0;
}

static void add(struct maker *m, u32 name, u64 start, u64 end, u8 info)
{
	u16 section = section_at(m, start);

	if (!section || end < start)
		return;
	m->out->v[m->out->nr++] = (Elf64_Sym){
		.st_name = name, .st_info = info, .st_shndx = section,
		.st_value = start, .st_size = end - start,
	};
}

/*
 * A return address points behind the info table of a continuation. For viewers
 * that look one byte before it, the table has the same name.
 */
static void add_procs(struct maker *m, const struct hsu_names *names)
{
	u8 info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	size_t i;

	for (i = 0; i < names->nr; i++) {
		const struct hsu_proc *p = &names->procs[i];

		if (p->cont && p->table < p->addr)
			add(m, p->name, p->table, p->addr, info);
		add(m, p->name, p->addr, p->end, info);
	}
}

static bool is_haskell(const struct hsu_names *names, u64 addr)
{
	return hsu_names_at(names, addr);
}

/* Symbols of C code and of data. */
static void add_others(struct maker *m, const struct hsu_symtab *tab,
		       struct hsu_names *names, bool local)
{
	size_t i;

	for (i = 1; i < tab->nr; i++) {
		const Elf64_Sym *sym = &tab->syms[i];
		u8 type = ELF64_ST_TYPE(sym->st_info);
		const char *name = hsu_symtab_name(tab, sym);

		if ((ELF64_ST_BIND(sym->st_info) == STB_LOCAL) != local ||
		    sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS ||
		    !*name ||
		    (type != STT_NOTYPE && type != STT_FUNC &&
		     type != STT_OBJECT && type != STT_GNU_IFUNC) ||
		    is_haskell(names, sym->st_value))
			continue;
		add(m, hsu_strtab_add(&names->strings, name), sym->st_value,
		    sym->st_value + sym->st_size, sym->st_info);
	}
}

bool hsu_newsyms_make(struct hsu_newsyms *out, const Elf64_Shdr *sh,
		      size_t nr_sh, const struct hsu_symtab *tab,
		      struct hsu_names *names)
{
	struct maker m = { .out = out, .sh = sh, .nr_sh = nr_sh };

	memset(out, 0, sizeof(*out));
	out->v = calloc(1 + 2 * names->nr + tab->nr, sizeof(*out->v));
	if (!out->v)
		return false;
	out->nr = 1;
	add_procs(&m, names);
	add_others(&m, tab, names, true);
	out->nr_local = (u32)out->nr;
	add_others(&m, tab, names, false);
	return !names->strings.failed;
}
