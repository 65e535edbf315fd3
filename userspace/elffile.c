// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reading of ELF files through libelf.
 *
 * Nothing is mapped: a file that shrinks while it is read gives short reads,
 * not a signal.
 */
#include <elf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elffile.h"
#include "elf_priv.h"

static int cmp_load(const void *a, const void *b)
{
	const struct hsu_load *x = a, *y = b;

	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int cmp_section(const void *a, const void *b)
{
	const struct hsu_section *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

static bool in_file(const struct hsu_elf *elf, u64 offset, u64 size)
{
	return offset <= elf->size && size <= elf->size - offset;
}

static int check_ident(struct hsu_elf *elf, struct hsu_error *err)
{
	unsigned char id[EI_NIDENT] = { 0 };
	Elf64_Ehdr eh;

	if (hsu_elf_pread(elf, 0, id, sizeof(id)) < SELFMAG ||
	    memcmp(id, ELFMAG, SELFMAG))
		return hsu_fail(err,
				"%s is not an ELF file: give the compiled program or library itself",
				elf->name);
	if (id[EI_CLASS] != ELFCLASS64 || id[EI_DATA] != ELFDATA2LSB)
		return hsu_fail(err,
				"%s is not a 64-bit little-endian ELF file: only x86-64 programs can be unwound",
				elf->name);
	if (hsu_elf_pread(elf, 0, &eh, sizeof(eh)) < sizeof(eh))
		return hsu_fail(err, "%s is truncated inside the ELF header: copy or link it again",
				elf->name);
	if (eh.e_machine != EM_X86_64)
		return hsu_fail(err,
				"%s is made for another processor (e_machine %u): only x86-64 programs can be unwound",
				elf->name, eh.e_machine);
	elf->entry = eh.e_entry;
	if (eh.e_type != ET_EXEC && eh.e_type != ET_DYN)
		return hsu_fail(err,
				"%s is no program or shared library (e_type %u): give the linked file",
				elf->name, eh.e_type);
	return 0;
}

static int read_loads(struct hsu_elf *elf, struct hsu_error *err)
{
	size_t nr, i;
	const Elf64_Phdr *ph;
	struct hsu_load *ld;

	if (elf_getphdrnum(elf->elf, &nr) || !nr)
		return hsu_fail(err,
				"%s has no program headers (e_phnum): it cannot be run, link it again",
				elf->name);
	ph = elf64_getphdr(elf->elf);
	if (!ph)
		return hsu_fail(err,
				"%s is truncated or damaged in its program headers (e_phoff): copy or link it again",
				elf->name);
	for (i = 0; i < nr; i++) {
		if (ph[i].p_type == PT_INTERP)
			elf->interp = true;
		if (ph[i].p_type == PT_GNU_EH_FRAME)
			elf->eh_hdr = ph[i].p_vaddr;
		if (ph[i].p_type == PT_DYNAMIC) {
			elf->dyn_offset = ph[i].p_offset;
			elf->dyn_size = ph[i].p_filesz;
		}
		if (ph[i].p_type != PT_LOAD || !ph[i].p_memsz)
			continue;
		if (!elf->debug_only &&
		    !in_file(elf, ph[i].p_offset, ph[i].p_filesz))
			return hsu_fail(err,
					"%s is truncated: segment %zu (p_offset + p_filesz) reaches behind its end; copy or link it again",
					elf->name, i);
		if (ph[i].p_vaddr + ph[i].p_memsz < ph[i].p_vaddr ||
		    ph[i].p_filesz > ph[i].p_memsz)
			return hsu_fail(err,
					"%s is damaged: segment %zu has an impossible size (p_memsz); copy or link it again",
					elf->name, i);
		if (elf->nr_loads == HSU_MAX_LOADS)
			return hsu_fail(err,
					"%s has more than %d segments (e_phnum): link it without custom segments",
					elf->name, HSU_MAX_LOADS);
		ld = &elf->loads[elf->nr_loads++];
		ld->offset = ph[i].p_offset;
		ld->vaddr = ph[i].p_vaddr;
		ld->filesz = ph[i].p_filesz;
		ld->memsz = ph[i].p_memsz;
		ld->exec = ph[i].p_flags & PF_X;
		ld->write = ph[i].p_flags & PF_W;
	}
	if (!elf->nr_loads)
		return hsu_fail(err,
				"%s has no loaded segments (PT_LOAD): it cannot be run, link it again",
				elf->name);
	qsort(elf->loads, elf->nr_loads, sizeof(elf->loads[0]), cmp_load);
	elf->base = elf->loads[0].vaddr & ~0xfffULL;
	for (i = 1; i < elf->nr_loads; i++)
		if (elf->loads[i].vaddr < elf->loads[i - 1].vaddr +
		    elf->loads[i - 1].memsz)
			return hsu_fail(err,
					"%s is damaged: two segments overlap (p_vaddr); copy or link it again",
					elf->name);
	return 0;
}

static void add_section(struct hsu_elf *elf, const struct hsu_section *s)
{
	elf->sections[elf->nr_sections++] = *s;
}

/*
 * Without sections .eh_frame is where .eh_frame_hdr says, up to the end of its
 * segment; a terminator ends it before.
 */
static bool find_eh_frame(struct hsu_elf *elf, struct hsu_section *s)
{
	struct { u8 version, ptr_enc, count_enc, table_enc; s32 ptr; } hdr;
	size_t i;

	/* The only form that linkers write: pc-relative, 4 bytes. */
	if (!elf->eh_hdr ||
	    hsu_elf_read(elf, elf->eh_hdr, &hdr, sizeof(hdr)) < sizeof(hdr) ||
	    hdr.version != 1 || hdr.ptr_enc != 0x1b)
		return false;
	s->name = ".eh_frame";
	s->addr = elf->eh_hdr + 4 + (u64)(s64)hdr.ptr;
	for (i = 0; i < elf->nr_loads; i++) {
		const struct hsu_load *ld = &elf->loads[i];

		if (s->addr >= ld->vaddr && s->addr - ld->vaddr < ld->filesz)
			s->size = ld->filesz - (s->addr - ld->vaddr);
	}
	if (!s->size)
		return false;
	elf->eh_frame = malloc(s->size);
	if (!elf->eh_frame)
		return false;
	elf->eh_size = hsu_elf_read(elf, s->addr, elf->eh_frame, s->size);
	return true;
}

/* A file without section headers: whole segments stand in for sections. */
static int fake_sections(struct hsu_elf *elf, struct hsu_error *err)
{
	struct hsu_section eh = { 0 };
	size_t i;

	elf->sections = calloc(elf->nr_loads + 1, sizeof(elf->sections[0]));
	if (!elf->sections)
		return hsu_fail(err, "%s: out of memory", elf->name);
	for (i = 0; i < elf->nr_loads; i++) {
		struct hsu_section s = {
			.name = ".text",
			.addr = elf->loads[i].vaddr,
			.size = elf->loads[i].filesz,
			.exec = true,
		};

		if (elf->loads[i].exec && s.size)
			add_section(elf, &s);
	}
	if (find_eh_frame(elf, &eh))
		add_section(elf, &eh);
	qsort(elf->sections, elf->nr_sections, sizeof(elf->sections[0]),
	      cmp_section);
	return 0;
}

static int read_sections(struct hsu_elf *elf, struct hsu_error *err)
{
	size_t nr, str, i;

	if (elf_getshdrnum(elf->elf, &nr))
		return hsu_fail(err,
				"%s is truncated or damaged in its section headers (e_shoff): copy or link it again",
				elf->name);
	if (nr <= 1)
		return fake_sections(elf, err);
	if (elf_getshdrstrndx(elf->elf, &str))
		return hsu_fail(err,
				"%s is damaged: no section names (e_shstrndx); copy or link it again",
				elf->name);
	elf->sections = calloc(nr, sizeof(elf->sections[0]));
	if (!elf->sections)
		return hsu_fail(err, "%s: out of memory", elf->name);
	for (i = 1; i < nr; i++) {
		Elf_Scn *scn = elf_getscn(elf->elf, i);
		Elf64_Shdr *sh = scn ? elf64_getshdr(scn) : NULL;
		struct hsu_section s = { .index = i };

		if (!sh)
			return hsu_fail(err,
					"%s is truncated: section header %zu is missing (e_shoff); copy or link it again",
					elf->name, i);
		s.nobits = sh->sh_type == SHT_NOBITS;
		if (sh->sh_type == SHT_NULL)
			continue;
		if (!s.nobits && !in_file(elf, sh->sh_offset, sh->sh_size))
			return hsu_fail(err,
					"%s is truncated: section %zu (sh_offset + sh_size) reaches behind its end; copy or link it again",
					elf->name, i);
		s.name = elf_strptr(elf->elf, str, sh->sh_name);
		if (!s.name)
			s.name = "";
		if (sh->sh_flags & SHF_ALLOC) {
			s.addr = sh->sh_addr;
			s.exec = sh->sh_flags & SHF_EXECINSTR && !s.nobits;
		}
		s.size = sh->sh_size;
		if (s.addr + s.size < s.addr)
			return hsu_fail(err,
					"%s is damaged: section %zu has an impossible size (sh_size); copy or link it again",
					elf->name, i);
		add_section(elf, &s);
	}
	qsort(elf->sections, elf->nr_sections, sizeof(elf->sections[0]),
	      cmp_section);
	return 0;
}

struct hsu_elf *hsu_elf_open_flags(int fd, const void *mem, size_t len,
				   const char *name, bool debug_only,
				   struct hsu_error *err)
{
	struct hsu_elf *elf;
	struct stat st;

	if (elf_version(EV_CURRENT) == EV_NONE) {
		hsu_fail(err, "libelf is too old: install a newer one");
		return NULL;
	}
	elf = calloc(1, sizeof(*elf));
	if (!elf)
		goto err_nomem;
	elf->fd = fd;
	elf->mem = mem;
	elf->size = len;
	elf->debug_only = debug_only;
	elf->name = strdup(name);
	elf->pages = calloc(HSU_NR_PAGES, sizeof(*elf->pages));
	if (!elf->name || !elf->pages)
		goto err_nomem;
	if (fd >= 0) {
		if (fstat(fd, &st)) {
			hsu_fail(err, "%s cannot be read: %m", name);
			goto err_free;
		}
		if (!S_ISREG(st.st_mode)) {
			hsu_fail(err,
				 "%s is no regular file: give the compiled program or library itself",
				 name);
			goto err_free;
		}
		elf->size = st.st_size;
	}
	if (check_ident(elf, err))
		goto err_free;
	elf->elf = fd >= 0 ? elf_begin(fd, ELF_C_READ, NULL)
			   : elf_memory((char *)mem, len);
	if (!elf->elf || elf_kind(elf->elf) != ELF_K_ELF ||
	    !elf64_getehdr(elf->elf)) {
		hsu_fail(err, "%s is damaged in its ELF header (%s): copy or link it again",
			 name, elf_errmsg(-1));
		goto err_free;
	}
	if (read_loads(elf, err) || read_sections(elf, err))
		goto err_free;
	hsu_elf_read_dynamic(elf);
	return elf;

err_nomem:
	hsu_fail(err, "%s: out of memory", name);
err_free:
	hsu_elf_close(elf);
	return NULL;
}

struct hsu_elf *hsu_elf_open(int fd, const void *mem, size_t len,
			     const char *name, struct hsu_error *err)
{
	return hsu_elf_open_flags(fd, mem, len, name, false, err);
}

void hsu_elf_close(struct hsu_elf *elf)
{
	if (!elf)
		return;
	if (elf->elf)
		elf_end(elf->elf);
	free(elf->symbols);
	free(elf->eh_frame);
	free(elf->sections);
	free(elf->pages);
	free(elf->name);
	free(elf);
}

const char *hsu_elf_name(const struct hsu_elf *elf)
{
	return elf->name;
}

int hsu_elf_fd(const struct hsu_elf *elf)
{
	return elf->fd;
}

u64 hsu_elf_entry(const struct hsu_elf *elf)
{
	return elf->entry;
}

u64 hsu_elf_base(const struct hsu_elf *elf)
{
	return elf->base;
}

const struct hsu_load *hsu_elf_loads(const struct hsu_elf *elf, size_t *nr)
{
	*nr = elf->nr_loads;
	return elf->loads;
}

bool hsu_elf_has_interp(const struct hsu_elf *elf)
{
	return elf->interp;
}

const struct hsu_section *hsu_elf_sections(const struct hsu_elf *elf,
					   size_t *nr)
{
	*nr = elf->nr_sections;
	return elf->sections;
}

const struct hsu_section *hsu_elf_section(const struct hsu_elf *elf,
					  const char *name)
{
	size_t i;

	for (i = 0; i < elf->nr_sections; i++)
		if (!strcmp(elf->sections[i].name, name))
			return &elf->sections[i];
	return NULL;
}

bool hsu_elf_data(struct hsu_elf *elf, const struct hsu_section *sec,
		  const u8 **data, size_t *len)
{
	Elf_Scn *scn = elf_getscn(elf->elf, sec->index);
	Elf64_Shdr *sh = scn ? elf64_getshdr(scn) : NULL;
	Elf_Data *d;

	if (!sec->index && !sec->exec) {
		*data = elf->eh_frame;
		*len = elf->eh_size;
		return true;
	}
	if (!sh || sec->nobits || !sec->index)
		return false;
	if (sh->sh_flags & SHF_COMPRESSED)
		elf_compress(scn, 0, 0);
	else if (!strncmp(sec->name, ".zdebug", 7))
		elf_compress_gnu(scn, 0, 0);
	d = elf_getdata(scn, NULL);
	if (!d || !d->d_buf)
		return false;
	*data = d->d_buf;
	*len = d->d_size;
	return true;
}

static size_t read_file(int fd, u64 offset, void *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = pread(fd, (char *)buf + done, len - done, offset + done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += n;
	}
	return done;
}

/* A few bytes of one page, as info tables and instructions are. */
static size_t read_page(const struct hsu_elf *elf, u64 offset, void *buf,
			size_t len)
{
	u64 nr = offset / HSU_PAGE_BYTES;
	size_t at = offset % HSU_PAGE_BYTES;
	struct hsu_page *p = &elf->pages[nr % HSU_NR_PAGES];

	if (p->nr != nr + 1) {
		p->nr = nr + 1;
		p->len = read_file(elf->fd, nr * HSU_PAGE_BYTES, p->data,
				   HSU_PAGE_BYTES);
	}
	if (at >= p->len)
		return 0;
	if (len > p->len - at)
		len = p->len - at;
	memcpy(buf, p->data + at, len);
	return len;
}

size_t hsu_elf_pread(const struct hsu_elf *elf, u64 offset, void *buf,
		     size_t len)
{
	if (offset >= elf->size)
		return 0;
	if (len > elf->size - offset)
		len = elf->size - offset;
	if (elf->fd < 0) {
		memcpy(buf, (const char *)elf->mem + offset, len);
		return len;
	}
	if (offset % HSU_PAGE_BYTES + len <= HSU_PAGE_BYTES)
		return read_page(elf, offset, buf, len);
	return read_file(elf->fd, offset, buf, len);
}

size_t hsu_elf_read(const struct hsu_elf *elf, u64 addr, void *buf, size_t len)
{
	size_t i;

	for (i = 0; i < elf->nr_loads; i++) {
		const struct hsu_load *ld = &elf->loads[i];
		u64 at = addr - ld->vaddr;

		if (addr < ld->vaddr || at >= ld->filesz)
			continue;
		if (len > ld->filesz - at)
			len = ld->filesz - at;
		return hsu_elf_pread(elf, ld->offset + at, buf, len);
	}
	return 0;
}
