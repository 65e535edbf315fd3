/* SPDX-License-Identifier: GPL-2.0-only */
/* The executable mappings of a process and the images of the mapped files. */
#ifndef HSU_STACK_MAPS_H
#define HSU_STACK_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "error.h"
#include "hsu_core.h"

struct hsu_loaded_file;

/**
 * struct hsu_process_maps - what the core needs to know of a process
 * @pid: the process.
 * @build_flags: passed on to hsu_build_file().
 * @folder: build images from the files in here that are named like the mapped
 *	ones, where there are some, or NULL: a stripped copy, for example. They
 *	must have the same build-id.
 * @maps: sorted executable mappings with an image.
 * @nr: their number.
 *
 * The rest is private.
 */
struct hsu_process_maps {
	pid_t pid;
	unsigned int build_flags;
	const char *folder;
	struct hsu_map *maps;
	size_t nr;

	/* private: */
	struct hsu_loaded_file *files;
};

/**
 * hsu_maps_read() - read the mappings of a process, anew or again
 * @pm: @pid and @build_flags filled in, the rest zero the first time. Images
 *	of files seen before are kept.
 * @err: why it failed.
 *
 * A mapped file that no image can be made of is left out; the walk stops where
 * it gets there. One in @folder that does not fit, or cannot be used, is an error.
 *
 * Return: 0 or a negative errno.
 */
int hsu_maps_read(struct hsu_process_maps *pm, struct hsu_error *err);

/**
 * hsu_maps_have_haskell() - is any mapped file made by GHC?
 * @pm: the mappings.
 */
bool hsu_maps_have_haskell(const struct hsu_process_maps *pm);

/**
 * hsu_maps_free() - free mappings and images
 * @pm: the mappings.
 */
void hsu_maps_free(struct hsu_process_maps *pm);

#endif /* HSU_STACK_MAPS_H */
