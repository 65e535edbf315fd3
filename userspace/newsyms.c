// SPDX-License-Identifier: GPL-2.0-only
/*
 * The symbol table that perf is to see: C's symbols, and one for every procedure
 * of Haskell code. All of the latter are functions: perf shows what is an object,
 * as GHC's symbols may be, with its offset.
 */
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "image_ranges.h"
#include "newsyms.h"
#include "zdecode.h"

/* Code that stands for something else in a chain; see struct hsunwind_image. */
struct mark {
	u64 start;
	u64 end;
	const char *name;
};

enum { MARK_GC, MARK_GAP, NR_MARKS };

struct maker {
	struct hsu_newsyms *out;
	struct hsu_elf *elf;
	struct hsu_names *names;
	struct hsu_ranges rts;	/* C code of the run-time system */
	const Elf64_Shdr *sh;
	size_t nr_sh;
	size_t last;		/* section of the last symbol */
	/* symbols of C, by address */
	const Elf64_Sym **known;
	size_t nr_known;
	size_t nr_gaps;
	size_t max_gaps;
	struct mark marks[NR_MARKS];
};

#define GC_NAME		"[GC]"
#define MIN_FUNCTION	16	/* bytes; less is padding */
#define MAX_RTS_RANGES	64

static bool contains(const Elf64_Shdr *sh, u64 addr)
{
	return sh->sh_flags & SHF_ALLOC && !(sh->sh_flags & SHF_TLS) &&
	       addr - sh->sh_addr < sh->sh_size;
}

/* Number of the section at an address, 0 if there is none. */
static u16 section_at(struct maker *m, u64 addr)
{
	size_t i;

	if (m->last && contains(&m->sh[m->last], addr))
		return (u16)m->last;
	for (i = 1; i < m->nr_sh; i++) {
		if (contains(&m->sh[i], addr)) {
			m->last = i;
			return (u16)i;
		}
	}
	return 0;
}

static void add_piece(struct maker *m, u32 name, u64 start, u64 end, u8 info)
{
	u16 section = section_at(m, start);

	if (!section || end < start)
		return;
	m->out->v[m->out->nr++] = (Elf64_Sym){
		.st_name = name, .st_info = info, .st_shndx = section,
		.st_value = start, .st_size = end - start,
	};
}

/* What a mark lies in, is divided by it. */
static void add(struct maker *m, u32 name, u64 start, u64 end, u8 info)
{
	size_t i;

	for (i = 0; i < NR_MARKS; i++) {
		const struct mark *mark = &m->marks[i];

		if (mark->end <= start || mark->start >= end)
			continue;
		if (mark->start > start)
			add(m, name, start, mark->start, info);
		if (mark->end < end)
			add(m, name, mark->end, end, info);
		return;
	}
	add_piece(m, name, start, end, info);
}

/*
 * With the byte before it, for viewers that look there.
 */
static void find_marks(struct maker *m, const struct hsunwind_image *h)
{
	if (h->gc_frame)
		m->marks[MARK_GC] = (struct mark){
			h->base + h->gc_frame - 1, h->base + h->gc_frame + 1,
			GC_NAME,
		};
	if (h->gap_frame)
		m->marks[MARK_GAP] = (struct mark){
			h->base + h->gap_frame - 1, h->base + h->gap_frame + 1,
			"[frames left out]",
		};
}

static void add_marks(struct maker *m)
{
	size_t i;

	for (i = 0; i < NR_MARKS; i++)
		if (m->marks[i].name)
			add_piece(m, hsu_strtab_add(&m->names->strings,
						    m->marks[i].name),
				  m->marks[i].start, m->marks[i].end,
				  ELF64_ST_INFO(STB_LOCAL, STT_FUNC));
}

/*
 * A return address points behind the info table of a continuation. For viewers
 * that look one byte before it, the table has the same name.
 */
static void add_procs(struct maker *m, const struct hsu_names *names)
{
	u8 info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
	size_t i;

	for (i = 0; i < names->nr; i++) {
		const struct hsu_proc *p = &names->procs[i];

		if (p->cont && p->table < p->addr)
			add(m, p->name, p->table, p->addr, info);
		add(m, p->name, p->addr, p->end, info);
	}
}

