/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of Haskell code: of what is exported and of what is not.
 */
#ifndef HSU_CODENAMES_H
#define HSU_CODENAMES_H

#include "elffile.h"
#include "image_build.h"
#include "strtab.h"

#define HSU_NAMES_EXACT		(1u << 0)	/* keep z-encoded names */
#define HSU_NAMES_NO_DEBUG	(1u << 1)	/* do not use DWARF */

/* Where a name is from; the order is that of preference. */
enum hsu_name_source {
	HSU_NAME_SYMBOL,	/* a symbol of the file */
	HSU_NAME_DEBUG,		/* debugging information */
	HSU_NAME_OWNER,		/* who refers to it */
	HSU_NAME_ADDRESS,	/* nobody knows */
	HSU_NAME_SOURCES,
};

/**
 * struct hsu_owner - the exported function that something is, or belongs to
 * @name: its readable name, an offset in the string table; that of the module if
 *	@of_module; 0: not known.
 * @module: its module, an offset in the string table.
 * @of_module: more than one function of a module refers to it.
 * @contended: functions of more than one module seem to refer to it.
 */
struct hsu_owner {
	u32 name;
	u32 module;
	bool of_module;
	bool contended;
};

/**
 * struct hsu_proc - a procedure: code with one name
 * @addr: its first instruction.
 * @end: first address behind it.
 * @function: the one that it only loads the arguments of, or 0.
 * @table: where its info table begins; @addr if it has none.
 * @name: what it is called, an offset in the string table.
 * @where: "Parse.hs:41", to be added to the name; 0: not known, or part of it.
 * @owner: whose it is.
 * @before: module of what is exported before it, an offset in the string table;
 *	0: there is nothing.
 * @behind: module of what is exported behind it.
 * @source: where @name is from.
 * @rts: it is the run-time system's.
 * @cont: it is a continuation: return addresses point to it.
 */
struct hsu_proc {
	u64 addr;
	u64 end;
	u64 table;
	u64 function;
	u32 name;
	u32 where;
	struct hsu_owner owner;
	u32 before;
	u32 behind;
	u8 source;
	bool rts;
	bool cont;
};

/**
 * struct hsu_names - the names of the Haskell code of a file
 * @procs: sorted, not overlapping.
 * @nr: their number.
 * @conts: where continuations inside of procedures begin, by address.
 * @nr_conts: their number.
 * @strings: their names.
 * @count: how many procedures have their name from where.
 * @exact: names are those of symbols.
 */
struct hsu_names {
	struct hsu_proc *procs;
	size_t nr;
	u64 *conts;
	size_t nr_conts;
	struct hsu_strtab strings;
	unsigned long count[HSU_NAME_SOURCES];
	bool exact;

	/* private: */
	size_t cap;
	size_t cap_conts;
	bool failed;
};

struct hsu_symtab;

/**
 * hsu_names_find() - name all Haskell code of a file
 * @elf: the file.
 * @debug: the file that symbols and DWARF are taken from: @elf, or a separate
 *	debug file.
 * @tab: symbols of @debug.
 * @built: the image of the file.
 * @flags: %HSU_NAMES_*.
 * @names: out: to be freed with hsu_names_free(), also on failure.
 *
 * Return: false if memory is short.
 */
bool hsu_names_find(struct hsu_elf *elf, struct hsu_elf *debug,
		    const struct hsu_symtab *tab, const struct hsu_built *built,
		    unsigned int flags, struct hsu_names *names);
void hsu_names_free(struct hsu_names *names);

/* The procedure of a sorted list that begins at @addr or contains it, or NULL. */
struct hsu_proc *hsu_names_at(const struct hsu_names *names, u64 addr);

/* Does a procedure, or the info table of a continuation, begin there? */
bool hsu_names_begin(const struct hsu_names *names, u64 addr);

/* Fills the list in, for hsu_names_find(); the names of local code are missing. */
bool hsu_procs_find(struct hsu_elf *elf, struct hsu_elf *debug,
		    const struct hsu_symtab *tab, const struct hsu_built *built,
		    unsigned int flags, struct hsu_names *names);

/* The module in a readable name, "Data.Map" in "Data.Map.insert"; 0: there is none. */
u32 hsu_module_of(struct hsu_names *names, const char *name);

/**
 * hsu_owners_find() - find out what local code belongs to
 * @elf: the file.
 * @tab: its symbols.
 * @names: what is exported has an @owner, itself; set for the others as far as
 *	it is known from who refers to them.
 *
 * Return: false if memory is short.
 */
bool hsu_owners_find(struct hsu_elf *elf, const struct hsu_symtab *tab,
		     struct hsu_names *names);

#endif /* HSU_CODENAMES_H */
