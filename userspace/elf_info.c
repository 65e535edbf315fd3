// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an ELF file says about itself: symbols, dynamic section, notes.
 */
#include <elf.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf_priv.h"
#include "grow.h"

/* Calls @fn for each entry of the dynamic section. */
static void each_dyn(struct hsu_elf *elf,
		     void (*fn)(void *ctx, const Elf64_Dyn *d), void *ctx)
{
	Elf64_Dyn d;
	u64 i;

	for (i = 0; (i + 1) * sizeof(d) <= elf->dyn_size; i++) {
		if (hsu_elf_pread(elf, elf->dyn_offset + i * sizeof(d), &d,
				  sizeof(d)) < sizeof(d) || d.d_tag == DT_NULL)
			return;
		fn(ctx, &d);
	}
}

struct dyn_info {
	u64 strtab, strsz, soname;
	u64 init, init_sz, fini, fini_sz, rela, rela_sz;
	u64 first, last;
	bool has_soname;
};

static void take_dyn(void *ctx, const Elf64_Dyn *d)
{
	struct dyn_info *di = ctx;

	switch (d->d_tag) {
	case DT_STRTAB:
		di->strtab = d->d_un.d_ptr;
		break;
	case DT_STRSZ:
		di->strsz = d->d_un.d_val;
		break;
	case DT_SONAME:
		di->soname = d->d_un.d_val;
		di->has_soname = true;
		break;
	case DT_INIT:
		di->first = d->d_un.d_ptr;
		break;
	case DT_FINI:
		di->last = d->d_un.d_ptr;
		break;
	case DT_INIT_ARRAY:
		di->init = d->d_un.d_ptr;
		break;
	case DT_INIT_ARRAYSZ:
		di->init_sz = d->d_un.d_val;
		break;
	case DT_FINI_ARRAY:
		di->fini = d->d_un.d_ptr;
		break;
	case DT_FINI_ARRAYSZ:
		di->fini_sz = d->d_un.d_val;
		break;
	case DT_RELA:
		di->rela = d->d_un.d_ptr;
		break;
	case DT_RELASZ:
		di->rela_sz = d->d_un.d_val;
		break;
	}
}

/* Copies a string of the dynamic string table, cut to @cap. */
static bool dyn_string(const struct hsu_elf *elf, const struct dyn_info *di,
		       u64 off, char *buf, size_t cap)
{
	size_t n;

	if (off >= di->strsz)
		return false;
	n = hsu_elf_read(elf, di->strtab + off, buf, cap - 1);
	buf[n] = 0;
	return n > 0;
}

void hsu_elf_read_dynamic(struct hsu_elf *elf)
{
	struct dyn_info di = { 0 };

	each_dyn(elf, take_dyn, &di);
	if (di.has_soname)
		dyn_string(elf, &di, di.soname, elf->soname,
			   sizeof(elf->soname));
}

void hsu_elf_init_fini(struct hsu_elf *elf, u64 *init, u64 *fini)
{
	struct dyn_info di = { 0 };

	each_dyn(elf, take_dyn, &di);
	*init = di.first;
	*fini = di.last;
}

const char *hsu_elf_soname(const struct hsu_elf *elf)
{
	return elf->soname;
}

struct needed_ctx {
	struct hsu_elf *elf;
	struct dyn_info di;
	void (*fn)(void *ctx, const char *name);
	void *ctx;
};

static void take_needed(void *ctx, const Elf64_Dyn *d)
{
	struct needed_ctx *n = ctx;
	char name[256];

	if (d->d_tag == DT_NEEDED &&
	    dyn_string(n->elf, &n->di, d->d_un.d_val, name, sizeof(name)))
		n->fn(n->ctx, name);
}

void hsu_elf_needed(struct hsu_elf *elf,
		    void (*fn)(void *ctx, const char *name), void *ctx)
{
	struct needed_ctx n = { .elf = elf, .fn = fn, .ctx = ctx };

	each_dyn(elf, take_dyn, &n.di);
	each_dyn(elf, take_needed, &n);
}

