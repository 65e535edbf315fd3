// SPDX-License-Identifier: GPL-2.0-only
/*
 * Damages an ELF file.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>

#include "check.h"
#include "elf_damage.h"

static const char *const sections[] = {
#define AREA_SECTION(name, section)	section,
	ELF_AREAS(AREA_SECTION)
};

void elf_file_read(struct elf_file *f, const char *path)
{
	FILE *in = fopen(path, "rb");
	Elf64_Ehdr eh;
	Elf64_Shdr sh, str;
	const char *name;
	size_t i, j;
	long size;

	check(in && !fseek(in, 0, SEEK_END), "the file can be opened");
	size = ftell(in);
	check(size > (long)sizeof(eh), "the file has a header");
	rewind(in);
	f->len = (size_t)size;
	f->data = malloc(f->len);
	check(f->data && fread(f->data, 1, f->len, in) == f->len,
	      "the file can be read");
	fclose(in);
	memcpy(&eh, f->data, sizeof(eh));
	f->parts[AREA_whole].len = f->len;
	f->parts[AREA_ehdr].len = sizeof(eh);
	f->parts[AREA_phdr] = (struct elf_part){
		eh.e_phoff, eh.e_phnum * sizeof(Elf64_Phdr), 0,
	};
	f->parts[AREA_shdr] = (struct elf_part){
		eh.e_shoff, eh.e_shnum * sizeof(sh), 0,
	};
	memcpy(&str, f->data + eh.e_shoff + eh.e_shstrndx * sizeof(sh),
	       sizeof(str));
	for (i = 1; i < eh.e_shnum; i++) {
		u64 header = eh.e_shoff + i * sizeof(sh);

		memcpy(&sh, f->data + header, sizeof(sh));
		name = (const char *)f->data + str.sh_offset + sh.sh_name;
		for (j = 0; j < AREA_NR; j++)
			if (sections[j] && !strcmp(sections[j], name))
				f->parts[j] = (struct elf_part){
					sh.sh_offset, sh.sh_size, header,
				};
	}
}

static const struct elf_part *part(const struct elf_file *f, u32 area)
{
	return &f->parts[area % AREA_NR];
}

/* Where in the copy place @b of an area is, if @bytes are there. */
static u8 *place(struct elf_damage *d, const struct elf_part *p, u64 b, u64 bytes)
{
	if (p->len < bytes)
		return NULL;
	b = p->at + b % (p->len - bytes + 1);
	return b <= d->len && bytes <= d->len - b ? d->data + b : NULL;
}

static void put(struct elf_damage *d, const struct elf_part *p, u64 b, u64 value,
		u64 bytes)
{
	u8 *to = place(d, p, b * bytes, bytes);

	if (to)
		memcpy(to, &value, bytes);
}

static void change_header(struct elf_damage *d, const struct elf_part *p,
			  size_t member, u64 value, u64 bytes)
{
	if (p->header && p->header + sizeof(Elf64_Shdr) <= d->len)
		memcpy(d->data + p->header + member, &value, bytes);
}

static void swap(struct elf_damage *d, const struct elf_part *a,
		 const struct elf_part *b)
{
	const size_t at = offsetof(Elf64_Shdr, sh_offset);
	u64 x[2], y[2];

	if (!a->header || !b->header ||
	    a->header + sizeof(Elf64_Shdr) > d->len ||
	    b->header + sizeof(Elf64_Shdr) > d->len)
		return;
	memcpy(x, d->data + a->header + at, sizeof(x));
	memcpy(y, d->data + b->header + at, sizeof(y));
	memcpy(d->data + a->header + at, y, sizeof(y));
	memcpy(d->data + b->header + at, x, sizeof(x));
}

/*
 * Instructions of an FDE, behind its length, CIE pointer and addresses: that is
 * 17 bytes in .eh_frame, and 28 in .debug_frame.
 */
