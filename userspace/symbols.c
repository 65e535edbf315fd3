// SPDX-License-Identifier: GPL-2.0-only
/*
 * Symbols for perf, as a part of registration.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "debugfile.h"
#include "files.h"
#include "perfcache.h"
#include "perfuser.h"
#include "symbols.h"
#include "symfile.h"

/* What one file's symbols are made from. */
struct source {
	struct hsu_elf *elf;
	struct hsu_debugfile sep;
	struct hsu_symtab tab;
	struct hsu_names names;
};

static int open_source(struct source *s, const struct hsu_file *f,
		       const struct hsu_symbol_options *how,
		       struct hsu_error *err)
{
	unsigned int flags = (how->exact ? HSU_NAMES_EXACT : 0) |
			     (how->no_debug ? HSU_NAMES_NO_DEBUG : 0);
	struct hsu_elf *debug;

	memset(s, 0, sizeof(*s));
	s->sep.fd = -1;
	s->elf = hsu_elf_open(f->fd, NULL, 0, f->path, err);
	if (!s->elf)
		return -1;
	debug = s->elf;
	if (!hsu_elf_section(s->elf, ".symtab")) {
		hsu_debugfile_open(s->elf, &s->sep);
		if (s->sep.elf && hsu_elf_section(s->sep.elf, ".symtab"))
			debug = s->sep.elf;
	}
	if (!hsu_elf_symtab(debug, &s->tab))
		return hsu_fail(err, "the symbols of %s cannot be read", f->path);
	if (!hsu_names_find(s->elf, debug, &s->tab, &f->built, flags, &s->names))
		return hsu_fail(err, "%s: out of memory", f->path);
	return 0;
}

static void close_source(struct source *s)
{
	hsu_names_free(&s->names);
	hsu_symtab_free(&s->tab);
	hsu_debugfile_close(&s->sep);
	hsu_elf_close(s->elf);
}

/* sudo must not show anybody what he could not read himself. */
static bool may_read(int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return !eaccess(path, R_OK);
}

static int write_slot(struct source *s, const struct hsu_slot *slot,
		      const struct hsu_built *built, struct hsu_symbols *out,
		      struct hsu_error *err)
{
	char tmp[sizeof(slot->dir) + 16];
	struct stat st;
	int fd, ret;

	fd = hsu_slot_begin(slot, tmp, sizeof(tmp), err);
	if (fd < 0)
		return -1;
	ret = hsu_symfile_write(s->elf, &s->tab, built, &s->names, fd, tmp,
				err);
	if (!ret && !fstat(fd, &st))
		out->bytes = (u64)st.st_blocks * 512;
	/* What is only found out when a file is closed; it stays locked. */
	if (!ret && close(dup(fd)))
		ret = hsu_fail(err, "%s cannot be written: %m", tmp);
	if (ret)
		unlink(tmp);
	else
		ret = hsu_slot_commit(slot, tmp, err);
	close(fd);
	return ret;
}

static int find_slot(struct hsu_slot *slot, const struct hsu_file *f,
		     const struct hsu_perfuser *user, struct hsu_error *err)
{
	const struct hsu_build_info *info = &f->built.info;
	char *real;
	bool ok;

	if (!info->build_id_len)
		return hsu_fail(err,
				"%s has no build-id, by which perf finds symbols: link it with -optl-Wl,--build-id",
				f->path);
	if (!may_read(f->fd))
		return hsu_fail(err, "%s may not be read by %s", f->path,
				user->name);
	/* It may be gone, or be another process's in another root. */
	real = realpath(f->path, NULL);
	ok = f->path[0] == '/' && (real || !strstr(f->path, "/../")) &&
	     hsu_slot_find(slot, user->cache, real ? real : f->path,
			   info->build_id, info->build_id_len);
	free(real);
	if (!ok)
		return hsu_fail(err, "%s cannot be put into %s: its name is too long or odd",
				f->path, user->cache);
	switch (hsu_slot_state(slot, f->fd)) {
	case HSU_SLOT_UNKNOWN:
		return hsu_fail(err, "%s/elf cannot be read by %s: %m",
				slot->dir, user->name);
	case HSU_SLOT_OTHER:
		return hsu_fail(err,
				"%s/elf is neither ours nor a copy of %s, and stays: 'perf buildid-cache --remove %s' would remove it",
				slot->dir, f->path, f->path);
	default:
		return 0;
	}
}

static int write_file(struct hsu_file *f, const struct hsu_perfuser *user,
		      const struct hsu_symbol_options *how,
		      struct hsu_error *err)
{
	struct hsu_symbols *out = &f->symbols;
	struct hsu_slot slot;
	struct source s;
	int ret;

	if (find_slot(&slot, f, user, err))
		return -1;
	ret = open_source(&s, f, how, err);
	if (!ret)
		memcpy(out->count, s.names.count, sizeof(out->count));
	if (!ret && !how->dry_run)
		ret = write_slot(&s, &slot, &f->built, out, err);
	if (!ret)
		snprintf(out->path, sizeof(out->path), "%s/elf", slot.dir);
	close_source(&s);
	return ret;
}

int hsu_symbols_write(struct hsu_files *files,
		      const struct hsu_symbol_options *how,
		      struct hsu_error *err)
{
	struct hsu_perfuser user;
	struct hsu_error e;
	size_t i;

	if (hsu_perfuser_find(&user, err) || hsu_perfuser_enter(&user, err))
		return -1;
	for (i = 0; i < files->nr; i++) {
		struct hsu_file *f = &files->v[i];

		if (f->fd < 0 || !f->built.info.is_haskell)
			continue;
		if (write_file(f, &user, how, &e))
			snprintf(f->symbols.problem, sizeof(f->symbols.problem),
				 "%s", e.msg);
	}
	hsu_perfuser_leave(&user);
	return 0;
}

int hsu_symbols_remove(const char *path, unsigned long *files, u64 *bytes,
		       struct hsu_error *err)
{
	struct hsu_removed removed = { 0 };
	struct hsu_perfuser user;
	int ret;

	if (hsu_perfuser_find(&user, err) || hsu_perfuser_enter(&user, err))
		return -1;
	ret = hsu_cache_remove(user.cache, path, &removed, err);
	hsu_perfuser_leave(&user);
	*files = removed.files;
	*bytes = removed.bytes;
	return ret;
}
