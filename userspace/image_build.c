// SPDX-License-Identifier: GPL-2.0-only
/*
 * From an ELF file to an image: runs the steps and puts the tables together.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "builder.h"
#include "debugfile.h"
#include "ghc.h"

#define TOO_LARGE	(-2)	/* the tables do not fit the format */

/* Libraries whose frames below a Haskell stack are mere plumbing. */
static bool is_libc(const char *soname)
{
	static const char *const names[] = {
		"libc.so.6", "ld-linux-x86-64.so.2", "libpthread.so.0",
		"linux-vdso.so.1",
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(soname, names[i]))
			return true;
	return false;
}

/* Gives the rules of C code their final class. */
static void set_classes(struct hsu_builder *b)
{
	bool libc = is_libc(b->info->soname);
	size_t i;

	for (i = 0; i < b->rows.nr_spans; i++) {
		struct hsu_span *s = &b->rows.spans[i];
		struct hsunwind_rule rule = b->rows.rules[s->rule];
		const struct hsu_range *r;

		if (rule.kind == HSUNWIND_RULE_NONE ||
		    rule.cls != HSUNWIND_CLASS_C)
			continue;
		r = hsu_ranges_find(&b->collector, b->base + s->start);
		if (!r)
			r = hsu_ranges_find(&b->classes, b->base + s->start);
		if (libc)
			rule.cls = HSUNWIND_CLASS_LIBC;
		else if (r)
			rule.cls = r->cls;
		else
			continue;
		s->rule = hsu_rows_rule(&b->rows, &rule);
	}
}

/* Bytes of executable sections, to find what has no rule. */
static u64 code_bytes(const struct hsu_builder *b)
{
	const struct hsu_section *s;
	size_t nr, i;
	u64 sum = 0;

	s = hsu_elf_sections(b->elf, &nr);
	for (i = 0; i < nr; i++)
		if (s[i].exec)
			sum += s[i].size;
	return sum;
}

static void count_bytes(struct hsu_builder *b)
{
	u64 all = code_bytes(b), used = 0;
	size_t i;

	for (i = 0; i < b->rows.nr_spans; i++) {
		const struct hsu_span *s = &b->rows.spans[i];
		const struct hsunwind_rule *r = &b->rows.rules[s->rule];

		if (r->kind == HSUNWIND_RULE_NONE)
			continue;
		b->info->class_bytes[r->cls] += s->end - s->start;
		if (r->kind == HSUNWIND_RULE_HS_SP ||
		    r->kind == HSUNWIND_RULE_HS_SAVED)
			b->info->sp_bytes += s->end - s->start;
		used += s->end - s->start;
	}
	b->info->none_bytes = all > used ? all - used : 0;
}

/* Writes the rows; with @pcs NULL only counts them. */
static size_t write_rows(const struct hsu_rows *rows, u32 *pcs, u16 *ids)
{
	size_t i, n = 0;
	u32 end = 0;
	u16 last = 0;

	for (i = 0; i < rows->nr_spans; i++) {
		const struct hsu_span *s = &rows->spans[i];

		if (n && s->start > end && last) {
			if (pcs) {
				pcs[n] = end;
				ids[n] = 0;
			}
			n++;
			last = 0;
		}
		end = s->end;
		if (n && s->rule == last)
			continue;
		if (pcs) {
			pcs[n] = s->start;
			ids[n] = s->rule;
		}
		n++;
		last = s->rule;
	}
	if (!n || last) {
		if (pcs) {
			pcs[n] = end;
			ids[n] = 0;
		}
		n++;
	}
	return n;
}

static size_t align8(size_t n)
{
	return (n + 7) & ~(size_t)7;
}

static void fill_ghc(struct hsu_builder *b, struct hsunwind_ghc *ghc)
{
	struct hsu_build_info *info = b->info;

	if (!info->is_haskell && !info->needs_haskell)
		return;
	info->ghc_known = hsu_ghc_layout(info->ghc_version, info->profiled,
					 ghc);
}

static int fill_header(struct hsu_builder *b, struct hsunwind_image *h,
		       struct hsunwind_seg *segs, struct hsu_error *err)
{
	const struct hsu_load *ld;
	size_t nr, i, n = 0;

