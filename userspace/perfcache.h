/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * perf's cache of files by build-id, as perf 4.x to 6.x lays it out:
 *
 *	CACHE/path/of/file/BUILDID/elf
 *	CACHE/.build-id/BU/ILDID -> ../../path/of/file/BUILDID
 */
#ifndef HSU_PERFCACHE_H
#define HSU_PERFCACHE_H

#include "hsu_core.h"
#include "error.h"

#define HSU_MAX_BUILD_ID	32	/* bytes */

/**
 * struct hsu_slot - a place for one file
 * @dir: the folder.
 * @link: the link from the build-id to it.
 * @target: what the link holds.
 */
struct hsu_slot {
	char dir[4096 + 512];
	char link[4096 + 128];
	char target[4096];
};

/* What is in a slot. */
enum hsu_slot_state {
	HSU_SLOT_EMPTY,
	HSU_SLOT_OURS,		/* a copy with our symbols */
	HSU_SLOT_SAME,		/* perf's link to the file, or copy of it */
	HSU_SLOT_OTHER,
	HSU_SLOT_UNKNOWN,	/* it cannot be read: errno says why */
};

/**
 * hsu_slot_find() - where the cache has a file, or will have it
 * @slot: filled in on success.
 * @cache: path of the cache.
 * @path: absolute path of the file, without symbolic links.
 * @id: its build-id.
 * @len: bytes in @id.
 *
 * Return: false if the names are too long.
 */
bool hsu_slot_find(struct hsu_slot *slot, const char *cache, const char *path,
		   const u8 *id, size_t len);

/**
 * hsu_slot_state() - what is in a slot?
 * @slot: the slot.
 * @fd: the file that it is for.
 */
enum hsu_slot_state hsu_slot_state(const struct hsu_slot *slot, int fd);

/**
 * hsu_slot_begin() - open a new file for a slot
 * @slot: the slot; its folders are made. What writers that are no more have left
 *	there is removed.
 * @tmp: out: path of the file.
 * @cap: room in @tmp.
 * @err: filled in on failure.
 *
 * Return: descriptor, or -1 with @err set.
 */
int hsu_slot_begin(const struct hsu_slot *slot, char *tmp, size_t cap,
		   struct hsu_error *err);
/*
 * Puts the finished file @tmp, which is still open, into the slot, or removes it;
 * 0, or -1 with @err set.
 */
int hsu_slot_commit(const struct hsu_slot *slot, const char *tmp,
		    struct hsu_error *err);

/**
 * struct hsu_removed - what has been taken out of a cache
 * @files: how many files.
 * @bytes: how large they were on disk.
 * @error: errno of the first one that could not be removed, 0: none.
 * @kept: its path.
 */
struct hsu_removed {
	unsigned long files;
	u64 bytes;
	int error;
	char kept[4096 + 1024];
};

/**
 * hsu_cache_remove() - take our copies of a file out of a cache
 * @cache: path of the cache.
 * @path: of the file, NULL: of all files. Those with an older build-id, from
 *	before the file was rebuilt, are removed, too.
 * @removed: added to.
 * @err: filled in on failure.
 *
 * What is not ours stays.
 *
 * Return: 0, or -1 with @err set.
 */
int hsu_cache_remove(const char *cache, const char *path,
		     struct hsu_removed *removed, struct hsu_error *err);

#endif /* HSU_PERFCACHE_H */
