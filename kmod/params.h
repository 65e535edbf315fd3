/* SPDX-License-Identifier: GPL-2.0-only */
/* Parameters of the module; main.c describes them to the user. */
#ifndef HSU_PARAMS_H
#define HSU_PARAMS_H

#include <linux/types.h>

/**
 * struct hsu_params - parameters of the module
 * @max_images: images that may be registered at a time.
 * @max_bytes: bytes of kernel memory that they may take together.
 * @max_processes: processes that may be known at a time.
 * @max_user_images: images that one user may register for himself.
 * @max_user_bytes: bytes of kernel memory that they may take together.
 * @max_user_processes: processes of one user that may be known at a time.
 * @max_steps: physical frames that one sample may visit.
 * @show_internal: show the frames of the run-time system's own Cmm code.
 * @show_rts: show the C frames of the run-time system below a Haskell stack.
 *
 * They may change at any time: read them with READ_ONCE().
 */
struct hsu_params {
	unsigned int max_images;
	unsigned long max_bytes;
	unsigned int max_processes;
	unsigned int max_user_images;
	unsigned long max_user_bytes;
	unsigned int max_user_processes;
	unsigned int max_steps;
	bool show_internal;
	bool show_rts;
};

extern struct hsu_params hsu_params;

#endif /* HSU_PARAMS_H */
