// SPDX-License-Identifier: GPL-2.0-only
#include "code.h"

#include <dwarf.h>
#include <err.h>
#include <stdlib.h>
#include <string.h>

#define NR_CODES	(1u << 14)	/* hash table of addresses seen */
#define MAX_FRAME	(1u << 16)	/* words */
#define HEADER		8		/* bytes of a closure's header */

/* Closure types that are entered (rts/storage/ClosureTypes.h). */
#define CONSTR		1
#define CONSTR_NOCAF	7
#define FUN		8
#define FUN_STATIC	14
#define IND_STATIC	28
#define BLACKHOLE	38

struct info_table {
	u64 layout;
	u32 type;
	s32 srt;
};

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

static struct code *codes;
static ZydisDecoder decoder;
static Dwfl *dwfl;

Dwfl *code_init(struct tracee *t)
{
	codes = calloc(NR_CODES, sizeof(*codes));
	dwfl = dwfl_begin(&callbacks);
	if (!codes || !dwfl || dwfl_linux_proc_report(dwfl, t->pid) ||
	    dwfl_report_end(dwfl, NULL, NULL))
		errx(1, "cannot read the program's symbols: %s",
		     dwfl_errmsg(-1));
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	return dwfl;
}

static bool info_table(struct tracee *t, u64 addr, struct info_table *info)
{
	return addr % 8 == 0 &&
	       tracee_read(t, addr - sizeof(*info), info, sizeof(*info));
}

static bool is_frame(u32 type)
{
	return (type >= RET_BCO && type <= STOP_FRAME) ||
	       (type >= ATOMICALLY_FRAME && type <= CATCH_STM_FRAME);
}

/* Two counts in the halves of the layout; what precedes a block is code. */
static bool is_closure(const struct info_table *info)
{
	bool counts = (u32)info->layout < 4096 && info->layout >> 32 < 4096;

	return counts && ((info->type >= CONSTR && info->type <= IND_STATIC) ||
			  (info->type >= BLACKHOLE && info->type < 48));
}

static bool starts_with(const char *s, const char *start)
{
	return !strncmp(s, start, strlen(start));
}

static bool is_plt(const char *section)
{
	return section && starts_with(section, ".plt");
}

static void find_section(struct code *c)
{
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, c->addr);
	GElf_Addr addr = c->addr, bias;
	GElf_Shdr shdr;
	Elf_Scn *scn;
	size_t names;
	Elf *elf;

	c->section = NULL;
	scn = mod ? dwfl_module_address_section(mod, &addr, &bias) : NULL;
	elf = mod ? dwfl_module_getelf(mod, &bias) : NULL;
	if (!scn || !elf || !gelf_getshdr(scn, &shdr) ||
	    elf_getshdrstrndx(elf, &names))
		return;
	c->section = elf_strptr(elf, names, shdr.sh_name);
	c->section_start = shdr.sh_addr + bias;
}

static bool has_cfi(u64 addr)
{
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, addr);
	Dwarf_Frame *frame;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi;

	cfi = mod ? dwfl_module_eh_cfi(mod, &bias) : NULL;
	if (!cfi || dwarf_cfi_addrframe(cfi, addr - bias, &frame))
		return false;
	free(frame);
	return true;
}

static void find_name(struct code *c)
{
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, c->addr);
	GElf_Off offset = 0;
	GElf_Sym sym;

	c->name = mod ? dwfl_module_addrinfo(mod, c->addr, &offset, &sym, NULL,
					     NULL, NULL) : NULL;
	if (!c->name)
		c->name = "?";
	c->offset = offset;
}

