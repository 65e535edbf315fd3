/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbol table that perf is to see.
 */
#ifndef HSU_NEWSYMS_H
#define HSU_NEWSYMS_H

#include "codenames.h"
#include "symtab.h"

/* A symbol table: local ones first, as ELF wants it. */
struct hsu_newsyms {
	Elf64_Sym *v;
	size_t nr;
	u32 nr_local;
};

/**
 * hsu_newsyms_make() - make a symbol table
 * @out: to be freed by freeing its @v.
 * @elf: the file.
 * @sh: section headers of the file.
 * @nr_sh: their number.
 * @tab: the file's symbols; those of C keep their names outside of the run-time
 *	system.
 * @built: the image of the file.
 * @names: names of the Haskell code; other symbols' names are added to its
 *	strings.
 *
 * Return: false if memory is short.
 */
bool hsu_newsyms_make(struct hsu_newsyms *out, struct hsu_elf *elf,
		      const Elf64_Shdr *sh, size_t nr_sh,
		      const struct hsu_symtab *tab,
		      const struct hsu_built *built, struct hsu_names *names);

#endif /* HSU_NEWSYMS_H */
