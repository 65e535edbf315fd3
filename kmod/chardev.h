/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/hsunwind */
#ifndef HSU_CHARDEV_H
#define HSU_CHARDEV_H

/**
 * hsu_chardev_init() - make the device
 *
 * Return: 0 or a negative error number.
 */
int hsu_chardev_init(void);

/**
 * hsu_chardev_exit() - remove the device
 */
void hsu_chardev_exit(void);

#endif /* HSU_CHARDEV_H */
