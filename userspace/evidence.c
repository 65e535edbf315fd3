// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whether a file is made by GHC, by which version, in which way.
 */
#include <stdlib.h>
#include <string.h>

#include "builder.h"
#include "ghc.h"

/* Code that is full of info tables is Haskell's, whatever else is missing. */
#define MIN_TABLES	16
#define MAX_SPACING	2048	/* bytes of code per info table, on average */

static void set_version(struct hsu_build_info *info, const char *text,
			size_t len)
{
	if (!info->ghc_version)
		info->ghc_version = hsu_ghc_version(text, len, info->ghc_text,
						    sizeof(info->ghc_text));
}

static bool from_comment(struct hsu_builder *b)
{
	const struct hsu_section *sec = hsu_elf_section(b->elf, ".comment");
	const u8 *data, *p;
	size_t len;

	if (!sec || !hsu_elf_data(b->elf, sec, &data, &len))
		return false;
	p = memmem(data, len, "GHC ", 4);
	if (!p)
		return false;
	set_version(b->info, (const char *)p + 4, len - (size_t)(p - data) - 4);
	return true;
}

/* "libHSbase-4.15.1.0-ghc9.0.2.so" */
static bool from_soname(struct hsu_build_info *info, const char *name)
{
	const char *p = strstr(name, "-ghc");

	if (strncmp(name, "libHS", 5))
		return false;
	if (p)
		set_version(info, p + 4, strlen(p + 4));
	return true;
}

static void take_needed(void *ctx, const char *name)
{
	struct hsu_build_info *info = ctx;

	if (from_soname(info, name))
		info->needs_haskell = true;
}

#define WINDOW	(1u << 19)

static u64 find_in(const struct hsu_builder *b, u64 addr, u64 size,
		   const char *what, char *buf)
{
	size_t len = strlen(what), n, step;
	const char *p;
	u64 at;

	for (at = 0; at + len <= size; at += step) {
		n = size - at < WINDOW ? size - at : WINDOW;
		n = hsu_elf_read(b->elf, addr + at, buf, n);
		if (n < len)
			return 0;
		p = memmem(buf, n, what, len);
		if (p)
			return addr + at + (u64)(p - buf);
		step = n - len + 1;
	}
	return 0;
}

/* Address of a string among the constants, 0 if it is not there. */
static u64 find_string(const struct hsu_builder *b, const char *what,
		       char *buf)
{
	const struct hsu_section *sec = hsu_elf_section(b->elf, ".rodata");
	const struct hsu_load *ld;
	u64 found = 0;
	size_t nr, i;

	if (sec)
		return sec->nobits ? 0 : find_in(b, sec->addr, sec->size, what,
						 buf);
	ld = hsu_elf_loads(b->elf, &nr);
	for (i = 0; i < nr && !found; i++)
		if (!ld[i].write)
			found = find_in(b, ld[i].vaddr, ld[i].filesz, what,
					buf);
	return found;
}

/* How far one may go back from @at without leaving its segment. */
static size_t room_below(const struct hsu_builder *b, u64 at, size_t max)
{
	const struct hsu_load *ld;
	size_t nr, i;

	ld = hsu_elf_loads(b->elf, &nr);
	for (i = 0; i < nr; i++)
		if (at >= ld[i].vaddr && at - ld[i].vaddr < ld[i].filesz &&
		    at - ld[i].vaddr < max)
			return at - ld[i].vaddr;
	return max;
}

/*
 * Looks around the string @what for the string nearest to it that @match
 * accepts. Gives "" if there is none.
 */
static void near_string(const struct hsu_builder *b, const char *what,
			bool (*match)(const char *s, size_t n), char *out,
			size_t cap)
{
	char *buf = malloc(WINDOW);
	u64 at = buf ? find_string(b, what, buf) : 0;
	size_t n, i, len, back, dist, best = ~(size_t)0;

	out[0] = 0;
	if (!at)
		goto out;
	back = room_below(b, at, WINDOW / 2);
	n = hsu_elf_read(b->elf, at - back, buf, WINDOW);
	for (i = 0; i < n; i += len + 1) {
		len = strnlen(buf + i, n - i);
		dist = i < back ? back - i : i - back;
		if (i + len < n && dist < best && len < cap &&
		    match(buf + i, len)) {
			best = dist;
			memcpy(out, buf + i, len + 1);
		}
	}
out:
	free(buf);
}

static bool is_version(const char *s, size_t n)
{
	char text[24];

	return n >= 5 && n < sizeof(text) &&
	       hsu_ghc_version(s, n, text, sizeof(text)) && strlen(text) == n;
}

static bool is_way(const char *s, size_t n)
{
	return n >= 5 && n < 32 && !strncmp(s, "rts_", 4);
}

/* The RTS can print its version and way, so both are among its strings. */
static void from_rts_strings(struct hsu_builder *b)
{
	char text[32];
	size_t n;

	if (!b->info->ghc_version) {
		near_string(b, "(GHC version %s", is_version, text,
			    sizeof(text));
		set_version(b->info, text, strlen(text));
	}
	near_string(b, "RTS way", is_way, text, sizeof(text));
	n = strlen(text);
	if (n > 2 && !strcmp(text + n - 2, "_p"))
		b->info->profiled = true;
}

/*
 * Tables of small numbers in hand-written code can pass for some info tables,
 * but hardly for the mixture that Haskell code has.
 */
static bool dense_tables(const struct hsu_builder *b)
{
	size_t i;

	for (i = 0; i < b->nr_gaps; i++) {
		const struct hsu_gap *g = &b->gaps[i];

		if (g->tables >= MIN_TABLES && g->frames >= g->tables / 16 &&
		    g->closures >= g->tables / 16 &&
		    g->end - g->start < g->tables * MAX_SPACING)
			return true;
	}
	return false;
}

static bool any_tables(const struct hsu_builder *b)
{
	size_t i;

	for (i = 0; i < b->nr_gaps; i++)
		if (b->gaps[i].tables)
			return true;
	return false;
}

void hsu_build_evidence(struct hsu_builder *b)
{
	struct hsu_build_info *info = b->info;
	bool comment = from_comment(b);
	bool soname = from_soname(info, info->soname);

	hsu_elf_needed(b->elf, take_needed, info);
	if (b->stgrun.found)
		info->evidence = HSU_GHC_STGRUN;
	else if (hsu_elf_section(b->elf, ".debug-ghc-link-info"))
		info->evidence = HSU_GHC_LINK_INFO;
	else if (comment)
		info->evidence = HSU_GHC_COMMENT;
	else if (soname)
		info->evidence = HSU_GHC_SONAME;
	else if (dense_tables(b))
		info->evidence = HSU_GHC_TABLES;
	else if (info->needs_haskell && any_tables(b))
		info->evidence = HSU_GHC_NEEDED;
	info->is_haskell = info->evidence != HSU_GHC_NONE;
	info->has_stgrun = b->stgrun.found;
	if (b->stgrun.found)
		from_rts_strings(b);
}
