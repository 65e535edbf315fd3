/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ioctls of /dev/hsunwind, with sentences for their errors.
 */
#ifndef HSU_DEVICE_H
#define HSU_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "hsu_env.h"
#include "hsunwind.h"

/**
 * struct hsu_image_entry - a registered image
 * @info: as the kernel gives it.
 * @path: of the file.
 */
struct hsu_image_entry {
	struct hsunwind_image_info info;
	char path[4352];
};

/* Opens the device; returns its descriptor, or -1 with @err set. */
int hsu_device_open(struct hsu_error *err);
void hsu_device_close(int dev);

/**
 * hsu_device_image_add() - register an image
 * @dev: the device.
 * @flags: %HSUNWIND_ADD_*.
 * @fd: the ELF file, -1 with %HSUNWIND_ADD_VDSO.
 * @data: the image.
 * @len: its length in bytes.
 * @name: of the file, for messages.
 * @id: out: number of the image.
 * @err: filled in on failure.
 *
 * Return: 0, or -1 with @err set.
 */
int hsu_device_image_add(int dev, u32 flags, int fd, const void *data,
			 size_t len, const char *name, u64 *id,
			 struct hsu_error *err);

/**
 * hsu_device_image_next() - the image with the lowest number from @id on
 * @dev: the device.
 * @id: the number.
 * @entry: out: the image.
 * @err: filled in on failure.
 *
 * Return: 1, 0 if there is none, -1 with @err set.
 */
int hsu_device_image_next(int dev, u64 id, struct hsu_image_entry *entry,
			  struct hsu_error *err);

/* These return 0, or -1 with @err set. */
int hsu_device_image_remove(int dev, u64 id, const char *name,
			    struct hsu_error *err);
int hsu_device_remove_all(int dev, struct hsu_error *err);
int hsu_device_process_add(int dev, int pid, u32 *nr_maps,
			   struct hsu_error *err);
int hsu_device_process_remove(int dev, int pid, struct hsu_error *err);

/* Like hsu_device_image_next(), for processes. */
int hsu_device_process_next(int dev, int pid, struct hsunwind_process *proc,
			    struct hsu_error *err);

/**
 * hsu_device_stats() - read the counters
 * @dev: the device.
 * @stops: out: %HSUNWIND_STOP_NR numbers.
 * @counters: out: %HSUNWIND_COUNT_NR numbers.
 * @err: filled in on failure.
 *
 * What the module does not know is 0.
 *
 * Return: 0, or -1 with @err set.
 */
int hsu_device_stats(int dev, u64 *stops, u64 *counters, struct hsu_error *err);

#endif /* HSU_DEVICE_H */