static void look_up(struct tracee *t, u64 addr, struct code *c)
{
	struct info_table info;
	unsigned char bytes[15];
	u32 len = sizeof(bytes);

	memset(c, 0, sizeof(*c));
	c->addr = addr;
	find_name(c);
	find_section(c);
	c->is_c = has_cfi(addr);
	if (info_table(t, addr, &info)) {
		if (is_frame(info.type))
			c->frame = info.type;
		else
			c->entry = is_closure(&info);
	}
	/*
	 * The run-time system has functions without info tables; a stub of the
	 * linker stands for any function.
	 */
	if (!c->frame && ((!c->offset && c->name[0] != '?') ||
			  is_plt(c->section)))
		c->entry = true;
	while (len && !tracee_read(t, addr, bytes, len))
		len--;
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, len, &c->insn,
						 c->op)))
		memset(&c->insn, 0, sizeof(c->insn));
}

const struct code *code_at(struct tracee *t, u64 addr)
{
	struct code *c = &codes[(addr ^ addr >> 16) % NR_CODES];

	if (c->addr != addr)
		look_up(t, addr, c);
	return c;
}

struct search {
	const char *name;
	u64 addr;
};

static int search_module(Dwfl_Module *mod, void **data, const char *name,
			 Dwarf_Addr start, void *arg)
{
	int i, nr = dwfl_module_getsymtab(mod);
	struct search *s = arg;
	GElf_Addr addr;
	GElf_Sym sym;

	(void)data;
	(void)name;
	(void)start;
	for (i = 1; i < nr; i++) {
		const char *n = dwfl_module_getsym_info(mod, i, &sym, &addr,
							NULL, NULL, NULL);

		if (n && sym.st_shndx != SHN_UNDEF && !strcmp(n, s->name)) {
			s->addr = addr;
			return DWARF_CB_ABORT;
		}
	}
	return DWARF_CB_OK;
}

u64 code_symbol(const char *name)
{
	struct search s = { .name = name };

	dwfl_getmodules(dwfl, search_module, &s, 0);
	return s.addr;
}

/*
 * Start of a row of .eh_frame. The first one of a function says that the return
 * address is at rsp.
 */
static u64 row_start(Dwarf_CFI *cfi, u64 addr, bool *first)
{
	Dwarf_Addr start = 0, end;
	Dwarf_Frame *frame;
	Dwarf_Op *ops;
	bool signal;
	size_t nr;

	if (dwarf_cfi_addrframe(cfi, addr, &frame))
		return 0;
	if (dwarf_frame_info(frame, &start, &end, &signal) < 0 ||
	    dwarf_frame_cfa(frame, &ops, &nr))
		start = 0;
	*first = start && nr == 1 && ops[0].atom == DW_OP_bregx &&
		ops[0].number == 7 && ops[0].number2 == 8;
	free(frame);
	return start;
}

u64 code_function_start(u64 addr)
{
	Dwfl_Module *mod = dwfl_addrmodule(dwfl, addr);
	bool first = false;
	Dwarf_Addr bias;
	Dwarf_CFI *cfi;
	u64 start;

	cfi = mod ? dwfl_module_eh_cfi(mod, &bias) : NULL;
	if (!cfi)
		return 0;
	start = row_start(cfi, addr - bias, &first);
	while (start && !first)
		start = row_start(cfi, start - 1, &first);
	return start ? start + bias : 0;
}

bool frame_words(struct tracee *t, u64 slot, u64 *ra, u64 *words)
{
	struct info_table info;
	u64 bco;

	if (slot % 8 || !tracee_word(t, slot, ra) ||
	    !info_table(t, *ra, &info) || !is_frame(info.type))
		return false;
	switch (info.type) {
	case STOP_FRAME:
	case UNDERFLOW_FRAME:
		*words = 0;
		return true;
	case RET_BIG:
		if (!tracee_word(t, *ra + (s32)info.layout, words))
			return false;
		*words += 1;
		break;
	case RET_FUN:
		if (!tracee_word(t, slot + 8, words))
			return false;
		*words += 3;
		break;
	case RET_BCO:
		if (!tracee_word(t, slot + 8, &bco) ||
		    !tracee_word(t, bco + 4 * 8 + HEADER, words))
			return false;
		*words += 2;
		break;
	default:
		*words = 1 + (info.layout & 63);
	}
	return *words < MAX_FRAME;
}
