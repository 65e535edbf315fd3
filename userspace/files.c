// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files that one call of hsunwind-register is about: a program and its
 * libraries.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files.h"
#include "files_priv.h"
#include "grow.h"
#include "libs.h"
#include "script.h"

static bool is_program_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* Searches PATH as execvp() does. */
static char *search_path(const char *name)
{
	const char *dir = getenv("PATH"), *end;
	char path[PATH_MAX];
	int n;

	for (; dir; dir = *end ? end + 1 : NULL) {
		end = strchrnul(dir, ':');
		n = snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - dir),
			     dir, end > dir ? "/" : "", name);
		if (n < (int)sizeof(path) && is_program_file(path))
			return strdup(path);
	}
	return NULL;
}

char *hsu_find_program(const char *arg, struct hsu_error *err)
{
	char *found = NULL, *real;

	if (!strchr(arg, '/') && access(arg, F_OK)) {
		found = search_path(arg);
		if (!found) {
			hsu_fail(err,
				 "%s is neither here nor in PATH: give the path of the program",
				 hsu_shown(arg));
			return NULL;
		}
	}
	real = realpath(found ? found : arg, NULL);
	if (!real)
		hsu_fail(err, "%s cannot be found: %m", hsu_shown(arg));
	free(found);
	return real;
}

int hsu_files_find(const struct hsu_files *files, u64 dev, u64 ino)
{
	size_t i;

	for (i = 0; i < files->nr; i++)
		if (files->v[i].fd >= 0 && files->v[i].dev == dev &&
		    files->v[i].ino == ino)
			return (int)i;
	return -1;
}

static struct hsu_file *new_file(struct hsu_files *files, const char *path,
				 struct hsu_error *err)
{
	struct hsu_file *v;

	v = hsu_grow(files->v, files->nr, &files->cap, sizeof(*v));
	if (!v)
		goto nomem;
	files->v = v;
	v = &files->v[files->nr];
	memset(v, 0, sizeof(*v));
	v->fd = -1;
	v->path = strdup(path);
	if (v->path)
		return v;
nomem:
	hsu_fail(err, "out of memory");
	return NULL;
}

int hsu_files_add_fd(struct hsu_files *files, int fd, const char *path,
		     struct hsu_error *err)
{
	struct hsu_file *f;
	struct stat st;
	int i;

	if (fstat(fd, &st)) {
		hsu_fail(err, "%s cannot be read: %m", path);
		goto err_close;
	}
	i = hsu_files_find(files, st.st_dev, st.st_ino);
	if (i >= 0) {
		close(fd);
		return i;
	}
	f = new_file(files, path, err);
	if (!f)
		goto err_close;
	if (hsu_build_fd(fd, path, files->build_flags, &f->built, err)) {
		free(f->path);
		goto err_close;
	}
	f->fd = fd;
	f->dev = st.st_dev;
	f->ino = st.st_ino;
	f->mtime = st.st_mtim;
	return (int)files->nr++;

err_close:
	close(fd);
	return -1;
}

int hsu_open_elf(const char *path)
{
	return open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
}

struct lib_ctx {
	struct hsu_files *files;
	bool haskell;
};

void hsu_files_warn(const struct hsu_files *files, const char *fmt, ...)
{
	struct hsu_error e;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(e.msg, sizeof(e.msg), fmt, ap);
	va_end(ap);
	if (files->warn)
		files->warn(e.msg);
}

static void take_lib(void *ctx, const char *path)
{
	struct lib_ctx *c = ctx;
	struct hsu_error e;
	int fd = hsu_open_elf(path), i;

	if (fd < 0) {
		hsu_files_warn(c->files, "library %s cannot be opened: %m", path);
		return;
	}
	i = hsu_files_add_fd(c->files, fd, path, &e);
	if (i < 0)
		hsu_files_warn(c->files, "%s", e.msg);
	else if (c->files->v[i].built.info.is_haskell)
		c->haskell = true;
}

