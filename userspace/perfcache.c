// SPDX-License-Identifier: GPL-2.0-only
/*
 * perf's cache of files by build-id.
 *
 * It is the user's own folder, and we act as that user. What is replaced is
 * replaced by rename(), so that a perf that runs meanwhile sees the old file
 * or the new one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfcache.h"
#include "symfile.h"

bool hsu_slot_find(struct hsu_slot *slot, const char *cache, const char *path,
		   const u8 *id, size_t len)
{
	char hex[2 * HSU_MAX_BUILD_ID + 1] = "", real[4096];
	struct stat st;
	ssize_t n;

	if (len < 2 || len > HSU_MAX_BUILD_ID)
		return false;
	hsu_build_id_text(id, len, hex);
	if (snprintf(slot->link, sizeof(slot->link), "%s/.build-id/%.2s/%s",
		     cache, hex, hex + 2) >= (int)sizeof(slot->link) ||
	    snprintf(slot->target, sizeof(slot->target), "../..%s/%s", path,
		     hex) >= (int)sizeof(slot->target) ||
	    snprintf(slot->dir, sizeof(slot->dir), "%s%s/%s", cache, path,
		     hex) >= (int)sizeof(slot->dir))
		return false;
	/* The same file under another name has it already. */
	n = readlink(slot->link, real, sizeof(real) - 1);
	if (n <= 6 || strncmp(real, "../../", 6) || stat(slot->link, &st) ||
	    !S_ISDIR(st.st_mode))
		return true;
	real[n] = 0;
	memcpy(slot->target, real, (size_t)n + 1);
	return snprintf(slot->dir, sizeof(slot->dir), "%s/%s", cache, real + 6) <
		(int)sizeof(slot->dir);
}

