/* SPDX-License-Identifier: GPL-2.0-only */
/* How processes come to our knowledge: exec, fork, exit and mmap. */
#ifndef HSU_PROBES_H
#define HSU_PROBES_H

/**
 * hsu_probes_init() - start watching
 *
 * Return: 0 or a negative error number.
 */
int hsu_probes_init(void);

/**
 * hsu_probes_exit() - stop watching
 *
 * No probe is running any more when it returns.
 */
void hsu_probes_exit(void);

#endif /* HSU_PROBES_H */
