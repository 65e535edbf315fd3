// SPDX-License-Identifier: GPL-2.0-only
/*
 * A static closure begins where a word of data is the address of a procedure,
 * or where a symbol says so. In position-independent files the words are in
 * the relocations.
 */
#include <stdlib.h>
#include <string.h>

#include "dataclosures.h"
#include "grow.h"
#include "symtab.h"
#include "zdecode.h"

static void add_word(struct hsu_closures *c, u64 addr, u64 value)
{
	struct hsu_word *words = hsu_grow(c->words, c->nr_words, &c->cap_words,
					  sizeof(*words));

	if (!words) {
		c->failed = true;
		return;
	}
	c->words = words;
	c->words[c->nr_words++] = (struct hsu_word){ addr, value };
}

static void add_closure(struct hsu_closures *c, u64 addr,
			struct hsu_owner owner)
{
	struct hsu_closure *v = hsu_grow(c->v, c->nr, &c->cap, sizeof(*v));

	if (!v) {
		c->failed = true;
		return;
	}
	c->v = v;
	c->v[c->nr++] = (struct hsu_closure){
		.addr = addr, .owner = owner, .exported = owner.name,
	};
}

/* The words of a writable segment as they are in the file. */
static void read_segment(struct hsu_elf *elf, const struct hsu_load *ld, u64 lo,
			 u64 hi, struct hsu_closures *c)
{
	u64 buf[1024], at = (ld->vaddr + 7) & ~7ULL;
	u64 end = ld->vaddr + ld->filesz;
	size_t n, i;

	for (; at + 8 <= end && !c->failed; at += n * 8) {
		n = end - at < sizeof(buf) ? end - at : sizeof(buf);
		n = hsu_elf_read(elf, at, buf, n) / 8;
		if (!n)
			return;
		for (i = 0; i < n; i++)
			if (buf[i] >= lo && buf[i] < hi)
				add_word(c, at + i * 8, buf[i]);
	}
}

/* What the dynamic linker will write there. */
static void read_relocations(struct hsu_elf *elf, struct hsu_closures *c)
{
	const struct hsu_section *rela = hsu_elf_section(elf, ".rela.dyn");
	const struct hsu_section *dyn = hsu_elf_section(elf, ".dynsym");
	const u8 *rels, *syms = NULL;
	size_t len, syms_len = 0, i;
	Elf64_Rela r;
	Elf64_Sym sym;

	if (!rela || !hsu_elf_data(elf, rela, &rels, &len))
		return;
	if (dyn && !hsu_elf_data(elf, dyn, &syms, &syms_len))
		syms_len = 0;
	for (i = 0; i + sizeof(r) <= len && !c->failed; i += sizeof(r)) {
		u64 at;

		memcpy(&r, rels + i, sizeof(r));
		at = ELF64_R_SYM(r.r_info) * sizeof(sym);
		if (ELF64_R_TYPE(r.r_info) == R_X86_64_RELATIVE) {
			add_word(c, r.r_offset, (u64)r.r_addend);
		} else if (ELF64_R_TYPE(r.r_info) == R_X86_64_64 &&
			   at + sizeof(sym) <= syms_len) {
			memcpy(&sym, syms + at, sizeof(sym));
			/* 0: not in this file; it may be the code of a closure. */
			add_word(c, r.r_offset, sym.st_shndx ?
				 sym.st_value + (u64)r.r_addend : 0);
		}
	}
}

static int cmp_word(const void *a, const void *b)
{
	const struct hsu_word *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int cmp_closure(const void *a, const void *b)
{
	const struct hsu_closure *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return y->exported - x->exported;
}

static bool is_writable(const struct hsu_elf *elf, u64 addr)
{
	const struct hsu_load *loads;
	size_t nr, i;

	loads = hsu_elf_loads(elf, &nr);
	for (i = 0; i < nr; i++)
		if (addr - loads[i].vaddr < loads[i].memsz)
			return loads[i].write;
	return false;
}

/* Symbols of closures, and whom they belong to. */
static void read_symbols(struct hsu_elf *elf, const struct hsu_symtab *tab,
			 struct hsu_names *names, struct hsu_closures *c)
{
	char name[HSU_MAX_NAME];
	struct hsu_owner owner;
	const char *symbol;
	size_t len, i;

	for (i = 0; i < tab->nr && !c->failed; i++) {
		const Elf64_Sym *sym = &tab->syms[i];

		symbol = hsu_symtab_name(tab, sym);
		len = strlen(symbol);
		if (len < 9 || strcmp(symbol + len - 8, "_closure") ||
		    sym->st_value % 8 || !is_writable(elf, sym->st_value) ||
		    !hsu_name_of_symbol(symbol, name, sizeof(name)))
			continue;
		owner = (struct hsu_owner){
			.name = hsu_strtab_add(&names->strings, name),
			.module = hsu_module_of(names, name),
		};
		add_closure(c, sym->st_value, owner);
	}
}

static void drop_duplicates(struct hsu_closures *c)
{
	size_t i, n = 0, w = 0;

	for (i = 0; i < c->nr; i++) {
		if (n && c->v[n - 1].addr == c->v[i].addr)
			continue;
		while (w < c->nr_words && c->words[w].addr < c->v[i].addr)
			w++;
		c->v[n] = c->v[i];
		c->v[n++].word = w;
	}
	c->nr = n;
}

bool hsu_closures_find(struct hsu_elf *elf, const struct hsu_symtab *tab,
		       struct hsu_names *names, struct hsu_closures *c)
{
	const struct hsu_load *loads;
	const struct hsu_proc *p;
	size_t nr, i;

	memset(c, 0, sizeof(*c));
	loads = hsu_elf_loads(elf, &nr);
	for (i = 0; i < nr; i++)
		if (loads[i].write)
			read_segment(elf, &loads[i], hsu_elf_base(elf),
				     loads[nr - 1].vaddr + loads[nr - 1].memsz,
				     c);
	read_relocations(elf, c);
	if (c->nr_words)
		qsort(c->words, c->nr_words, sizeof(*c->words), cmp_word);
	read_symbols(elf, tab, names, c);
	for (i = 0; i < c->nr_words; i++) {
		p = hsu_names_at(names, c->words[i].value);
		if (!c->words[i].value || (p && p->addr == c->words[i].value))
			add_closure(c, c->words[i].addr,
				    (struct hsu_owner){ 0 });
	}
	if (c->nr)
		qsort(c->v, c->nr, sizeof(*c->v), cmp_closure);
	drop_duplicates(c);
	return !c->failed;
}

void hsu_closures_free(struct hsu_closures *c)
{
	free(c->v);
	free(c->words);
	memset(c, 0, sizeof(*c));
}

long hsu_closures_at(const struct hsu_closures *c, u64 addr)
{
	size_t lo = 0, hi = c->nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (c->v[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < c->nr && c->v[lo].addr == addr ? (long)lo : -1;
}
