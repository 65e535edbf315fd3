/* SPDX-License-Identifier: GPL-2.0-only */
/* What all tests of the device need: ioctls, and a small valid image. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "hsunwind.h"

#define DEVICE "/dev/hsunwind"

/* Room for what a test may change; a valid image needs less. */
#define IMAGE_SEGS	2
#define IMAGE_RULES	6
#define IMAGE_ROWS	4

/* Numbers of the rules in a &struct test_image. */
enum test_rule {
	RULE_NONE,
	RULE_FP,	/* code with a frame pointer, past its prologue */
	RULE_BOTTOM,	/* no caller */
	RULE_HS,	/* Haskell code */
	RULE_SCAN,	/* the same, behind words that rax counts */
	RULE_RA_REG,	/* return address in rdi */
};

/* The layout of an image as the tests make it. */
struct test_image {
	struct hsunwind_image h;
	struct hsunwind_seg segs[IMAGE_SEGS];
	struct hsunwind_rule rules[IMAGE_RULES];
	__u32 pcs[IMAGE_ROWS];
	__u16 ids[IMAGE_ROWS];
};

/*
 * The image of an ELF file with one executable segment: code with frame
 * pointers, but for [from, to), offsets from the start of the file's first page
 * in memory, which has no caller. Exits if the file is not as expected.
 */
void test_image_init(struct test_image *image, const char *elf, __u32 from,
		     __u32 to);

/* Return 0 or a negative error number. */
int image_add_fd(int dev, int fd, __u32 flags, const void *image, __u64 len,
		 __u64 *id);
int image_add(int dev, const char *elf, __u32 flags,
	      const struct test_image *image, __u64 *id);
int image_remove(int dev, __u64 id);
int remove_all(int dev);
int image_info(int dev, __u64 id, struct hsunwind_image_info *info);
int process_add(int dev, int pid, __u32 *nr_maps);
int process_remove(int dev, int pid);
/* The process with the lowest number from @pid on, or a negative error. */
int process_next(int dev, int pid);

/* The number of registered images. */
unsigned int images(int dev);
bool known(int dev, int pid);

/* One of the counters, or of the stop reasons. */
__u64 counter(int dev, enum hsunwind_counter nr);
__u64 stops(int dev, enum hsunwind_stop nr);

#endif /* DEVICE_H */
