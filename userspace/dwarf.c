// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading of DWARF through libdw: the entries of CFI sections, and where the
 * code of GHC's compilation units lies.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "elf_priv.h"
#include "grow.h"

#ifndef DW_LANG_Haskell
#define DW_LANG_Haskell	0x18
#endif

static u64 get_le(const u8 *p, int size)
{
	u64 v = 0;
	int i;

	for (i = size - 1; i >= 0; i--)
		v = v << 8 | p[i];
	return v;
}

bool hsu_dwarf_addr(const u8 **p, const u8 *end, u8 encoding, u64 pc, u64 *out)
{
	int size;
	u64 v;

	switch (encoding & 0x0f) {
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2:
		size = 2;
		break;
	case DW_EH_PE_udata4:
	case DW_EH_PE_sdata4:
		size = 4;
		break;
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		size = 8;
		break;
	default:
		return false;
	}
	if (end - *p < size)
		return false;
	v = get_le(*p, size);
	if (encoding & DW_EH_PE_signed && size < 8)
		v = (u64)((s64)(v << (64 - 8 * size)) >> (64 - 8 * size));
	*p += size;
	switch (encoding & 0xf0) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		v += pc;
		break;
	default:
		return false;
	}
	*out = v;
	return true;
}

struct cie {
	bool good;
	Dwarf_Off offset;
	Dwarf_CIE c;
	u8 encoding;
	bool signal;
	bool sized;	/* FDEs have augmentation data with a length */
};

/* What the augmentation string "zPLRSB" means for us. */
static bool parse_augmentation(struct cie *cie, bool eh)
{
	const char *a = cie->c.augmentation;
	const u8 *p = cie->c.augmentation_data;
	const u8 *end = p + cie->c.augmentation_data_size;
	u64 dummy;

	cie->encoding = DW_EH_PE_absptr;
	cie->signal = false;
	cie->sized = false;
	if (!a || !*a)
		return true;
	if (!eh || *a != 'z' || !p)
		return false;
	cie->sized = true;
	for (a++; *a; a++) {
		switch (*a) {
		case 'R':
			if (p >= end)
				return false;
			cie->encoding = *p++;
			break;
		case 'L':
			if (p >= end)
				return false;
			p++;
			break;
		case 'P':
			if (p >= end)
				return false;
			if ((*p & 0x70) == DW_EH_PE_aligned)
				return false;
			/* Only its length matters, not what it is relative to. */
			p++;
			if (!hsu_dwarf_addr(&p, end, p[-1] & 0x0f, 0, &dummy))
				return false;
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':
			break;
		default:
			return false;
		}
	}
	return true;
}

static void load_cie(struct cie *cie, const unsigned char *ident, Elf_Data *d,
		     bool eh, Dwarf_Off off)
{
	Dwarf_CFI_Entry e;
	Dwarf_Off next;

	cie->offset = off;
	cie->good = dwarf_next_cfi(ident, d, eh, off, &next, &e) == 0 &&
		    dwarf_cfi_cie_p(&e);
	if (!cie->good)
		return;
	cie->c = e.cie;
	cie->good = parse_augmentation(cie, eh);
}

static bool decode_fde(const struct cie *cie, const Dwarf_FDE *f, Elf_Data *d,
		       u64 addr, struct hsu_fde *out)
{
	const u8 *p = f->start, *buf = d->d_buf;
	u64 len = 0;
	int shift = 0;

	if (!hsu_dwarf_addr(&p, f->end, cie->encoding, addr + (p - buf),
			    &out->start) ||
	    !hsu_dwarf_addr(&p, f->end, cie->encoding & 0x0f, 0, &out->end))
		return false;
	out->end += out->start;
	if (cie->sized) {
		do {
			if (p >= f->end || shift > 56)
				return false;
			len |= (u64)(*p & 0x7f) << shift;
			shift += 7;
		} while (*p++ & 0x80);
		if (len > (u64)(f->end - p))
			return false;
		p += len;
	}
	out->insn = p;
	out->insn_end = f->end;
	out->init = cie->c.initial_instructions;
	out->init_end = cie->c.initial_instructions_end;
	out->insn_addr = addr + (p - buf);
	out->code_align = cie->c.code_alignment_factor;
	out->data_align = cie->c.data_alignment_factor;
	out->ra = cie->c.return_address_register;
	out->encoding = cie->encoding;
	out->signal = cie->signal;
	return out->end > out->start;
}