	ld = hsu_elf_loads(b->elf, &nr);
	for (i = 0; i < nr; i++) {
		if (!ld[i].exec || !ld[i].filesz)
			continue;
		if (n == HSUNWIND_MAX_SEGS)
			return hsu_fail(err,
					"%s has more than %u executable segments (p_flags): link it without custom segments",
					hsu_elf_name(b->elf),
					HSUNWIND_MAX_SEGS);
		segs[n].offset = ld[i].offset;
		segs[n].vaddr = ld[i].vaddr;
		segs[n++].size = ld[i].filesz;
	}
	if (!n)
		return hsu_fail(err,
				"%s has no executable segment (p_flags): give a program or library, not a debug file",
				hsu_elf_name(b->elf));
	h->magic = HSUNWIND_IMAGE_MAGIC;
	h->version = HSUNWIND_IMAGE_VERSION;
	h->header_size = sizeof(*h);
	h->base = b->base;
	h->nr_segs = (u32)n;
	h->has_stgrun = b->stgrun.found;
	if (b->stgrun.found)
		h->stgrun_rule = hsu_rows_rule(&b->rows, &b->stgrun.rule);
	if (b->gc_frame)
		h->gc_frame = (u32)(b->gc_frame - b->base);
	if (b->gap_frame)
		h->gap_frame = (u32)(b->gap_frame - b->base);
	h->nr_stgrun_rets = (u8)b->nr_rets;
	for (i = 0; i < b->nr_rets; i++)
		h->stgrun_rets[i] = (u32)(b->rets[i] - b->base);
	fill_ghc(b, &h->ghc);
	return 0;
}

static int assemble(struct hsu_builder *b, struct hsu_built *out,
		    struct hsu_error *err)
{
	struct hsunwind_seg segs[HSUNWIND_MAX_SEGS] = { 0 };
	struct hsunwind_image h = { 0 };
	const char *name = hsu_elf_name(b->elf), *why;
	struct hsu_image check;
	size_t len;
	u8 *p;

	if (fill_header(b, &h, segs, err))
		return -1;
	if (b->rows.failed || b->fdes.failed || b->haskell.failed ||
	    b->classes.failed || b->collector.failed) {
		hsu_fail(err, "%s: out of memory, or too many unwind rules",
			 name);
		return TOO_LARGE;
	}
	h.nr_rules = (u32)b->rows.nr_rules;
	h.nr_rows = (u32)write_rows(&b->rows, NULL, NULL);
	if (h.nr_rows > HSUNWIND_MAX_ROWS) {
		hsu_fail(err,
			 "%s needs %u unwind rows, more than the limit of %u: split it into libraries",
			 name, h.nr_rows, HSUNWIND_MAX_ROWS);
		return TOO_LARGE;
	}
	len = sizeof(h);
	h.segs = (u32)len;
	len = align8(len + h.nr_segs * sizeof(segs[0]));
	h.rules = (u32)len;
	len = align8(len + h.nr_rules * sizeof(b->rows.rules[0]));
	h.pcs = (u32)len;
	len = align8(len + h.nr_rows * sizeof(u32));
	h.ids = (u32)len;
	len = align8(len + h.nr_rows * sizeof(u16));
	h.size = (u32)len;
	p = calloc(1, len);
	if (!p)
		return hsu_fail(err, "%s: out of memory", name);
	memcpy(p, &h, sizeof(h));
	memcpy(p + h.segs, segs, h.nr_segs * sizeof(segs[0]));
	memcpy(p + h.rules, b->rows.rules,
	       h.nr_rules * sizeof(b->rows.rules[0]));
	write_rows(&b->rows, (u32 *)(p + h.pcs), (u16 *)(p + h.ids));
	why = hsu_image_init(&check, p, len);
	if (why) {
		free(p);
		return hsu_fail(err,
				"%s cannot be described (%s): it is damaged, or please report this",
				name, why);
	}
	out->data = p;
	out->len = len;
	return 0;
}

static bool has_debug_frame(const struct hsu_elf *elf)
{
	return hsu_elf_section(elf, ".debug_frame") ||
	       hsu_elf_section(elf, ".zdebug_frame");
}

