// SPDX-License-Identifier: GPL-2.0-only
/*
 * The procedures of a file's Haskell code. Every byte of it belongs to one: to
 * that of a symbol, of debugging information or of an info table, whichever
 * there is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "codenames.h"
#include "grow.h"
#include "image_ranges.h"
#include "infotable.h"
#include "symtab.h"
#include "zdecode.h"

#define LEN_TABLE	16	/* bytes of an info table */
#define LEN_FUN_TABLE	24	/* of a function's, as a rule */
#define LEN_SLOW_TABLE	40	/* of a function with a slow entry */
#define MAX_UNKNOWN	48	/* up to that it is padding and an odd table */
#define MAX_SLOW	65536	/* bytes between a slow entry and its function */

/* Where something is known to begin. */
struct mark {
	u64 addr;
	u64 size;	/* 0: not known */
	u64 function;	/* whose slow entry it is, 0: it is none */
	u32 name;
	u32 where;
	u32 owner;
	u8 source;
};

struct finder {
	struct hsu_names *names;
	struct hsu_ranges ranges;
	struct mark *marks;
	size_t nr;
	size_t cap;
	unsigned int flags;
	bool failed;
};

static void add_mark(struct finder *f, const struct mark *m)
{
	struct mark *marks = hsu_grow(f->marks, f->nr, &f->cap, sizeof(*marks));

	if (!marks) {
		f->failed = true;
		return;
	}
	f->marks = marks;
	f->marks[f->nr++] = *m;
}

static void add_haskell(void *ctx, u64 start, u64 end)
{
	hsu_ranges_add(ctx, start, end, HSUNWIND_CLASS_HS);
}

static void add_rts(void *ctx, u64 start, u64 end)
{
	hsu_ranges_add(ctx, start, end, HSUNWIND_CLASS_HS_RTS);
}

/* Labels such as s50k_info, which some compilers of GHC's output keep. */
static bool is_label(const char *symbol)
{
	const char *end = strchr(symbol, '_');

	return end && strchr("src", *symbol) && !strcmp(end, "_info");
}

static void take_symbols(struct finder *f, const struct hsu_symtab *tab)
{
	struct hsu_strtab *s = &f->names->strings;
	char name[HSU_MAX_NAME];
	size_t i;

	for (i = 0; i < tab->nr && !f->failed; i++) {
		const Elf64_Sym *sym = &tab->syms[i];
		const char *symbol = hsu_symtab_name(tab, sym);
		int type = ELF64_ST_TYPE(sym->st_info);
		const struct hsu_range *r;
		struct mark m = { 0 };

		if (sym->st_shndx == SHN_UNDEF || !*symbol || is_label(symbol) ||
		    (type != STT_FUNC && type != STT_OBJECT && type != STT_NOTYPE))
			continue;
		r = hsu_ranges_find(&f->ranges, sym->st_value);
		if (!r)
			continue;
		m.addr = sym->st_value;
		m.size = sym->st_size;
		m.source = HSU_NAME_SYMBOL;
		if (r->cls == HSUNWIND_CLASS_HS) {
			hsu_name_of_symbol(symbol, name, sizeof(name));
			m.owner = hsu_strtab_add(s, name);
		} else {
			hsu_name_of_rts(symbol, name, sizeof(name));
		}
		m.name = hsu_strtab_add(s, f->flags & HSU_NAMES_EXACT ? symbol
							       : name);
		add_mark(f, &m);
	}
}

static void take_exported(struct finder *f, const struct hsu_dwarf_proc *p,
			  struct mark *m)
{
	char name[HSU_MAX_NAME];

	hsu_name_of_symbol(p->linkage, name, sizeof(name));
	m->owner = hsu_strtab_add(&f->names->strings, name);
	m->name = m->owner;
	if (f->flags & HSU_NAMES_EXACT)
		m->name = hsu_strtab_add(&f->names->strings, p->linkage);
	add_mark(f, m);
}

/*
 * "Main.parse.go (Parse.hs:41)": the module, what the source calls it or what
 * it is part of, and where. If only the latter is known, others must say whose
 * it is.
 */
