// SPDX-License-Identifier: GPL-2.0-only
/*
 * A copy of an ELF file with other symbols. All that is kept stays where it
 * was; new tables come behind it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "newsyms.h"
#include "symfile.h"

#define MARK		".hsunwind"	/* section by which our files are known */
#define MAX_SECTIONS	65000u
#define LARGE		(1u << 20)	/* bytes of dynamic symbols that count */

struct copy {
	struct hsu_elf *elf;
	int fd;
	const char *path;
	struct hsu_error *err;
	Elf64_Ehdr eh;
	Elf64_Shdr *sh;		/* of the copy; room for the new ones */
	char *shstr;
	size_t shstr_len;
	u64 end;		/* of what has been written */
};

static int cannot_write(const struct copy *c)
{
	return hsu_fail(c->err, "%s cannot be written: %m", c->path);
}

static int write_at(const struct copy *c, u64 offset, const void *data,
		    size_t len)
{
	const char *p = data;
	ssize_t n;

	for (; len; len -= (size_t)n, p += n, offset += (u64)n) {
		n = pwrite(c->fd, p, len, (off_t)offset);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return cannot_write(c);
	}
	return 0;
}

/* By the file system itself, which may share blocks, or else by hand. */
static int copy_range(struct copy *c, u64 offset, u64 len)
{
	u64 end = offset + len;
	u8 buf[1 << 16];
	ssize_t n;

	if (end > c->end)
		c->end = end;
	while (offset < end) {
		off64_t from = (off64_t)offset, to = (off64_t)offset;

		n = copy_file_range(hsu_elf_fd(c->elf), &from, c->fd, &to,
				    end - offset, 0);
		if (n <= 0)
			break;
		offset += (u64)n;
	}
	while (offset < end) {
		n = pread(hsu_elf_fd(c->elf), buf, end - offset < sizeof(buf) ?
			  end - offset : sizeof(buf), (off_t)offset);
		if (n <= 0)
			return hsu_fail(c->err, "%s cannot be read: %m",
					hsu_elf_name(c->elf));
		if (write_at(c, offset, buf, (size_t)n))
			return -1;
		offset += (u64)n;
	}
	return 0;
}

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/*
 * What no profiler reads: data, and tables of the dynamic linker. Programs that
 * export all their symbols, as Debian's do, need not have them here twice: perf
 * takes what it wants of them, the names of PLT entries, from the file itself.
 */
static bool is_dispensable(const Elf64_Shdr *sh, const char *name)
{
	switch (sh->sh_type) {
	case SHT_NOBITS:
	case SHT_NULL:
	case SHT_SYMTAB:
	case SHT_SYMTAB_SHNDX:
	case SHT_HASH:
	case SHT_GNU_HASH:
	case SHT_GNU_versym:
		return true;
	case SHT_STRTAB:
		return !(sh->sh_flags & SHF_ALLOC) || sh->sh_size > LARGE;
	case SHT_DYNSYM:
		return sh->sh_size > LARGE;
	case SHT_PROGBITS:
		return begins(name, ".data") || begins(name, ".rodata") ||
		       begins(name, ".ldata") || begins(name, ".lrodata");
	}
	return false;
}

static int read_headers(struct copy *c)
{
	struct hsu_elf *elf = c->elf;
	const char *name = hsu_elf_name(elf);
	const Elf64_Shdr *str;
	size_t len;

	if (hsu_elf_pread(elf, 0, &c->eh, sizeof(c->eh)) < sizeof(c->eh))
		return hsu_fail(c->err, "%s cannot be read", name);
	if (c->eh.e_shnum < 2 || c->eh.e_shnum > MAX_SECTIONS ||
	    c->eh.e_shentsize != sizeof(*c->sh) ||
	    c->eh.e_shstrndx >= c->eh.e_shnum)
		return hsu_fail(c->err,
				"%s has no usual section headers (e_shnum): perf cannot use symbols for it",
				name);
	c->sh = calloc(c->eh.e_shnum + 4u, sizeof(*c->sh));
	if (!c->sh)
		return hsu_fail(c->err, "%s: out of memory", name);
	len = c->eh.e_shnum * sizeof(*c->sh);
	if (hsu_elf_pread(elf, c->eh.e_shoff, c->sh, len) < len)
		return hsu_fail(c->err, "%s is truncated in its section headers",
				name);
	str = &c->sh[c->eh.e_shstrndx];
	if (str->sh_type != SHT_STRTAB || str->sh_size > 1u << 24)
		return hsu_fail(c->err, "%s is damaged: no section names (e_shstrndx)",
				name);
	c->shstr_len = str->sh_size;
	c->shstr = calloc(1, c->shstr_len + 64);
	if (!c->shstr)
		return hsu_fail(c->err, "%s: out of memory", name);
	if (hsu_elf_pread(elf, str->sh_offset, c->shstr, c->shstr_len) <
	    c->shstr_len)
		return hsu_fail(c->err, "%s is truncated in its section names",
				name);
	c->shstr_len++;		/* a 0 behind them */
	return 0;
}