static void put_cfi(struct elf_damage *d, const struct elf_part *p, u32 nr,
		    u32 value, u64 head)
{
	u64 at = 0;
	u32 len = 0;
	u8 *entry;

	do {
		at += len ? len + 4ull : 0;
		if (at + head + 8 > p->len)
			return;
		entry = place(d, p, at, 4);
		if (!entry)
			return;
		memcpy(&len, entry, 4);
	} while (nr-- && len);
	entry = place(d, p, at + head, 4);
	if (entry)
		memcpy(entry, &value, 4);
}

static void copy(struct elf_damage *d, const struct elf_part *p, u32 to, u32 from)
{
	u8 *dst = place(d, p, to, 64), *src = place(d, p, from, 64);

	if (dst && src)
		memmove(dst, src, 64);
}

static void cut(struct elf_damage *d, const struct elf_part *p, u32 b)
{
	if (p->at + b < d->len)
		d->len = p->at + b;
}

static void apply(struct elf_damage *d, const struct elf_file *f,
		  const struct record *r)
{
	const struct elf_part *p = part(f, r->a);
	u64 c = (u64)(s64)r->c;
	u32 word = 0;
	u8 *at;
	u32 i;

	switch ((enum elf_op)(r->op % ELF_OP_NR)) {
	case ELF_OP_set8:
		put(d, p, r->b, c, 1);
		return;
	case ELF_OP_set16:
		put(d, p, r->b, c, 2);
		return;
	case ELF_OP_set32:
		put(d, p, r->b, c, 4);
		return;
	case ELF_OP_set64:
		put(d, p, r->b, c, 8);
		return;
	case ELF_OP_high:
		put(d, p, r->b, c << 32, 8);
		return;
	case ELF_OP_add:
		at = place(d, p, r->b * 4ull, 4);
		if (!at)
			return;
		memcpy(&word, at, 4);
		word += (u32)r->c;
		memcpy(at, &word, 4);
		return;
	case ELF_OP_byte:
		put(d, p, r->b + ((u64)(u32)r->c >> 8 << 16), c, 1);
		return;
	case ELF_OP_fill:
		for (i = 0; i < ((u32)r->c >> 8 & 0xfff); i++)
			put(d, p, r->b + i, c, 1);
		return;
	case ELF_OP_copy:
		copy(d, p, r->b, (u32)r->c);
		return;
	case ELF_OP_size:
		change_header(d, p, r->b & 1 ? offsetof(Elf64_Shdr, sh_offset) :
			      offsetof(Elf64_Shdr, sh_size), c, 8);
		return;
	case ELF_OP_type:
		change_header(d, p, offsetof(Elf64_Shdr, sh_type), r->b, 4);
		change_header(d, p, offsetof(Elf64_Shdr, sh_flags), c, 8);
		return;
	case ELF_OP_swap:
		swap(d, p, part(f, r->b));
		return;
	case ELF_OP_cut:
		cut(d, p, r->b);
		return;
	case ELF_OP_cfi:
		put_cfi(d, p, r->b, (u32)r->c,
			p == &f->parts[AREA_eh_frame] ? 17 : 28);
		return;
	case ELF_OP_flags:
	case ELF_OP_NR:
		return;
	}
}

void elf_damage(struct elf_damage *d, const struct elf_file files[2],
		const struct record *r, u32 nr)
{
	const struct elf_file *f = files;
	u32 i;

	d->flags = 0;
	for (i = 0; i < nr; i++) {
		if (r[i].op % ELF_OP_NR != ELF_OP_flags)
			continue;
		d->flags = r[i].a & 3;
		f = &files[r[i].a >> 2 & 1];
	}
	d->len = f->len;
	d->data = malloc(d->len);
	check(d->data, "there is memory");
	memcpy(d->data, f->data, d->len);
	for (i = 0; i < nr; i++)
		apply(d, f, &r[i]);
}