static void take_debug(void *ctx, const struct hsu_dwarf_proc *p)
{
	const char *exported = p->parent ? p->parent : p->sibling;
	char around[HSU_MAX_NAME] = "", name[2 * HSU_MAX_NAME], where[256];
	struct mark m = { .addr = p->addr, .source = HSU_NAME_DEBUG };
	struct finder *f = ctx;
	struct hsu_strtab *s = &f->names->strings;
	size_t module = 0;

	if (!hsu_ranges_find(&f->ranges, p->addr))
		return;
	if (p->external) {
		take_exported(f, p, &m);
		return;
	}
	if (exported)
		module = hsu_name_of_symbol(exported, around, sizeof(around));
	*where = 0;
	if (p->file && p->line)
		snprintf(where, sizeof(where), "%s:%u", p->file, p->line);
	if (module && (p->source || p->parent)) {
		if (p->source)
			snprintf(name, sizeof(name), "%.*s.%s", (int)module,
				 around, p->source);
		else
			snprintf(name, sizeof(name), "%s", around);
		m.owner = hsu_strtab_add(s, p->parent ? around : name);
		if (*where)
			snprintf(name + strlen(name),
				 sizeof(name) - strlen(name), " (%s)", where);
		m.name = hsu_strtab_add(s, name);
	} else {
		m.source = HSU_NAME_ADDRESS;
		m.where = hsu_strtab_add(s, where);
	}
	add_mark(f, &m);
}

static int cmp_mark(const void *a, const void *b)
{
	const struct mark *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->source != y->source)
		return x->source - y->source;
	if (!x->owner != !y->owner)
		return !x->owner - !y->owner;
	if (!x->where != !y->where)
		return !x->where - !y->where;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void sort_marks(struct finder *f)
{
	size_t i, n = 0;

	if (!f->nr)
		return;
	qsort(f->marks, f->nr, sizeof(*f->marks), cmp_mark);
	for (i = 0; i < f->nr; i++)
		if (!n || f->marks[n - 1].addr != f->marks[i].addr)
			f->marks[n++] = f->marks[i];
	f->nr = n;
}

static struct hsu_proc *add_proc(struct finder *f, u64 addr, u64 table, bool rts)
{
	struct hsu_names *names = f->names;
	struct hsu_proc *p = hsu_grow(names->procs, names->nr, &names->cap,
				      sizeof(*p));

	if (!p) {
		f->failed = true;
		return NULL;
	}
	names->procs = p;
	p = &names->procs[names->nr++];
	*p = (struct hsu_proc){
		.addr = addr, .table = table, .rts = rts,
		.source = HSU_NAME_ADDRESS,
	};
	return p;
}

/*
 * A function that takes its arguments in an unusual pattern has a second entry,
 * which loads them from the stack. It lies somewhere before the function, whose
 * table says where.
 */
static u64 slow_entry(const struct hsu_code *code, u64 addr)
{
	u32 fun_type;
	s32 off;

	if (addr - code->start < LEN_SLOW_TABLE)
		return 0;
	memcpy(&fun_type, code->bytes + (addr - 24 - code->start), 4);
	memcpy(&off, code->bytes + (addr - LEN_SLOW_TABLE - code->start), 4);
	/* ARG_GEN and ARG_GEN_BIG of rts/storage/FunTypes.h */
	if (fun_type > 1 || off >= -LEN_SLOW_TABLE || off < -MAX_SLOW ||
	    off % 8 || (u64)-(s64)off > addr - code->start)
		return 0;
	return addr + (u64)(s64)off;
}

static void add_cont(struct finder *f, u64 addr)
{
	struct hsu_names *names = f->names;
	u64 *conts = hsu_grow(names->conts, names->nr_conts, &names->cap_conts,
			      sizeof(*conts));

	if (!conts) {
		f->failed = true;
		return;
	}
	names->conts = conts;
	names->conts[names->nr_conts++] = addr;
}

static void take_tables(struct finder *f, const struct hsu_code *code)
{
	struct mark m = { .source = HSU_NAME_ADDRESS };
	struct hsu_entry e;
	u64 addr = (code->start + 7) & ~7ULL;

	for (; addr < code->end && !f->failed; addr += 8) {
		if (!hsu_info_entry(code, addr, &e))
			continue;
		if (!e.proc) {
			add_cont(f, addr);
			continue;
		}
		m.addr = addr;
		m.function = 0;
		add_mark(f, &m);
		if (!e.function)
			continue;
		m.function = addr;
		m.addr = slow_entry(code, addr);
		if (m.addr)
			add_mark(f, &m);
	}
}