/*
 * A disassembler reads the info tables in a function as if they were code. It
 * starts anew at a symbol: these are of a type that perf does not look at.
 */
static void add_conts(struct maker *m, struct hsu_names *names)
{
	u8 info = ELF64_ST_INFO(STB_LOCAL, STT_LOPROC);
	u32 name = hsu_strtab_add(&names->strings, "return point");
	const struct hsu_proc *p;
	size_t i;

	for (i = 0; i < names->nr_conts; i++) {
		p = hsu_names_at(names, names->conts[i]);
		if (p && p->addr != names->conts[i])
			add(m, name, names->conts[i], names->conts[i], info);
	}
}

static int cmp_sym(const void *a, const void *b)
{
	u64 x = (*(const Elf64_Sym *const *)a)->st_value;
	u64 y = (*(const Elf64_Sym *const *)b)->st_value;

	return x < y ? -1 : x > y;
}

/* Symbols of C code, and of data. */
static bool is_shown(const struct hsu_names *names, const Elf64_Sym *sym)
{
	u8 type = ELF64_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && sym->st_shndx != SHN_ABS &&
	       (type == STT_NOTYPE || type == STT_FUNC || type == STT_OBJECT ||
		type == STT_GNU_IFUNC) &&
	       !hsu_names_at(names, sym->st_value);
}

/* C's symbols by address. */
static bool read_known(struct maker *m, const struct hsu_symtab *tab)
{
	size_t i;

	m->known = calloc(tab->nr + 1, sizeof(*m->known));
	if (!m->known)
		return false;
	for (i = 1; i < tab->nr; i++)
		if (is_shown(m->names, &tab->syms[i]))
			m->known[m->nr_known++] = &tab->syms[i];
	qsort(m->known, m->nr_known, sizeof(*m->known), cmp_sym);
	return true;
}