static int open_elf(const char *dir)
{
	char path[4096 + 1024];

	snprintf(path, sizeof(path), "%s/elf", dir);
	return open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static bool same_bytes(int a, int b)
{
	static char x[1 << 16], y[1 << 16];
	off_t at = 0;
	ssize_t n;

	do {
		n = pread(a, x, sizeof(x), at);
		if (n < 0 || pread(b, y, sizeof(y), at) != n ||
		    memcmp(x, y, (size_t)n))
			return false;
		at += n;
	} while (n);
	return true;
}

enum hsu_slot_state hsu_slot_state(const struct hsu_slot *slot, int fd)
{
	enum hsu_slot_state state = HSU_SLOT_OTHER;
	int old = open_elf(slot->dir);
	struct stat a, b;

	if (old < 0)
		return errno == ENOENT || errno == ENOTDIR ? HSU_SLOT_EMPTY :
			errno == ELOOP ? HSU_SLOT_OTHER : HSU_SLOT_UNKNOWN;
	if (hsu_symfile_is_ours(old))
		state = HSU_SLOT_OURS;
	else if (!fstat(old, &a) && !fstat(fd, &b) && a.st_size == b.st_size &&
		 ((a.st_dev == b.st_dev && a.st_ino == b.st_ino) ||
		  same_bytes(old, fd)))
		state = HSU_SLOT_SAME;
	close(old);
	return state;
}

/* Makes all folders above the last '/' of a path. */
static int make_parents(char *path, struct hsu_error *err)
{
	char *p;

	for (p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		if (mkdir(path, 0755) && errno != EEXIST) {
			hsu_fail(err, "%s cannot be made: %m", path);
			*p = '/';
			return -1;
		}
		*p = '/';
	}
	return 0;
}

#define TMP_NAME	"elf."
#define TMP_RANDOM	"XXXXXX"
#define MAX_ENTRIES	4096	/* of a folder, that are looked at */

static bool is_tmp(const char *name)
{
	size_t len = strlen(TMP_NAME);

	return !strncmp(name, TMP_NAME, len) &&
	       strlen(name + len) == strlen(TMP_RANDOM) &&
	       !strpbrk(name + len, "./~-");
}

/*
 * Files that a writer has left which is no more: one that lives has them locked.
 * Returns how many.
 */
static unsigned int remove_left(const char *dir)
{
	unsigned int entries = 0, removed = 0;
	DIR *d = opendir(dir);
	struct dirent *e;
	int fd;

	if (!d)
		return 0;
	while ((e = readdir(d)) && entries++ < MAX_ENTRIES) {
		if (!is_tmp(e->d_name))
			continue;
		fd = openat(dirfd(d), e->d_name,
			    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0)
			continue;
		if (!flock(fd, LOCK_EX | LOCK_NB) &&
		    !unlinkat(dirfd(d), e->d_name, 0))
			removed++;
		close(fd);
	}
	closedir(d);
	return removed;
}

/* Under a lock of the folder, so that nobody takes a file not yet locked for left. */
static int make_tmp(const char *dir, char *tmp)
{
	int lock = open(dir, O_RDONLY | O_CLOEXEC | O_DIRECTORY), fd;

	if (lock < 0)
		return -1;
	if (!flock(lock, LOCK_EX))
		remove_left(dir);
	fd = mkostemp(tmp, O_CLOEXEC);
	if (fd >= 0)
		flock(fd, LOCK_EX | LOCK_NB);
	close(lock);
	return fd;
}

int hsu_slot_begin(const struct hsu_slot *slot, char *tmp, size_t cap,
		   struct hsu_error *err)
{
	int fd;

	if (snprintf(tmp, cap, "%s/" TMP_NAME TMP_RANDOM, slot->dir) >= (int)cap)
		return hsu_fail(err, "%s is too long a name", slot->dir);
	if (make_parents(tmp, err))
		return -1;
	fd = make_tmp(slot->dir, tmp);
	if (fd < 0)
		return hsu_fail(err, "no file can be made in %s: %m", slot->dir);
	return fd;
}

static int set_link(const struct hsu_slot *slot, struct hsu_error *err)
{
	char link[sizeof(slot->link)], old[4096];
	ssize_t n;

	memcpy(link, slot->link, sizeof(link));
	if (make_parents(link, err))
		return -1;
	n = readlink(link, old, sizeof(old) - 1);
	if (n > 0) {
		old[n] = 0;
		if (!strcmp(old, slot->target))
			return 0;
		unlink(link);	/* it leads nowhere */
	}
	if (symlink(slot->target, link))
		return hsu_fail(err, "%s cannot be made: %m", link);
	return 0;
}

int hsu_slot_commit(const struct hsu_slot *slot, const char *tmp,
		    struct hsu_error *err)
{
	char path[sizeof(slot->dir) + 8];

	snprintf(path, sizeof(path), "%s/elf", slot->dir);
	if (chmod(tmp, 0644) || rename(tmp, path)) {
		hsu_fail(err, "%s cannot be replaced: %m", path);
		unlink(tmp);
		return -1;
	}
	return set_link(slot, err);
}

/*
 * Takes our file out of a folder of the cache, and the folders that are empty
 * without it. perf may have put something of its own beside it.
 */
static void remove_slot(const char *cache, const char *dir, const char *id,
			struct hsu_removed *removed)
{
	char path[4096 + 1024], link[4096 + 256];
	struct stat st;
	bool ours;
	char *p;
	int fd;

	if (remove_left(dir))
		rmdir(dir);	/* if there is nothing else */
	fd = open_elf(dir);
	if (fd < 0)
		return;
	ours = !fstat(fd, &st) && hsu_symfile_is_ours(fd);
	close(fd);
	snprintf(path, sizeof(path), "%s/elf", dir);
	if (!ours)
		return;
	if (unlink(path)) {
		if (!removed->error)
			snprintf(removed->kept, sizeof(removed->kept), "%s", path);
		removed->error = removed->error ? removed->error : errno;
		return;
	}
	removed->files++;
	removed->bytes += (u64)st.st_blocks * 512;
	snprintf(path, sizeof(path), "%s/probes", dir);
	if (!stat(path, &st) && !st.st_size)
		unlink(path);	/* perf makes it again */
	if (rmdir(dir))
		return;
	snprintf(link, sizeof(link), "%s/.build-id/%.2s/%s", cache, id, id + 2);
	if (stat(link, &st))
		unlink(link);
	snprintf(path, sizeof(path), "%s", dir);
	while ((p = strrchr(path, '/')) && (size_t)(p - path) > strlen(cache)) {
		*p = 0;
		if (rmdir(path))
			break;
	}
	p = strrchr(link, '/');
	*p = 0;
	if (!rmdir(link)) {
		*strrchr(link, '/') = 0;
		rmdir(link);
	}
}

static bool is_hex(const char *name)
{
	return *name && !name[strspn(name, "0123456789abcdef")];
}

static int remove_file(const char *cache, const char *path,
		       struct hsu_removed *removed, struct hsu_error *err)
{
	char dir[4096], slot[4096 + 512];
	struct dirent *e;
	DIR *d;

	if (snprintf(dir, sizeof(dir), "%s%s", cache, path) >= (int)sizeof(dir))
		return hsu_fail(err, "%s is too long a name", path);
	d = opendir(dir);
	if (!d)
		return 0;
	while ((e = readdir(d))) {
		if (!is_hex(e->d_name) || strlen(e->d_name) < 4)
			continue;
		snprintf(slot, sizeof(slot), "%s/%s", dir, e->d_name);
		remove_slot(cache, slot, e->d_name, removed);
	}
	closedir(d);
	return 0;
}

/* One of the folders below .build-id. */
static void remove_links(const char *cache, const char *two,
			 struct hsu_removed *removed)
{
	char dir[4096], target[4096], slot[2 * 4096], id[256 + 8];
	struct dirent *e;
	ssize_t n;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/.build-id/%s", cache, two);
	d = opendir(dir);
	if (!d)
		return;
	while ((e = readdir(d))) {
		n = readlinkat(dirfd(d), e->d_name, target, sizeof(target) - 1);
		if (n <= 6 || strncmp(target, "../../", 6) || !is_hex(e->d_name))
			continue;
		target[n] = 0;
		snprintf(slot, sizeof(slot), "%s/%s", cache, target + 6);
		snprintf(id, sizeof(id), "%s%s", two, e->d_name);
		remove_slot(cache, slot, id, removed);
	}
	closedir(d);
}

static void remove_all(const char *cache, struct hsu_removed *removed)
{
	char dir[4096];
	struct dirent *e;
	DIR *d;

	snprintf(dir, sizeof(dir), "%s/.build-id", cache);
	d = opendir(dir);
	if (!d)
		return;
	while ((e = readdir(d)))
		if (strlen(e->d_name) == 2 && is_hex(e->d_name))
			remove_links(cache, e->d_name, removed);
	closedir(d);
}

int hsu_cache_remove(const char *cache, const char *path,
		     struct hsu_removed *removed, struct hsu_error *err)
{
	if (!path)
		remove_all(cache, removed);
	else if (remove_file(cache, path, removed, err))
		return -1;
	if (removed->error)
		return hsu_fail(err, "%s cannot be removed: %s", removed->kept,
				strerror(removed->error));
	return 0;
}