/* Where the info table of what begins at @addr does; @addr if it has none. */
static u64 table_start(const struct hsu_code *code, u64 addr, bool *cont)
{
	struct hsu_entry e;
	bool table = hsu_info_entry(code, addr, &e);

	*cont = table && !e.proc;
	if (!table)
		return addr;
	if (!e.function)
		return addr - LEN_TABLE;
	return addr - (slow_entry(code, addr) ? LEN_SLOW_TABLE : LEN_FUN_TABLE);
}

/* Makes procedures of the marks in a range, and of the code between them. */
static void make_procs(struct finder *f, const struct hsu_code *code, bool rts,
		       size_t *next)
{
	u64 from = code->start, known = code->start, table;
	struct hsu_proc *p;
	bool cont;

	for (; *next < f->nr && f->marks[*next].addr < code->end && !f->failed;
	     (*next)++) {
		const struct mark *m = &f->marks[*next];

		/* What looks like a table inside of a function is none. */
		if (m->addr < code->start ||
		    (m->source != HSU_NAME_SYMBOL && m->addr < known))
			continue;
		table = table_start(code, m->addr, &cont);
		if (table < from || table < known)
			table = m->addr;
		/* Code behind the end of a symbol that nothing tells about. */
		if (!rts && from && table > from + MAX_UNKNOWN)
			add_proc(f, from, from, rts);
		p = add_proc(f, m->addr, table, rts);
		if (!p)
			return;
		p->cont = cont;
		p->function = m->function;
		p->name = m->name;
		p->where = m->where;
		p->owner.name = m->owner;
		p->source = m->source;
		known = m->addr + (m->size ? m->size : 1);
		if (known > code->end)
			known = code->end;	/* a damaged symbol */
		from = m->size ? (known + 7) & ~7ULL : 0;
	}
	if (from == code->start)
		add_proc(f, code->start, code->start, rts);
}

static void set_ends(struct hsu_names *names, size_t first, u64 end)
{
	for (; first < names->nr; first++)
		names->procs[first].end = first + 1 < names->nr
			? names->procs[first + 1].table : end;
}

/* Loads all Haskell code, range by range. */
static void each_range(struct finder *f, struct hsu_elf *elf, bool tables)
{
	size_t i, next = 0, first;

	for (i = 0; i < f->ranges.nr && !f->failed; i++) {
		const struct hsu_range *r = &f->ranges.v[i];
		bool rts = r->cls == HSUNWIND_CLASS_HS_RTS;
		u64 len = r->end - r->start;
		u8 *bytes = malloc(len);
		struct hsu_code code = {
			.elf = elf, .bytes = bytes, .start = r->start,
			.end = r->end,
		};

		if (!bytes) {
			f->failed = true;
			return;
		}
		first = f->names->nr;
		if (hsu_elf_read(elf, r->start, bytes, len) < len)
			;	/* the file has shrunk */
		else if (!tables)
			make_procs(f, &code, rts, &next);
		else if (!rts)
			take_tables(f, &code);
		set_ends(f->names, first, r->end);
		free(bytes);
	}
}

bool hsu_procs_find(struct hsu_elf *elf, struct hsu_elf *debug,
		    const struct hsu_symtab *tab, const struct hsu_built *built,
		    unsigned int flags, struct hsu_names *names)
{
	struct finder f = { .names = names, .flags = flags };

	hsu_image_ranges(built, HSUNWIND_CLASS_HS, add_haskell, &f.ranges);
	hsu_image_ranges(built, HSUNWIND_CLASS_HS_RTS, add_rts, &f.ranges);
	hsu_ranges_sort(&f.ranges);
	take_symbols(&f, tab);
	if (!(flags & HSU_NAMES_NO_DEBUG))
		hsu_dwarf_procs(debug, take_debug, &f);
	each_range(&f, elf, true);
	sort_marks(&f);
	each_range(&f, elf, false);
	free(f.marks);
	free(f.ranges.v);
	return !f.failed && !f.ranges.failed;
}
