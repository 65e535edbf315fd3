// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files that a running process executes code of.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "files_priv.h"

/* One line of /proc/PID/maps. */
struct map_line {
	unsigned long start;
	unsigned long end;
	char perms[5];
	const char *path;
};

static bool parse_line(char *line, struct map_line *m)
{
	int at = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%lx-%lx %4s %*x %*x:%*x %*u %n", &m->start, &m->end,
		   m->perms, &at) < 3 || !at)
		return false;
	m->path = line + at;
	return m->perms[2] == 'x' && m->path[0] == '/';
}

static bool is_deleted(const char *path)
{
	size_t len = strlen(path);

	return len > 10 && !strcmp(path + len - 10, " (deleted)");
}

/*
 * map_files leads to the mapped file whatever has become of its name, but only
 * root may use it. The name must be looked up as the process sees it.
 */
static int open_mapped(int pid, const struct map_line *m)
{
	char path[4352];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/map_files/%lx-%lx", pid,
		 m->start, m->end);
	fd = hsu_open_elf(path);
	if (fd >= 0 || is_deleted(m->path))
		return fd;
	if (snprintf(path, sizeof(path), "/proc/%d/root%s", pid, m->path) >=
	    (int)sizeof(path))
		return -1;
	return hsu_open_elf(path);
}

static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, 4, 0) == 4 && !memcmp(magic, "\177ELF", 4);
}

/* Returns the index of the file, or -1 after a warning or for data. */
static int add_map(struct hsu_files *files, int pid, const struct map_line *m)
{
	struct hsu_error e;
	int fd = open_mapped(pid, m), i;

	if (fd < 0) {
		hsu_files_warn(files,
			       "%s, which process %d maps, cannot be opened (%m): run as root",
			       m->path, pid);
		return -1;
	}
	if (!is_elf(fd)) {
		close(fd);
		return -1;
	}
	i = hsu_files_add_fd(files, fd, m->path, &e);
	if (i < 0)
		hsu_files_warn(files, "%s", e.msg);
	return i;
}

/* Is this the file that the process executes? */
static bool is_executed(const struct hsu_file *f, int pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return !stat(path, &st) && st.st_dev == f->dev && st.st_ino == f->ino;
}

int hsu_files_add_process(struct hsu_files *files, int pid,
			  struct hsu_error *err)
{
	bool code = false, haskell = false;
	struct map_line m;
	char *line = NULL;
	size_t cap = 0;
	char path[64];
	FILE *f;
	int i;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	if (!f && errno == ENOENT)
		return hsu_fail(err, "there is no process %d: 'ps -e' lists processes",
				pid);
	if (!f)
		return hsu_fail(err, "the mappings of process %d cannot be read (%m): run as root",
				pid);
	while (getline(&line, &cap, f) > 0) {
		if (!parse_line(line, &m))
			continue;
		code = true;
		i = add_map(files, pid, &m);
		if (i < 0)
			continue;
		haskell |= files->v[i].built.info.is_haskell;
		files->v[i].wanted |= is_executed(&files->v[i], pid);
	}
	free(line);
	fclose(f);
	if (!code)
		return hsu_fail(err,
				"process %d maps no program: it is a kernel thread, or has ended",
				pid);
	if (!haskell)
		return hsu_fail(err,
				"process %d runs no code made by GHC: there is no Haskell stack to unwind",
				pid);
	return 0;
}