/* Reads an array of function addresses as the file has it. */
static size_t read_array(const struct hsu_elf *elf, u64 addr, u64 size,
			 u64 *addrs, size_t cap)
{
	size_t n = size / 8;

	if (n > cap)
		n = cap;
	return hsu_elf_read(elf, addr, addrs, n * 8) / 8;
}

size_t hsu_elf_init_funcs(struct hsu_elf *elf, u64 *addrs, size_t cap)
{
	struct dyn_info di = { 0 };
	const struct hsu_section *sec;
	size_t n = 0;
	Elf64_Rela r;
	u64 i;

	each_dyn(elf, take_dyn, &di);
	if (!elf->dyn_size) {
		sec = hsu_elf_section(elf, ".init_array");
		if (sec) {
			di.init = sec->addr;
			di.init_sz = sec->size;
		}
		sec = hsu_elf_section(elf, ".fini_array");
		if (sec) {
			di.fini = sec->addr;
			di.fini_sz = sec->size;
		}
	}
	n += read_array(elf, di.init, di.init_sz, addrs, cap);
	n += read_array(elf, di.fini, di.fini_sz, addrs + n, cap - n);
	/* Position-independent: the addresses are in the relocations. */
	for (i = 0; i < di.rela_sz / sizeof(r) && i < 1u << 20 && n < cap; i++) {
		if (hsu_elf_read(elf, di.rela + i * sizeof(r), &r, sizeof(r)) <
		    sizeof(r) || ELF64_R_TYPE(r.r_info) != R_X86_64_RELATIVE)
			break;
		if (r.r_offset - di.init < di.init_sz ||
		    r.r_offset - di.fini < di.fini_sz)
			addrs[n++] = r.r_addend;
	}
	return n;
}

