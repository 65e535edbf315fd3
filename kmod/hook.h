/* SPDX-License-Identifier: GPL-2.0-only */
/* The attachment to perf. */
#ifndef HSU_HOOK_H
#define HSU_HOOK_H

/**
 * hsu_hook_init() - attach to perf
 *
 * Says why in the kernel log if it cannot.
 *
 * Return: 0 or a negative error number.
 */
int hsu_hook_init(void);

/**
 * hsu_hook_exit() - detach from perf
 *
 * No sample is being walked any more when it returns.
 */
void hsu_hook_exit(void);

#endif /* HSU_HOOK_H */
