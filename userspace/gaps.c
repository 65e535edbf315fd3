// SPDX-License-Identifier: GPL-2.0-only
/*
 * Executable code that no FDE covers, and GHC's info tables in it.
 *
 * GHC writes no .eh_frame, and puts an info table before nearly every block
 * that a return address can point to. Assembler code without CFI has no info
 * tables. So code without CFI in which info tables are dense is Haskell code,
 * in stripped files too.
 */
#include <stdlib.h>
#include <string.h>
#include <Zydis/Zydis.h>

#include "builder.h"
#include "ghc.h"
#include "grow.h"

#define WINDOW		(1u << 16)
#define MIN_GAP		16
#define MAX_CRT		1024	/* bytes of start-up code */

/* Where static reference tables and closures are. */
struct data_range {
	u64 lo;
	u64 hi;
};

static struct data_range data_range(const struct hsu_elf *elf)
{
	struct data_range d = { ~0ULL, 0 };
	const struct hsu_load *ld;
	size_t nr, i;

	ld = hsu_elf_loads(elf, &nr);
	for (i = 0; i < nr; i++) {
		if (!ld[i].write)
			continue;
		if (ld[i].vaddr < d.lo)
			d.lo = ld[i].vaddr;
		if (ld[i].vaddr + ld[i].memsz > d.hi)
			d.hi = ld[i].vaddr + ld[i].memsz;
	}
	return d;
}

/*
 * Judges the 16 bytes before @code, which is 8-aligned, as an info table:
 * layout, then closure type and SRT.
 */
static bool plausible(u64 code, u64 layout, u64 type_srt,
		      const struct data_range *d)
{
	u32 type = (u32)type_srt;
	s32 srt = (s32)(type_srt >> 32);
	u64 target = code + (s64)srt;
	u32 ptrs = (u32)layout, nptrs = (u32)(layout >> 32);
	u64 size = layout & 63;

	switch (hsu_ghc_closure(type)) {
	case HSU_GHC_CONSTR:
		return ptrs < 1024 && nptrs < 4096 && (u32)srt < 65536;
	case HSU_GHC_HEAP:
		if (ptrs >= 1024 || nptrs >= 4096)
			return false;
		break;
	case HSU_GHC_FRAME:
		if (size > 58 || layout >> 6 >> size)
			return false;
		break;
	case HSU_GHC_BIG_FRAME:
		/* An offset to the bitmap. */
		if ((s64)layout != (s32)layout || !layout)
			return false;
		break;
	default:
		return false;
	}
	return !srt || (target >= d->lo && target < d->hi && target % 8 == 0);
}

static void scan_gap(struct hsu_builder *b, struct hsu_gap *g,
		     const struct data_range *d, u64 *buf)
{
	u64 at = (g->start + 7) & ~7ULL;
	size_t n, i;

	while (at + 24 <= g->end) {
		n = g->end - at < WINDOW ? g->end - at : WINDOW;
		n = hsu_elf_read(b->elf, at, buf, n) / 8;
		if (n < 3)
			break;
		for (i = 2; i < n; i++) {
			u32 type = (u32)buf[i - 1];
			enum hsu_ghc_kind kind;
			int special;

			if (type - 1 >= HSU_GHC_MAX_TYPE || !buf[i] ||
			    !plausible(at + i * 8, buf[i - 2], buf[i - 1], d))
				continue;
			g->tables++;
			kind = hsu_ghc_closure(type);
			g->frames += kind == HSU_GHC_FRAME;
			g->closures += kind == HSU_GHC_HEAP;
			special = hsu_ghc_rts_frame(type);
			if (special >= 0)
				g->special |= 1u << special;
			if (type == HSU_GHC_UNDERFLOW)
				g->underflow = at + i * 8;
		}
		at += (n - 2) * 8;
	}
}

static bool add_gap(struct hsu_builder *b, size_t *cap, u64 start, u64 end)
{
	struct hsu_gap *gaps;

	if (end < start + MIN_GAP)
		return true;
	if (b->nr_gaps == HSU_MAX_GAPS)
		return false;
	gaps = hsu_grow(b->gaps, b->nr_gaps, cap, sizeof(*gaps));
	if (!gaps)
		return false;
	b->gaps = gaps;
	b->gaps[b->nr_gaps++] = (struct hsu_gap){
		.start = start, .end = end, .crt_end = start,
	};
	return true;
}