unsigned int hsu_dwarf_fdes(struct hsu_elf *elf, bool eh,
			    void (*fn)(void *ctx, const struct hsu_fde *fde),
			    void *ctx)
{
	const struct hsu_section *sec;
	struct cie cie = { .offset = (Dwarf_Off)-1 };
	const unsigned char *ident;
	Dwarf_Off off, next;
	Dwarf_CFI_Entry e;
	unsigned int bad = 0;
	struct hsu_fde fde;
	const u8 *data;
	Elf_Data d;
	size_t len;
	int ret;

	sec = hsu_elf_section(elf, eh ? ".eh_frame" : ".debug_frame");
	if (!sec && !eh)
		sec = hsu_elf_section(elf, ".zdebug_frame");
	ident = (const unsigned char *)elf_getident(elf->elf, NULL);
	if (!sec || !ident || !hsu_elf_data(elf, sec, &data, &len))
		return 0;
	d = (Elf_Data){ .d_buf = (void *)data, .d_size = len,
			.d_type = ELF_T_BYTE, .d_version = EV_CURRENT };
	for (off = 0; off != (Dwarf_Off)-1 && off < len; off = next) {
		next = (Dwarf_Off)-1;
		ret = dwarf_next_cfi(ident, &d, eh, off, &next, &e);
		if (ret > 0)
			break;
		if (next <= off)
			next = (Dwarf_Off)-1;
		if (ret < 0) {
			bad++;
			continue;
		}
		if (dwarf_cfi_cie_p(&e))
			continue;
		if (e.fde.CIE_pointer != cie.offset)
			load_cie(&cie, ident, &d, eh, e.fde.CIE_pointer);
		if (!cie.good || !decode_fde(&cie, &e.fde, &d, sec->addr, &fde))
			bad++;
		else
			fn(ctx, &fde);
	}
	return bad;
}

static int cmp_unit(const void *a, const void *b)
{
	const struct hsu_unit *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

bool hsu_dwarf_made_by_ghc(Dwarf_Die *cu)
{
	Dwarf_Attribute attr;
	const char *producer;

	if (dwarf_srclang(cu) == DW_LANG_Haskell)
		return true;
	producer = dwarf_formstring(dwarf_attr(cu, DW_AT_producer, &attr));
	return producer && strstr(producer, "Glasgow Haskell");
}

struct hsu_unit *hsu_dwarf_ghc_units(struct hsu_elf *elf, size_t *nr)
{
	Dwarf *dw = dwarf_begin_elf(elf->elf, DWARF_C_READ, NULL);
	struct hsu_unit *units = NULL, *more;
	Dwarf_CU *cu = NULL;
	Dwarf_Addr base, start, end;
	size_t cap = 0;
	Dwarf_Die die;
	ptrdiff_t off;

	*nr = 0;
	if (!dw)
		return NULL;
	while (dwarf_get_units(dw, cu, &cu, NULL, NULL, &die, NULL) == 0) {
		if (!hsu_dwarf_made_by_ghc(&die))
			continue;
		off = 0;
		while ((off = dwarf_ranges(&die, off, &base, &start, &end)) > 0) {
			if (end <= start)
				continue;
			more = hsu_grow(units, *nr, &cap, sizeof(*units));
			if (!more)
				goto out;
			units = more;
			units[*nr].start = start;
			units[(*nr)++].end = end;
		}
	}
out:
	dwarf_end(dw);
	if (units)
		qsort(units, *nr, sizeof(*units), cmp_unit);
	return units;
}