static int cmp_symbol(const void *a, const void *b)
{
	const struct hsu_symbol_ref *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool is_code_symbol(const Elf64_Sym *sym)
{
	int type = ELF64_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && sym->st_shndx < SHN_LORESERVE &&
	       (type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC);
}

/* From the first to the last byte of code. */
static void exec_bounds(const struct hsu_elf *elf, u64 *lo, u64 *hi)
{
	size_t i;

	*lo = ~0ULL;
	*hi = 0;
	for (i = 0; i < elf->nr_loads; i++) {
		const struct hsu_load *ld = &elf->loads[i];

		if (!ld->exec)
			continue;
		if (ld->vaddr < *lo)
			*lo = ld->vaddr;
		if (ld->vaddr + ld->memsz > *hi)
			*hi = ld->vaddr + ld->memsz;
	}
}

/*
 * Makes the index. A Haskell program may well export 400,000 symbols: their
 * names stay in the file.
 */
static void index_symbols(struct hsu_elf *elf, const Elf64_Shdr *sh)
{
	struct hsu_symbol_ref *v = NULL, *more;
	size_t nr = 0, cap = 0, n, i;
	Elf64_Sym buf[512];
	u64 at, lo, hi;

	exec_bounds(elf, &lo, &hi);
	for (at = 0; at < sh->sh_size; at += n * sizeof(buf[0])) {
		n = sh->sh_size - at < sizeof(buf) ? sh->sh_size - at
						   : sizeof(buf);
		n = hsu_elf_pread(elf, sh->sh_offset + at, buf, n) /
		    sizeof(buf[0]);
		if (!n)
			break;
		for (i = 0; i < n; i++) {
			if (buf[i].st_value < lo || buf[i].st_value >= hi ||
			    !is_code_symbol(&buf[i]))
				continue;
			more = hsu_grow(v, nr, &cap, sizeof(*v));
			if (!more)
				goto out;
			v = more;
			v[nr].addr = buf[i].st_value;
			v[nr].size = buf[i].st_size > 0xffffffff
				? 0xffffffff : (u32)buf[i].st_size;
			v[nr].global = ELF64_ST_BIND(buf[i].st_info) !=
				STB_LOCAL;
			v[nr++].name = buf[i].st_name;
		}
	}
out:
	if (nr)
		qsort(v, nr, sizeof(*v), cmp_symbol);
	elf->symbols = v;
	elf->nr_symbols = nr;
}

static void read_symbols(struct hsu_elf *elf)
{
	const struct hsu_section *sec = hsu_elf_section(elf, ".symtab");
	const Elf64_Shdr *sh, *str;
	Elf_Scn *scn;

	elf->symbols_read = true;
	if (!sec || sec->nobits)
		sec = hsu_elf_section(elf, ".dynsym");
	scn = sec && !sec->nobits ? elf_getscn(elf->elf, sec->index) : NULL;
	sh = scn ? elf64_getshdr(scn) : NULL;
	scn = sh ? elf_getscn(elf->elf, sh->sh_link) : NULL;
	str = scn ? elf64_getshdr(scn) : NULL;
	if (!str || str->sh_type != SHT_STRTAB)
		return;
	elf->names_offset = str->sh_offset;
	elf->names_size = str->sh_size;
	index_symbols(elf, sh);
}

static size_t first_symbol(const struct hsu_elf *elf, u64 addr)
{
	size_t lo = 0, hi = elf->nr_symbols, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (elf->symbols[mid].addr < addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct hsu_symbol *hsu_elf_symbols(struct hsu_elf *elf, u64 start, u64 end,
				   size_t *nr)
{
	struct hsu_symbol *v;
	size_t lo, hi, i, len;

	*nr = 0;
	if (!elf->symbols_read)
		read_symbols(elf);
	lo = first_symbol(elf, start);
	hi = first_symbol(elf, end);
	if (lo >= hi)
		return NULL;
	v = calloc(hi - lo, sizeof(*v));
	if (!v)
		return NULL;
	for (i = lo; i < hi; i++) {
		const struct hsu_symbol_ref *ref = &elf->symbols[i];
		struct hsu_symbol *sym = &v[(*nr)++];

		len = 0;
		if (ref->name < elf->names_size)
			len = hsu_elf_pread(elf, elf->names_offset + ref->name,
					    sym->name, sizeof(sym->name) - 1);
		sym->name[len] = 0;
		sym->addr = ref->addr;
		sym->size = ref->size;
		sym->global = ref->global;
	}
	return v;
}

void hsu_build_id_text(const u8 *id, size_t len, char *out)
{
	size_t i;

	out[0] = 0;
	for (i = 0; i < len; i++)
		snprintf(out + 2 * i, 3, "%02x", id[i]);
}

size_t hsu_elf_build_id(struct hsu_elf *elf, u8 *id, size_t cap)
{
	size_t i, off, len, name_at, desc_at;
	const u8 *data;
	GElf_Nhdr nh;
	Elf_Data d;

	for (i = 0; i < elf->nr_sections; i++) {
		if (strncmp(elf->sections[i].name, ".note", 5) ||
		    !hsu_elf_data(elf, &elf->sections[i], &data, &len))
			continue;
		d = (Elf_Data){ .d_buf = (void *)data, .d_size = len,
				.d_type = ELF_T_NHDR, .d_version = EV_CURRENT,
				.d_align = 4 };
		for (off = 0; (off = gelf_getnote(&d, off, &nh, &name_at,
						  &desc_at)) > 0;) {
			if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != 4 ||
			    memcmp(data + name_at, "GNU", 4) || !nh.n_descsz)
				continue;
			if (nh.n_descsz < cap)
				cap = nh.n_descsz;
			memcpy(id, data + desc_at, cap);
			return cap;
		}
	}
	return 0;
}

const char *hsu_elf_debuglink(struct hsu_elf *elf)
{
	const struct hsu_section *sec = hsu_elf_section(elf, ".gnu_debuglink");
	const u8 *data;
	size_t len;

	if (!sec || !hsu_elf_data(elf, sec, &data, &len) || !len ||
	    !memchr(data, 0, len) || memchr(data, '/', len))
		return NULL;
	return (const char *)data;
}
