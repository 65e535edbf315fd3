/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading of ELF files. elf*.c and dwarf*.c are the only files that include
 * headers of elfutils.
 */
#ifndef HSU_ELFFILE_H
#define HSU_ELFFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "hsu_core.h"

/**
 * struct hsu_section - one section of a file
 * @name: its name.
 * @addr: virtual address, 0 if not loaded.
 * @size: bytes.
 * @exec: it holds code.
 * @nobits: it has no bytes in the file.
 * @index: number of the section.
 */
struct hsu_section {
	const char *name;
	u64 addr;
	u64 size;
	bool exec;
	bool nobits;
	size_t index;
};

/* A loaded segment, executable or not. */
struct hsu_load {
	u64 offset;
	u64 vaddr;
	u64 filesz;
	u64 memsz;
	bool exec;
	bool write;
};

/* A symbol of a function or of code without type; a long name is cut. */
struct hsu_symbol {
	u64 addr;
	u64 size;
	bool global;
	char name[32];
};

#define HSU_MAX_LOADS	256

struct hsu_elf;

/**
 * hsu_elf_open() - open an ELF file and check its headers
 * @fd: file, or -1 to read from @mem; must stay open.
 * @mem: file image in memory, used if @fd is -1; must stay.
 * @len: length of @mem.
 * @name: what to call the file in messages; copied.
 * @err: filled in on failure.
 *
 * Return: the file, to be freed with hsu_elf_close(); NULL with @err set.
 */
struct hsu_elf *hsu_elf_open(int fd, const void *mem, size_t len,
			     const char *name, struct hsu_error *err);
void hsu_elf_close(struct hsu_elf *elf);

const char *hsu_elf_name(const struct hsu_elf *elf);
/* Descriptor of the file, -1 if it is in memory. */
int hsu_elf_fd(const struct hsu_elf *elf);
/* Lowest page-aligned address of the loaded segments. */
u64 hsu_elf_base(const struct hsu_elf *elf);
/* e_entry: where the kernel, or the dynamic linker, starts the program. */
u64 hsu_elf_entry(const struct hsu_elf *elf);
/* Loaded segments sorted by address. */
const struct hsu_load *hsu_elf_loads(const struct hsu_elf *elf, size_t *nr);
bool hsu_elf_has_interp(const struct hsu_elf *elf);

/*
 * Sections sorted by address. If the file has no section headers, each
 * executable segment counts as one section called ".text".
 */
const struct hsu_section *hsu_elf_sections(const struct hsu_elf *elf,
					   size_t *nr);
const struct hsu_section *hsu_elf_section(const struct hsu_elf *elf,
					  const char *name);

/**
 * hsu_elf_data() - contents of a section, decompressed
 * @elf: the file.
 * @sec: one of its sections.
 * @data: out: its bytes, valid as long as the file is open.
 * @len: out: number of bytes.
 *
 * Return: false if they cannot be had.
 */
bool hsu_elf_data(struct hsu_elf *elf, const struct hsu_section *sec,
		  const u8 **data, size_t *len);

/**
 * hsu_elf_read() - read bytes by virtual address
 * @elf: the file.
 * @addr: address.
 * @buf: where to.
 * @len: bytes wanted.
 *
 * Return: number of bytes read; fewer than @len at the end of a segment.
 */
size_t hsu_elf_read(const struct hsu_elf *elf, u64 addr, void *buf, size_t len);

/* Reads by file offset; returns the number of bytes. */
size_t hsu_elf_pread(const struct hsu_elf *elf, u64 offset, void *buf,
		     size_t len);

/**
 * hsu_elf_symbols() - code symbols in a range of addresses
 * @elf: the file.
 * @start: first address.
 * @end: first address behind the range.
 * @nr: out: their number, 0 if there are none.
 *
 * Takes .symtab, or .dynsym if there is none.
 *
 * Return: the symbols sorted by address, to be freed with free(); NULL if
 * there are none.
 */
struct hsu_symbol *hsu_elf_symbols(struct hsu_elf *elf, u64 start, u64 end,
				   size_t *nr);

/**
 * hsu_elf_init_funcs() - contents of .init_array and .fini_array
 * @elf: the file.
 * @addrs: out: addresses of functions.
 * @cap: room in @addrs.
 *
 * Return: number of addresses.
 */
size_t hsu_elf_init_funcs(struct hsu_elf *elf, u64 *addrs, size_t cap);

/* DT_INIT and DT_FINI, 0 if there are none. */
void hsu_elf_init_fini(struct hsu_elf *elf, u64 *init, u64 *fini);

/* DT_SONAME, or "". */
const char *hsu_elf_soname(const struct hsu_elf *elf);
/* Calls @fn for each DT_NEEDED. */
void hsu_elf_needed(struct hsu_elf *elf,
		    void (*fn)(void *ctx, const char *name), void *ctx);
/* Copies the GNU build-id to @id; returns its length, 0 if there is none. */
size_t hsu_elf_build_id(struct hsu_elf *elf, u8 *id, size_t cap);
/* Writes it as text to @out, which has room for 2 * @len + 1 bytes. */
void hsu_build_id_text(const u8 *id, size_t len, char *out);
/* Name in .gnu_debuglink, or NULL. */
const char *hsu_elf_debuglink(struct hsu_elf *elf);

/* Contiguous code of one compilation unit made by GHC. */
struct hsu_unit {
	u64 start;
	u64 end;
};

/**
 * hsu_dwarf_ghc_units() - code ranges of GHC's compilation units
 * @elf: the file.
 * @nr: out: number of ranges.
 *
 * Return: ranges sorted by address, to be freed with free(); NULL if there
 * are none or memory is short.
 */
struct hsu_unit *hsu_dwarf_ghc_units(struct hsu_elf *elf, size_t *nr);

/**
 * struct hsu_fde - one FDE, with what its CIE says
 * @start: first address.
 * @end: first address behind it, as stated.
 * @insn: its instructions.
 * @insn_end: their end.
 * @init: instructions of the CIE.
 * @init_end: their end.
 * @insn_addr: virtual address of @insn, for pc-relative operands.
 * @code_align: code alignment factor.
 * @data_align: data alignment factor.
 * @ra: return address column.
 * @encoding: DW_EH_PE_* of addresses.
 * @signal: marked as a signal frame.
 */
struct hsu_fde {
	u64 start;
	u64 end;
	const u8 *insn;
	const u8 *insn_end;
	const u8 *init;
	const u8 *init_end;
	u64 insn_addr;
	u64 code_align;
	s64 data_align;
	u64 ra;
	u8 encoding;
	bool signal;
};

/**
 * hsu_dwarf_fdes() - visit the FDEs of a CFI section
 * @elf: the file.
 * @eh: .eh_frame if true, else .debug_frame.
 * @fn: called for each FDE.
 * @ctx: for @fn.
 *
 * Return: number of entries that could not be read.
 */
unsigned int hsu_dwarf_fdes(struct hsu_elf *elf, bool eh,
			    void (*fn)(void *ctx, const struct hsu_fde *fde),
			    void *ctx);

/**
 * hsu_dwarf_addr() - decode an encoded address
 * @p: in: the operand; out: what follows it.
 * @end: end of the data.
 * @encoding: DW_EH_PE_*; only absolute and pc-relative ones are known.
 * @pc: virtual address of the operand.
 * @out: the address.
 *
 * Return: false if it cannot be decoded.
 */
bool hsu_dwarf_addr(const u8 **p, const u8 *end, u8 encoding, u64 pc, u64 *out);

#endif /* HSU_ELFFILE_H */