static void run_steps(struct hsu_builder *b, unsigned int flags,
		      struct hsu_debugfile *sep)
{
	bool debug = !(flags & HSU_BUILD_NO_DEBUG);
	struct hsu_build_info *info = b->info;

	if (debug && has_debug_frame(b->elf))
		b->debug = b->elf;
	hsu_build_c_rows(b);
	hsu_build_plt(b);
	if (!hsu_build_gaps(b)) {
		b->rows.failed = true;
		return;
	}
	hsu_build_evidence(b);
	hsu_build_stgrun(b);
	hsu_build_classes(b);
	hsu_build_collector(b);
	if (debug && !b->debug && info->is_haskell) {
		hsu_debugfile_open(b->elf, sep);
		if (sep->elf && has_debug_frame(sep->elf)) {
			b->debug = sep->elf;
			memcpy(info->debug_file, sep->path, sizeof(sep->path));
		}
	}
	hsu_build_haskell(b, flags);
	hsu_rows_sort(&b->rows);
	if (!(flags & HSU_BUILD_NO_FLOW))
		hsu_build_asm(b);
	set_classes(b);
	count_bytes(b);
}

static int build(struct hsu_elf *elf, unsigned int flags,
		 struct hsu_built *out, struct hsu_error *err)
{
	struct hsu_builder b = {
		.elf = elf, .base = hsu_elf_base(elf), .info = &out->info,
	};
	struct hsu_debugfile sep = { .fd = -1 };
	struct hsu_build_info *info = &out->info;
	int ret;

	memset(out, 0, sizeof(*out));
	strncpy(info->soname, hsu_elf_soname(elf), sizeof(info->soname) - 1);
	info->has_interp = hsu_elf_has_interp(elf);
	info->build_id_len = (unsigned int)hsu_elf_build_id(elf,
			info->build_id, sizeof(info->build_id));
	hsu_rows_init(&b.rows);
	run_steps(&b, flags, &sep);
	ret = assemble(&b, out, err);
	hsu_debugfile_close(&sep);
	hsu_rows_free(&b.rows);
	free(b.fdes.v);
	free(b.gaps);
	free(b.haskell.v);
	free(b.classes.v);
	free(b.collector.v);
	return ret;
}

int hsu_build_fd(int fd, const char *name, unsigned int flags,
		 struct hsu_built *out, struct hsu_error *err)
{
	struct hsu_elf *elf = hsu_elf_open(fd, NULL, 0, name, err);
	int ret;

	if (!elf)
		return -1;
	ret = build(elf, flags, out, err);
	/* Most rows come from the machine code, and it goes without them. */
	if (ret == TOO_LARGE && !(flags & HSU_BUILD_NO_FLOW))
		ret = build(elf, flags | HSU_BUILD_NO_FLOW, out, err);
	hsu_elf_close(elf);
	return ret ? -1 : 0;
}

int hsu_build_file(const char *path, unsigned int flags, struct hsu_built *out,
		   struct hsu_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int ret;

	if (fd < 0)
		return hsu_fail(err, "%s cannot be opened: %m", path);
	ret = hsu_build_fd(fd, path, flags, out, err);
	close(fd);
	return ret;
}

/* The vdso has no file: its size is what its headers span. */
static size_t vdso_size(const u8 *p)
{
	u64 shoff;
	u16 shentsize, shnum;

	memcpy(&shoff, p + 0x28, sizeof(shoff));
	memcpy(&shentsize, p + 0x3a, sizeof(shentsize));
	memcpy(&shnum, p + 0x3c, sizeof(shnum));
	return shoff + (size_t)shentsize * shnum;
}

int hsu_build_vdso(struct hsu_built *out, struct hsu_error *err)
{
	const u8 *p = (const u8 *)getauxval(AT_SYSINFO_EHDR);
	struct hsu_elf *elf;
	int ret;

	if (!p)
		return hsu_fail(err,
				"this system has no vdso (AT_SYSINFO_EHDR): nothing needs to be done about it");
	elf = hsu_elf_open(-1, p, vdso_size(p), "[vdso]", err);
	if (!elf)
		return -1;
	ret = build(elf, 0, out, err);
	hsu_elf_close(elf);
	return ret ? -1 : 0;
}

void hsu_built_free(struct hsu_built *built)
{
	free(built->data);
	memset(built, 0, sizeof(*built));
}