/* Sections of glue, not of functions. */
static bool is_glue(const char *name)
{
	return !strncmp(name, ".plt", 4) || !strcmp(name, ".init") ||
	       !strcmp(name, ".fini");
}

/* End of the function at @addr if it is straight-line code, else 0. */
static u64 end_of_stub(const struct hsu_builder *b, u64 addr)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;
	ZydisDecoder dec;
	u8 code[64];
	size_t n, i;

	n = hsu_elf_read(b->elf, addr, code, sizeof(code));
	ZydisDecoderInit(&dec, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
	for (i = 0; i < n; i += insn.length) {
		if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&dec, code + i, n - i,
							 &insn, ops)))
			return 0;
		if (insn.mnemonic == ZYDIS_MNEMONIC_RET ||
		    insn.mnemonic == ZYDIS_MNEMONIC_JMP)
			return addr + i + insn.length;
	}
	return 0;
}

/*
 * crtbegin.o has four functions without CFI, which end with frame_dummy. The
 * first entries of .init_array and .fini_array lead there, without symbols.
 */
static void find_crt(struct hsu_builder *b)
{
	u64 funcs[128], end;
	size_t nr, i, j;

	nr = hsu_elf_init_funcs(b->elf, funcs, ARRAY_SIZE(funcs));
	for (i = 0; i < nr; i++) {
		for (j = 0; j < b->nr_gaps; j++)
			if (funcs[i] >= b->gaps[j].start &&
			    funcs[i] < b->gaps[j].end)
				break;
		if (j == b->nr_gaps || funcs[i] - b->gaps[j].start > MAX_CRT)
			continue;
		end = end_of_stub(b, funcs[i]);
		if (end > b->gaps[j].crt_end && end <= b->gaps[j].end)
			b->gaps[j].crt_end = end;
	}
}

/*
 * The part of a section that is code. Without section headers there are only
 * segments, in which there may be more than code: from the first FDE or _init
 * to the last or _fini.
 */
static void code_bounds(struct hsu_builder *b, const struct hsu_section *s,
			u64 *start, u64 *end)
{
	u64 init, fini, lo = ~0ULL, hi = 0;
	size_t i;

	*start = s->addr;
	*end = s->addr + s->size;
	if (s->index)
		return;
	hsu_elf_init_fini(b->elf, &init, &fini);
	if (init >= *start && init < *end)
		lo = init;
	if (fini >= *start && fini < *end)
		hi = fini;
	for (i = 0; i < b->fdes.nr; i++) {
		const struct hsu_range *f = &b->fdes.v[i];

		if (f->start < *start || f->start >= *end)
			continue;
		if (f->start < lo)
			lo = f->start;
		if (f->end > hi)
			hi = f->end;
	}
	*start = lo;
	*end = hi;
}

/* Adds the gaps of one section; @next is where its FDEs may begin. */
static bool section_gaps(struct hsu_builder *b, const struct hsu_section *s,
			 size_t *next, size_t *cap)
{
	size_t f = *next;
	bool ok = true;
	u64 at, end;

	code_bounds(b, s, &at, &end);
	if (at >= end)
		return true;
	while (f && b->fdes.v[f - 1].start >= at)
		f--;
	for (; f < b->fdes.nr && ok; f++) {
		if (b->fdes.v[f].start >= end)
			break;
		if (b->fdes.v[f].start > at)
			ok = add_gap(b, cap, at, b->fdes.v[f].start);
		if (b->fdes.v[f].end > at)
			at = b->fdes.v[f].end;
	}
	*next = f;
	if (ok && at < end)
		ok = add_gap(b, cap, at, end);
	return ok;
}

bool hsu_build_gaps(struct hsu_builder *b)
{
	const struct hsu_section *s;
	struct data_range d = data_range(b->elf);
	size_t nr, i, cap = 0, next = 0;
	bool ok = true;
	u64 *buf;

	s = hsu_elf_sections(b->elf, &nr);
	for (i = 0; i < nr && ok; i++)
		if (s[i].exec && !is_glue(s[i].name))
			ok = section_gaps(b, &s[i], &next, &cap);
	buf = ok ? malloc(WINDOW) : NULL;
	if (!buf)
		return false;
	for (i = 0; i < b->nr_gaps; i++)
		scan_gap(b, &b->gaps[i], &d, buf);
	free(buf);
	find_crt(b);
	return true;
}
