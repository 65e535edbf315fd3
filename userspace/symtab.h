/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbol table of an ELF file as a whole, with full names.
 */
#ifndef HSU_SYMTAB_H
#define HSU_SYMTAB_H

#include <elf.h>

#include "elffile.h"

/**
 * struct hsu_symtab - a symbol table in memory
 * @syms: its entries.
 * @nr: their number.
 * @names: the string table, with a 0 behind it.
 * @names_len: its length in bytes.
 */
struct hsu_symtab {
	Elf64_Sym *syms;
	size_t nr;
	char *names;
	size_t names_len;
};

/**
 * hsu_elf_symtab() - read .symtab, or .dynsym if there is none
 * @elf: the file.
 * @tab: out: the table, to be freed with hsu_symtab_free(); empty if the file
 *	has none.
 *
 * Return: false if it cannot be read, or memory is short.
 */
bool hsu_elf_symtab(const struct hsu_elf *elf, struct hsu_symtab *tab);
void hsu_symtab_free(struct hsu_symtab *tab);

/* Name of a symbol; "" if it has none. */
static inline const char *hsu_symtab_name(const struct hsu_symtab *tab,
					  const Elf64_Sym *sym)
{
	return sym->st_name < tab->names_len ? tab->names + sym->st_name : "";
}

/**
 * struct hsu_dwarf_proc - a procedure of GHC in the debugging information
 * @addr: its first address.
 * @linkage: name of its symbol, exported or not.
 * @source: what the source calls it, or what is around it: "f.go"; or NULL.
 * @file: source file without folders, or NULL.
 * @line: line, 0 if not known.
 * @external: it is exported.
 * @parent: linkage name of the procedure that it is part of, or NULL.
 * @sibling: linkage name of an exported procedure of the same unit, or NULL.
 */
struct hsu_dwarf_proc {
	u64 addr;
	const char *linkage;
	const char *source;
	const char *file;
	unsigned int line;
	bool external;
	const char *parent;
	const char *sibling;
};

/**
 * hsu_dwarf_procs() - visit the procedures of all units made by GHC
 * @elf: the file.
 * @fn: called for each; the strings are valid until it returns.
 * @ctx: for @fn.
 */
void hsu_dwarf_procs(struct hsu_elf *elf,
		     void (*fn)(void *ctx, const struct hsu_dwarf_proc *proc),
		     void *ctx);

#endif /* HSU_SYMTAB_H */
