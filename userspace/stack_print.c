// SPDX-License-Identifier: GPL-2.0-only
#include "stack_print.h"

#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct hsu_symbols {
	Dwfl *dwfl;
	pid_t pid;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

static int report(struct hsu_symbols *syms)
{
	dwfl_report_begin(syms->dwfl);
	if (dwfl_linux_proc_report(syms->dwfl, syms->pid))
		return -1;
	return dwfl_report_end(syms->dwfl, NULL, NULL);
}

struct hsu_symbols *hsu_symbols_open(pid_t pid, struct hsu_error *err)
{
	struct hsu_symbols *syms = calloc(1, sizeof(*syms));

	if (!syms) {
		hsu_fail(err, "out of memory");
		return NULL;
	}
	syms->pid = pid;
	syms->dwfl = dwfl_begin(&callbacks);
	if (!syms->dwfl || report(syms)) {
		hsu_fail(err, "cannot read symbols of process %d: %s", pid,
			 dwfl_errmsg(-1));
		hsu_symbols_close(syms);
		return NULL;
	}
	return syms;
}

void hsu_symbols_close(struct hsu_symbols *syms)
{
	if (!syms)
		return;
	dwfl_end(syms->dwfl);
	free(syms);
}

const char hsu_kind_letter[HSU_NR_KINDS] = { 'L', 'H', 'C', 'G', 'M' };

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

/*
 * The symbol that an address belongs to, or NULL. One that tells no size, as
 * assembler code may, is taken to reach up to the next. But Haskell code begins
 * with procedures that have no symbol, behind whatever the linker has put first:
 * what has no call frame information in .eh_frame may be one of those.
 */
static const char *symbol_at(Dwfl_Module *mod, __u64 at, GElf_Off *offset)
{
	Dwarf_Addr bias;
	Dwarf_CFI *cfi;
	Dwarf_Frame *frame;
	const char *name;
	GElf_Sym sym;

	name = dwfl_module_addrinfo(mod, at, offset, &sym, NULL, NULL, NULL);
	if (!name || sym.st_size || !*offset)
		return name;
	cfi = dwfl_module_eh_cfi(mod, &bias);
	if (!cfi || dwarf_cfi_addrframe(cfi, at - bias, &frame))
		return NULL;
	free(frame);
	return name;
}

/*
 * Symbols of GHC's code stand at the start of the code, and a return address
 * into Haskell code is such a start; in C code it may lie behind the end of
 * its function.
 */
void hsu_print_frame(struct hsu_symbols *syms, unsigned int nr, __u64 addr,
		     unsigned int kind)
{
	__u64 at = kind == HSU_C ? addr - 1 : addr;
	const char *name = NULL, *file = NULL, *src = NULL;
	Dwfl_Module *mod = NULL;
	GElf_Off offset = 0;
	int line = 0;

	if (kind == HSU_COLLECTOR || kind == HSU_GAP) {
		printf("#%-3u %c %s\n", nr, hsu_kind_letter[kind],
		       kind == HSU_GAP ? "[frames left out]" : "[GC]");
		return;
	}
	if (syms) {
		mod = dwfl_addrmodule(syms->dwfl, at);
		if (!mod && !report(syms))
			mod = dwfl_addrmodule(syms->dwfl, at);
	}
	if (mod) {
		Dwfl_Line *l = dwfl_module_getsrc(mod, at);

		name = symbol_at(mod, at, &offset);
		file = dwfl_module_info(mod, NULL, NULL, NULL, NULL, NULL, NULL,
					NULL);
		if (l)
			src = dwfl_lineinfo(l, NULL, &line, NULL, NULL, NULL);
	}
	printf("#%-3u %c 0x%016llx", nr, hsu_kind_letter[kind],
	       (unsigned long long)addr);
	if (name)
		printf(" %s", name);
	if (name && offset)
		printf("+0x%llx", (unsigned long long)(offset + (addr - at)));
	if (file)
		printf(" (%s)", base_name(file));
	if (src)
		printf(" %s:%d", base_name(src), line);
	putchar('\n');
}
