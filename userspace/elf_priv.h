/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What elffile.c, elf_info.c, elf_symtab.c, dwarf.c and dwarf_procs.c share: the
 * only files that include headers of elfutils.
 */
#ifndef HSU_ELF_PRIV_H
#define HSU_ELF_PRIV_H

#include <elfutils/libdw.h>
#include <libelf.h>

#include "elffile.h"

/* A symbol in the sorted index: where, and where its name is. */
struct hsu_symbol_ref {
	u64 addr;
	u32 size;
	u32 name;
	bool global;
};

#define HSU_PAGE_BYTES	4096
#define HSU_NR_PAGES	256

/* Pages of the file that have been read: the analysis comes back to them. */
struct hsu_page {
	u64 nr;			/* plus one; 0: none */
	size_t len;
	u8 data[HSU_PAGE_BYTES];
};

struct hsu_elf {
	char *name;
	int fd;
	struct hsu_page *pages;
	const void *mem;
	u64 size;
	bool debug_only;	/* a separate debug file: segments are empty */
	Elf *elf;
	u64 base;
	u64 entry;
	struct hsu_load loads[HSU_MAX_LOADS];
	size_t nr_loads;
	struct hsu_section *sections;
	size_t nr_sections;
	bool interp;
	u64 eh_hdr;		/* address of .eh_frame_hdr, 0: none */
	u8 *eh_frame;		/* .eh_frame of a file without sections */
	size_t eh_size;
	u64 dyn_offset;
	u64 dyn_size;
	char soname[128];
	struct hsu_symbol_ref *symbols;
	size_t nr_symbols;
	bool symbols_read;
	u64 names_offset;	/* of the string table in the file */
	u64 names_size;
};

struct hsu_elf *hsu_elf_open_flags(int fd, const void *mem, size_t len,
				   const char *name, bool debug_only,
				   struct hsu_error *err);

/* Is a compilation unit GHC's? */
bool hsu_dwarf_made_by_ghc(Dwarf_Die *cu);

/* Fills in what comes from the dynamic section. */
void hsu_elf_read_dynamic(struct hsu_elf *elf);

#endif /* HSU_ELF_PRIV_H */