static int reject_script(int fd, const char *path, struct hsu_error *err)
{
	struct hsu_script script;

	if (!hsu_script_read(fd, &script))
		return 0;
	if (script.target[0])
		return hsu_fail(err,
				"%s is a script for %s: register the program that it starts, %s",
				path, script.interpreter, script.target);
	return hsu_fail(err, "%s is a script for %s: register the program that it starts",
			path, script.interpreter);
}

static void warn_version(const struct hsu_files *files,
			 const struct hsu_file *f)
{
	const struct hsu_build_info *info = &f->built.info;

	if (!info->has_stgrun || info->ghc_known)
		return;
	if (info->ghc_text[0])
		hsu_files_warn(files,
			       "%s is made by GHC %s, which this tool does not know: it is treated like the nearest version it knows",
			       f->path, info->ghc_text);
	else
		hsu_files_warn(files,
			       "%s does not tell the version of GHC: it is treated like the nearest version that this tool knows",
			       f->path);
}

/* Libraries first: the program must not be unwound without them. */
static int add_opened(struct hsu_files *files, int fd, const char *path,
		      struct hsu_error *err)
{
	struct lib_ctx c = { .files = files };
	struct hsu_file own, *f;
	size_t i, first = files->nr;
	int nr, ret = 0;

	nr = hsu_files_add_fd(files, fd, path, err);
	if (nr < 0)
		return -1;
	f = &files->v[nr];
	f->program = !f->built.info.soname[0];
	c.haskell = f->built.info.is_haskell;
	if (f->built.info.has_interp || !f->program)
		ret = hsu_libs_list(path, take_lib, &c, err);
	if (ret > 0)
		return -1;
	if (ret < 0)
		hsu_files_warn(files, "%s", err->msg);
	f = &files->v[nr];
	f->foreign = f->program && !c.haskell;
	files->haskell_lib |= !f->program && c.haskell;
	if ((size_t)nr >= first) {
		own = *f;
		memmove(f, f + 1, (files->nr - (size_t)nr - 1) * sizeof(*f));
		nr = (int)files->nr - 1;
		files->v[nr] = own;
	}
	for (i = first; i < files->nr; i++)
		warn_version(files, &files->v[i]);
	return nr;
}

int hsu_files_check(const struct hsu_files *files, struct hsu_error *err)
{
	size_t i;

	for (i = 0; i < files->nr && !files->haskell_lib; i++)
		if (files->v[i].foreign)
			return hsu_fail(err,
					"%s is not made by GHC, and neither is any library that it is linked with: there is no Haskell stack to unwind; if it loads a Haskell library later, give that, too",
					files->v[i].path);
	return 0;
}

int hsu_files_add_program(struct hsu_files *files, const char *arg,
			  struct hsu_error *err)
{
	char *path = hsu_find_program(arg, err);
	int fd, ret = -1;

	if (!path)
		return -1;
	fd = hsu_open_elf(path);
	if (fd < 0)
		hsu_fail(err, "%s cannot be opened: %m", path);
	else if (reject_script(fd, path, err))
		close(fd);
	else
		ret = add_opened(files, fd, path, err);
	free(path);
	return ret;
}

int hsu_files_add_vdso(struct hsu_files *files, struct hsu_error *err)
{
	struct hsu_error ignored;
	struct hsu_file *f = new_file(files, "[vdso]", err);

	if (!f)
		return -1;
	if (hsu_build_vdso(&f->built, &ignored))
		free(f->path);
	else
		files->nr++;
	return 0;
}

void hsu_files_free(struct hsu_files *files)
{
	size_t i;

	for (i = 0; i < files->nr; i++) {
		free(files->v[i].path);
		hsu_built_free(&files->v[i].built);
		if (files->v[i].fd >= 0)
			close(files->v[i].fd);
	}
	free(files->v);
	files->v = NULL;
	files->nr = 0;
	files->cap = 0;
}