static const char *section_name(const struct copy *c, const Elf64_Shdr *sh)
{
	return sh->sh_name < c->shstr_len ? c->shstr + sh->sh_name : "";
}

static int copy_contents(struct copy *c)
{
	u64 phdrs = (u64)c->eh.e_phnum * c->eh.e_phentsize;
	size_t i;

	if (copy_range(c, 0, sizeof(c->eh)) ||
	    copy_range(c, c->eh.e_phoff, phdrs))
		return -1;
	for (i = 1; i < c->eh.e_shnum; i++) {
		Elf64_Shdr *sh = &c->sh[i];

		if (is_dispensable(sh, section_name(c, sh)))
			continue;
		if (copy_range(c, sh->sh_offset, sh->sh_size))
			return -1;
	}
	return 0;
}

/* A header of the copy for what is there no more. */
static void drop_header(Elf64_Shdr *sh)
{
	memset(sh, 0, sizeof(*sh));
}

static void adjust_headers(struct copy *c)
{
	size_t i;

	for (i = 1; i < c->eh.e_shnum; i++) {
		Elf64_Shdr *sh = &c->sh[i];

		if (sh->sh_type == SHT_NOBITS || sh->sh_type == SHT_NULL ||
		    !is_dispensable(sh, section_name(c, sh)))
			continue;
		if (sh->sh_flags & SHF_ALLOC && sh->sh_type != SHT_DYNSYM &&
		    sh->sh_type != SHT_STRTAB)
			sh->sh_type = SHT_NOBITS;	/* keeps its addresses */
		else
			drop_header(sh);
	}
}

static u32 add_name(struct copy *c, const char *name)
{
	u32 at = (u32)c->shstr_len;

	memcpy(c->shstr + at, name, strlen(name) + 1);
	c->shstr_len += strlen(name) + 1;
	return at;
}

/* Appends a section to the copy, and its header to the list. */
static int append(struct copy *c, const char *name, u32 type, const void *data,
		  size_t len)
{
	Elf64_Shdr *sh = &c->sh[c->eh.e_shnum++];

	c->end = (c->end + 7) & ~7ULL;
	sh->sh_name = add_name(c, name);
	sh->sh_type = type;
	sh->sh_offset = c->end;
	sh->sh_addralign = type == SHT_SYMTAB ? 8 : 1;
	sh->sh_size = type == SHT_STRTAB && data == c->shstr ? c->shstr_len
							     : len;
	if (write_at(c, sh->sh_offset, data, sh->sh_size))
		return -1;
	c->end += sh->sh_size;
	return 0;
}

static int append_tables(struct copy *c, const struct hsu_newsyms *syms,
			 const struct hsu_strtab *strings)
{
	static const char version[] = HSUNWIND_VERSION;
	Elf64_Shdr *symtab = &c->sh[c->eh.e_shnum];

	if (append(c, ".symtab", SHT_SYMTAB, syms->v,
		   syms->nr * sizeof(*syms->v)))
		return -1;
	symtab->sh_link = c->eh.e_shnum;
	symtab->sh_info = syms->nr_local;
	symtab->sh_entsize = sizeof(*syms->v);
	if (append(c, ".strtab", SHT_STRTAB, strings->text, strings->len) ||
	    append(c, MARK, SHT_PROGBITS, version, sizeof(version)))
		return -1;
	c->eh.e_shstrndx = c->eh.e_shnum;
	return append(c, ".shstrtab", SHT_STRTAB, c->shstr, 0);
}

static int write_headers(struct copy *c)
{
	size_t len = c->eh.e_shnum * sizeof(*c->sh);

	c->eh.e_shoff = (c->end + 7) & ~7ULL;
	if (write_at(c, c->eh.e_shoff, c->sh, len) ||
	    write_at(c, 0, &c->eh, sizeof(c->eh)))
		return -1;
	return 0;
}

int hsu_symfile_write(struct hsu_elf *elf, const struct hsu_symtab *tab,
		      const struct hsu_built *built, struct hsu_names *names,
		      int fd, const char *path, struct hsu_error *err)
{
	struct copy c = { .elf = elf, .fd = fd, .path = path, .err = err };
	struct hsu_newsyms syms = { 0 };
	int ret = -1;

	if (read_headers(&c))
		goto out;
	if (!hsu_newsyms_make(&syms, elf, c.sh, c.eh.e_shnum, tab, built,
			      names)) {
		hsu_fail(err, "%s: out of memory", path);
		goto out;
	}
	if (copy_contents(&c))
		goto out;
	adjust_headers(&c);
	if (append_tables(&c, &syms, &names->strings))
		goto out;
	ret = write_headers(&c);
out:
	free(syms.v);
	free(c.sh);
	free(c.shstr);
	return ret;
}

bool hsu_symfile_is_ours(int fd)
{
	struct hsu_error ignored;
	struct hsu_elf *elf = hsu_elf_open(fd, NULL, 0, "", &ignored);
	bool ours = elf && hsu_elf_section(elf, MARK);

	hsu_elf_close(elf);
	return ours;
}
