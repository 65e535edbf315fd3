// SPDX-License-Identifier: GPL-2.0-only
#include "stack_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elffile.h"
#include "image_build.h"

#define MAX_ID		32	/* bytes of a build-id */
#define MAX_PATH	4200

/**
 * struct hsu_loaded_file - a mapped file, identified as the kernel does
 * @next: the next one.
 * @device: device as /proc/PID/maps prints it.
 * @inode: inode number; 0 for the vdso.
 * @usable: an image could be made of it.
 * @built: the image.
 * @img: the image as the core wants it.
 */
struct hsu_loaded_file {
	struct hsu_loaded_file *next;
	char device[16];
	uint64_t inode;
	bool usable;
	struct hsu_built built;
	struct hsu_image img;
};

/* One line of /proc/PID/maps. */
struct mapping {
	uint64_t start, end, offset, inode;
	char perms[8];
	char device[16];
	const char *path;
};

static bool parse_line(char *line, struct mapping *m)
{
	int at = 0;

	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line,
		   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %15s %" SCNu64 " %n",
		   &m->start, &m->end, m->perms, &m->offset, m->device,
		   &m->inode, &at) < 6)
		return false;
	m->path = line + at;
	return true;
}

/*
 * The file behind the mapping itself, which works for deleted files and other
 * mount namespaces but needs privilege; else the path, as the process sees it.
 */
static const char *mapped_file(const struct hsu_process_maps *pm,
			       const struct mapping *m, char *path, size_t size)
{
	snprintf(path, size, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pm->pid,
		 m->start, m->end);
	if (access(path, R_OK))
		snprintf(path, size, "/proc/%d/root%s", pm->pid, m->path);
	return path;
}

/* The build-id of a file as text, "none" if it has none. */
static int build_id(const char *path, char text[2 * MAX_ID + 1],
		    struct hsu_error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret = -1;
	struct hsu_elf *elf = NULL;
	u8 id[MAX_ID];
	size_t len;

	if (fd < 0)
		return hsu_fail(err, "cannot open %s: %m", path);
	elf = hsu_elf_open(fd, NULL, 0, path, err);
	if (elf) {
		len = hsu_elf_build_id(elf, id, sizeof(id));
		hsu_build_id_text(id, len, text);
		if (!len)
			strcpy(text, "none");
		ret = 0;
	}
	hsu_elf_close(elf);
	close(fd);
	return ret;
}

/* The image of a copy of the mapped file, which must have its build-id. */
static int build_copy(const struct hsu_process_maps *pm,
		      const struct mapping *m, const char *copy,
		      struct hsu_built *built, struct hsu_error *err)
{
	char path[MAX_PATH], mapped[2 * MAX_ID + 1], id[2 * MAX_ID + 1];

	if (build_id(copy, id, err) ||
	    build_id(mapped_file(pm, m, path, sizeof(path)), mapped, err))
		return -1;
	if (strcmp(id, mapped))
		return hsu_fail(err,
			"%s is no copy of %s: build-id %s, not %s; copy it again or remove it",
			copy, m->path, id, mapped);
	return hsu_build_file(copy, pm->build_flags, built, err);
}

static int build(const struct hsu_process_maps *pm, const struct mapping *m,
		 struct hsu_built *built, struct hsu_error *err)
{
	char path[MAX_PATH];

	if (!hsu_build_file(mapped_file(pm, m, path, sizeof(path)),
			    pm->build_flags, built, err))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/root%s", pm->pid, m->path);
	return hsu_build_file(path, pm->build_flags, built, err);
}

/* The file in the folder that a mapping is to be described by, if there is one. */
static bool copy_of(const struct hsu_process_maps *pm, const struct mapping *m,
		    char *path, size_t size)
{
	const char *slash = strrchr(m->path, '/');

	if (!pm->folder || !slash || !m->inode)
		return false;
	snprintf(path, size, "%s%s", pm->folder, slash);
	return !access(path, F_OK);
}

/* NULL with @err set if it cannot be described as asked for. */
static struct hsu_loaded_file *load(struct hsu_process_maps *pm,
				    const struct mapping *m,
				    struct hsu_error *err)
{
	struct hsu_error ignored = { "" };
	struct hsu_loaded_file *f;
	char copy[MAX_PATH];
	int ret;

	for (f = pm->files; f; f = f->next)
		if (f->inode == m->inode && !strcmp(f->device, m->device))
			return f;
	f = calloc(1, sizeof(*f));
	if (!f) {
		hsu_fail(err, "out of memory");
		return NULL;
	}
	memcpy(f->device, m->device, sizeof(f->device));
	f->inode = m->inode;
	if (copy_of(pm, m, copy, sizeof(copy))) {
		ret = build_copy(pm, m, copy, &f->built, err);
		if (ret) {
			free(f);
			return NULL;
		}
	} else {
		ret = m->inode ? build(pm, m, &f->built, &ignored) :
			hsu_build_vdso(&f->built, &ignored);
	}
	f->usable = !ret &&
		!hsu_image_init(&f->img, f->built.data, f->built.len);
	f->next = pm->files;
	pm->files = f;
	return f;
}

static int add(struct hsu_process_maps *pm, const struct mapping *m,
	       struct hsu_error *err)
{
	struct hsu_loaded_file *f;
	struct hsu_map *grown;
	uint64_t bias;

	if (m->perms[2] != 'x' || (!m->inode && strcmp(m->path, "[vdso]")))
		return 0;
	f = load(pm, m, err);
	if (!f)
		return -EINVAL;
	if (!f->usable || !hsu_image_bias(&f->img, m->start, m->offset,
					  (__u64 *)&bias))
		return 0;
	grown = realloc(pm->maps, (pm->nr + 1) * sizeof(*grown));
	if (!grown) {
		hsu_fail(err, "out of memory");
		return -ENOMEM;
	}
	pm->maps = grown;
	pm->maps[pm->nr++] = (struct hsu_map){
		.start = m->start, .end = m->end, .bias = bias, .img = &f->img,
	};
	return 0;
}

int hsu_maps_read(struct hsu_process_maps *pm, struct hsu_error *err)
{
	char path[64], *line = NULL;
	struct mapping m;
	size_t size = 0;
	int ret = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pm->pid);
	f = fopen(path, "re");
	if (!f) {
		ret = -errno;
		hsu_fail(err, "cannot read %s: %s", path, strerror(-ret));
		return ret;
	}
	pm->nr = 0;
	while (!ret && getline(&line, &size, f) > 0)
		if (parse_line(line, &m))
			ret = add(pm, &m, err);
	free(line);
	fclose(f);
	return ret;
}

bool hsu_maps_have_haskell(const struct hsu_process_maps *pm)
{
	size_t i;

	for (i = 0; i < pm->nr; i++)
		if (pm->maps[i].img->hdr->ghc.version)
			return true;
	return false;
}

void hsu_maps_free(struct hsu_process_maps *pm)
{
	struct hsu_loaded_file *f, *next;

	for (f = pm->files; f; f = next) {
		next = f->next;
		hsu_built_free(&f->built);
		free(f);
	}
	free(pm->maps);
	memset(pm, 0, sizeof(*pm));
}
