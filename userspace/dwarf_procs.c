// SPDX-License-Identifier: GPL-2.0-only
/*
 * What GHC's debugging information says about procedures.
 */
#include <ctype.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <string.h>

#include "elf_priv.h"
#include "symtab.h"

/* GHC.Cmm.DebugBlock: the procedure in whose source this one's lies. */
#define DW_AT_GHC_TICK_PARENT	0x2b20

#define MAX_NESTING	64

static const char *string_attr(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr(die, name, &attr));
}

static bool is_external(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	bool flag = false;

	return dwarf_formflag(dwarf_attr(die, DW_AT_external, &attr), &flag) == 0 &&
	       flag;
}

/*
 * What the source has no name for is called by its own label, "s50k_info", or by
 * that of its first block, "c3rW". Only a binding of the top level is taken to
 * be called something like "copy".
 */
static bool is_label(const char *name, const char *linkage)
{
	size_t len = strlen(name), n;

	if (strstr(name, "_info"))
		return true;
	if (*name != 'c' || len < 3 || len > 5)
		return false;
	for (n = 1; isalnum((unsigned char)name[n]); n++)
		;
	return n == len && (*linkage != 'r' ||
			    strspn(name, "abcdefghijklmnopqrstuvwxyz") < len);
}

static const char *source_name(Dwarf_Die *die, const char *linkage)
{
	const char *name = string_attr(die, DW_AT_name);

	return !name || !*name || is_label(name, linkage) ? NULL : name;
}

/* The nearest procedure around this one that is exported. */
static const char *outermost(Dwarf_Die *die)
{
	const char *linkage = NULL;
	Dwarf_Die at = *die;
	Dwarf_Attribute attr;
	int i;

	for (i = 0; i < MAX_NESTING; i++) {
		if (!dwarf_formref_die(dwarf_attr(&at, DW_AT_GHC_TICK_PARENT,
						  &attr), &at))
			break;
		linkage = string_attr(&at, DW_AT_MIPS_linkage_name);
		if (linkage && is_external(&at))
			return linkage;
	}
	return NULL;
}

static void find_line(Dwarf_Die *cu, struct hsu_dwarf_proc *proc)
{
	Dwarf_Line *line = dwarf_getsrc_die(cu, proc->addr);
	const char *file, *slash;
	Dwarf_Addr at;
	int nr;

	proc->file = NULL;
	proc->line = 0;
	if (!line || dwarf_lineno(line, &nr) || nr < 1 ||
	    dwarf_lineaddr(line, &at))
		return;
	file = dwarf_linesrc(line, NULL, NULL);
	if (!file)
		return;
	slash = strrchr(file, '/');
	proc->file = slash ? slash + 1 : file;
	proc->line = (unsigned int)nr;
}

/*
 * An exported procedure tells the module that the unit's code is of; not that of
 * ":Main", which is in the same unit as Main.
 */
static const char *find_sibling(Dwarf_Die *cu)
{
	const char *linkage;
	Dwarf_Die die;

	if (dwarf_child(cu, &die))
		return NULL;
	do {
		if (dwarf_tag(&die) != DW_TAG_subprogram || !is_external(&die))
			continue;
		linkage = string_attr(&die, DW_AT_MIPS_linkage_name);
		if (linkage && strncmp(linkage, "ZCMain_", 7))
			return linkage;
	} while (!dwarf_siblingof(&die, &die));
	return NULL;
}

static void visit_unit(Dwarf_Die *cu,
		       void (*fn)(void *ctx, const struct hsu_dwarf_proc *proc),
		       void *ctx)
{
	struct hsu_dwarf_proc proc = { .sibling = find_sibling(cu) };
	Dwarf_Addr addr;
	Dwarf_Die die;

	if (dwarf_child(cu, &die))
		return;
	do {
		if (dwarf_tag(&die) != DW_TAG_subprogram ||
		    dwarf_lowpc(&die, &addr))
			continue;
		proc.addr = addr;
		proc.linkage = string_attr(&die, DW_AT_MIPS_linkage_name);
		if (!proc.linkage)
			continue;
		proc.external = is_external(&die);
		proc.parent = outermost(&die);
		find_line(cu, &proc);
		proc.source = source_name(&die, proc.linkage);
		fn(ctx, &proc);
	} while (!dwarf_siblingof(&die, &die));
}

void hsu_dwarf_procs(struct hsu_elf *elf,
		     void (*fn)(void *ctx, const struct hsu_dwarf_proc *proc),
		     void *ctx)
{
	Dwarf *dw = dwarf_begin_elf(elf->elf, DWARF_C_READ, NULL);
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	if (!dw)
		return;
	while (dwarf_get_units(dw, unit, &unit, NULL, NULL, &die, NULL) == 0)
		if (hsu_dwarf_made_by_ghc(&die))
			visit_unit(&die, fn, ctx);
	dwarf_end(dw);
}
