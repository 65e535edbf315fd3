// SPDX-License-Identifier: GPL-2.0-only
/*
 * The symbol table of an ELF file as a whole, with full names.
 */
#include <elf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "elf_priv.h"
#include "symtab.h"

static const struct hsu_section *symbol_section(const struct hsu_elf *elf)
{
	const struct hsu_section *sec = hsu_elf_section(elf, ".symtab");

	if (!sec || sec->nobits)
		sec = hsu_elf_section(elf, ".dynsym");
	return sec && !sec->nobits ? sec : NULL;
}

/* Reads a section as it is in the file; it ends with a 0 that is not its own. */
static u8 *read_section(const struct hsu_elf *elf, size_t index, size_t *len)
{
	Elf_Scn *scn = elf_getscn(elf->elf, index);
	const Elf64_Shdr *sh = scn ? elf64_getshdr(scn) : NULL;
	u8 *p;

	if (!sh || sh->sh_type == SHT_NOBITS || sh->sh_size > elf->size)
		return NULL;
	p = malloc(sh->sh_size + 1);
	if (!p)
		return NULL;
	*len = hsu_elf_pread(elf, sh->sh_offset, p, sh->sh_size);
	p[*len] = 0;
	return p;
}

bool hsu_elf_symtab(const struct hsu_elf *elf, struct hsu_symtab *tab)
{
	const struct hsu_section *sec = symbol_section(elf);
	Elf_Scn *scn = sec ? elf_getscn(elf->elf, sec->index) : NULL;
	const Elf64_Shdr *sh = scn ? elf64_getshdr(scn) : NULL;
	size_t len;

	memset(tab, 0, sizeof(*tab));
	if (!sh)
		return true;
	tab->syms = (void *)read_section(elf, sec->index, &len);
	tab->nr = len / sizeof(*tab->syms);
	tab->names = (char *)read_section(elf, sh->sh_link, &tab->names_len);
	if (tab->syms && tab->names)
		return true;
	hsu_symtab_free(tab);
	return false;
}

void hsu_symtab_free(struct hsu_symtab *tab)
{
	free(tab->syms);
	free(tab->names);
	memset(tab, 0, sizeof(*tab));
}