/* Does another symbol begin there? */
static bool begins_at(const struct maker *m, u64 addr)
{
	size_t lo = 0, hi = m->nr_known, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (m->known[mid]->st_value < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return (lo < m->nr_known && m->known[lo]->st_value == addr) ||
	       hsu_names_begin(m->names, addr);
}

static bool is_code(struct maker *m, u64 addr)
{
	u16 section = section_at(m, addr);

	return section && m->sh[section].sh_flags & SHF_EXECINSTR;
}

/*
 * What C's symbol becomes; 0: nothing. A large program has hundreds of thousands
 * of static closures, which perf shows nowhere.
 */
static u32 name_of_other(struct maker *m, const char *symbol, u64 addr)
{
	char name[HSU_MAX_NAME + 16];

	if (!is_code(m, addr))
		return hsu_name_of_symbol(symbol, name, sizeof(name)) ? 0
			: hsu_strtab_add(&m->names->strings, symbol);
	if (!m->names->exact && hsu_ranges_find(&m->rts, addr))
		hsu_name_of_rts(symbol, name, sizeof(name));
	else if (m->names->exact ||
		 !hsu_name_of_stub(symbol, name, sizeof(name)))
		return hsu_strtab_add(&m->names->strings, symbol);
	return hsu_strtab_add(&m->names->strings, name);
}

/*
 * A function that ends with a call of one that never returns, as GHC's main()
 * does: the return address lies behind it.
 */
static bool ends_with_call(struct maker *m, u64 end)
{
	u8 code[5];

	return is_code(m, end) &&
	       hsu_elf_read(m->elf, end - 5, code, 5) == 5 && code[0] == 0xe8;
}

static void add_others(struct maker *m, const struct hsu_symtab *tab,
		       bool local)
{
	size_t i;

	for (i = 1; i < tab->nr; i++) {
		const Elf64_Sym *sym = &tab->syms[i];
		const char *symbol = hsu_symtab_name(tab, sym);
		u64 end = sym->st_value + sym->st_size;
		u32 name;

		if ((ELF64_ST_BIND(sym->st_info) == STB_LOCAL) != local ||
		    !*symbol || !is_shown(m->names, sym))
			continue;
		name = name_of_other(m, symbol, sym->st_value);
		if (!name)
			continue;
		if (sym->st_size > 5 && !begins_at(m, end) &&
		    ends_with_call(m, end))
			end++;
		add(m, name, sym->st_value, end, sym->st_info);
	}
}

/*
 * C code of the run-time system that no symbol tells about. Linkage tables, which
 * have entries of one size, perf knows itself.
 */
static void add_rts_gap(struct maker *m, u64 start, u64 end, const char *name)
{
	while (start < end) {
		const Elf64_Shdr *sh = &m->sh[section_at(m, start)];
		u64 stop = sh->sh_addr + sh->sh_size;

		if (stop <= start)
			return;		/* in no section */
		if (stop > end)
			stop = end;
		if (stop - start >= MIN_FUNCTION && !sh->sh_entsize &&
		    m->nr_gaps++ < m->max_gaps)
			add(m, hsu_strtab_add(&m->names->strings, name),
			    start, stop, ELF64_ST_INFO(STB_LOCAL, STT_FUNC));
		start = stop;
	}
}

/*
 * A stripped program may still export some of its code, for the dynamic linker:
 * then the run-time system's own would be shown as bare addresses.
 */
static void add_rts_range(struct maker *m, const struct hsu_range *r)
{
	const char *name = r->cls == HSUNWIND_CLASS_GC ? GC_NAME : HSU_RTS_NAME;
	u64 at = r->start;
	size_t i;

	for (i = 0; i < m->nr_known && m->known[i]->st_value < r->end; i++) {
		const Elf64_Sym *sym = m->known[i];

		if (sym->st_value + sym->st_size < at)
			continue;
		add_rts_gap(m, at, sym->st_value, name);
		at = sym->st_value + sym->st_size;
		/* Assembler code may tell no size: up to the next symbol. */
		if (!sym->st_size && i + 1 < m->nr_known)
			at = m->known[i + 1]->st_value;
	}
	add_rts_gap(m, at, r->end, name);
}

static void add_rts(void *ctx, u64 start, u64 end)
{
	struct maker *m = ctx;

	hsu_ranges_add(&m->rts, start, end, HSUNWIND_CLASS_RTS);
}

static void add_gc(void *ctx, u64 start, u64 end)
{
	struct maker *m = ctx;

	hsu_ranges_add(&m->rts, start, end, HSUNWIND_CLASS_GC);
}

bool hsu_newsyms_make(struct hsu_newsyms *out, struct hsu_elf *elf,
		      const Elf64_Shdr *sh, size_t nr_sh,
		      const struct hsu_symtab *tab,
		      const struct hsu_built *built, struct hsu_names *names)
{
	struct maker m = {
		.out = out, .elf = elf, .names = names, .sh = sh, .nr_sh = nr_sh,
	};
	size_t i;

	memset(out, 0, sizeof(*out));
	m.max_gaps = tab->nr + MAX_RTS_RANGES;
	find_marks(&m, built->data);
	/* each mark may divide any symbol */
	out->v = calloc(1 + NR_MARKS + names->nr_conts + (1 + NR_MARKS) *
			(2 * names->nr + tab->nr + m.max_gaps),
			sizeof(*out->v));
	hsu_image_ranges(built, HSUNWIND_CLASS_RTS, add_rts, &m);
	hsu_image_ranges(built, HSUNWIND_CLASS_GC, add_gc, &m);
	hsu_ranges_sort(&m.rts);
	if (!out->v || !read_known(&m, tab))
		goto out;
	out->nr = 1;
	add_marks(&m);
	add_procs(&m, names);
	add_conts(&m, names);
	add_others(&m, tab, true);
	for (i = 0; i < m.rts.nr; i++)
		add_rts_range(&m, &m.rts.v[i]);
	out->nr_local = (u32)out->nr;
	add_others(&m, tab, false);
out:
	free(m.known);
	free(m.rts.v);
	return out->nr && !names->strings.failed && !m.rts.failed;
}
