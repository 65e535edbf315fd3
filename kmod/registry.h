/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be done to the registered images and processes. */
#ifndef HSU_REGISTRY_H
#define HSU_REGISTRY_H

#include <linux/fs.h>
#include <linux/types.h>

#include "hsunwind.h"
#include "users.h"

/**
 * hsu_registry_open() - somebody opened the device
 *
 * As long as it is open, libraries are not dropped because the last process
 * that used them ended: they may be there for a process yet to be added.
 *
 * Context: process context, may sleep.
 * Return: what hsu_registry_release() wants, or NULL for want of memory.
 */
struct hsu_account *hsu_registry_open(void);

/**
 * hsu_registry_release() - somebody closed the device
 * @account: from hsu_registry_open().
 *
 * Context: process context, may sleep.
 */
void hsu_registry_release(struct hsu_account *account);

/**
 * hsu_registry_image_add() - register an image
 * @file: the ELF file, or NULL for the vdso.
 * @flags: %HSUNWIND_ADD_* and %HSUNWIND_SHOW_MASK.
 * @data: the image in kernel memory, from kvmalloc(); taken over on success.
 * @bytes: size of @data.
 * @id: out: number of the image.
 *
 * An image of the same file is replaced.
 *
 * Context: process context, may sleep.
 * Return: 0, -EINVAL for an image that is not valid, -ETXTBSY for a file that is
 * open for writing, -ENOSPC, -EDQUOT, -ENOMEM.
 */
int hsu_registry_image_add(struct file *file, u32 flags, void *data,
			   size_t bytes, u64 *id);

/**
 * hsu_registry_image_next() - describe the next image
 * @info: @info->id is the lowest number to be returned; filled in on success.
 * @path: out: copy of the path of its file; to be freed by the caller.
 *
 * Context: process context, may sleep.
 * Return: 0, -ENOENT if there is none, -ENOMEM.
 */
int hsu_registry_image_next(struct hsunwind_image_info *info, char **path);

/**
 * hsu_registry_image_remove() - unregister an image
 * @id: its number.
 *
 * No walk that begins later uses it. If it was the last program, and no process
 * that was added by pid is left, all other images go as well.
 *
 * Context: process context, may sleep.
 * Return: 0, or -ENOENT if there is no such image.
 */
int hsu_registry_image_remove(u64 id);

/**
 * hsu_registry_remove_all() - unregister all images and forget all processes
 *
 * That is, of all that the caller may see.
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int hsu_registry_remove_all(void);

/**
 * hsu_registry_process_add() - make the table of a running process
 * @nr: its number in the pid namespace of the caller.
 * @nr_maps: out: registered mappings of the process.
 *
 * Context: process context, may sleep.
 * Return: 0, -ESRCH if there is no such process, -ENOENT if it maps no
 * registered file, -EPERM if the caller may not trace it, -EBUSY if its mappings
 * stay locked, -EINTR, -ENOSPC, -EDQUOT, -ENOMEM.
 */
int hsu_registry_process_add(pid_t nr, u32 *nr_maps);

/**
 * hsu_registry_process_remove() - leave a process to the kernel
 * @nr: its number in the pid namespace of the caller.
 *
 * Context: process context, may sleep.
 * Return: 0, -ESRCH if there is no such process, -EPERM if the caller may not
 * trace it, -ENOENT if it is not known.
 */
int hsu_registry_process_remove(pid_t nr);

/**
 * hsu_registry_process_next() - describe the next process
 * @proc: @proc->pid is the lowest number to be returned; filled in on success.
 *
 * Context: process context, may sleep.
 * Return: 0, or -ENOENT if there is none.
 */
int hsu_registry_process_next(struct hsunwind_process *proc);

/**
 * hsu_registry_reap() - forget the processes that have ended
 *
 * Context: process context, may sleep.
 */
void hsu_registry_reap(void);

/**
 * hsu_registry_exit() - free everything
 *
 * No sample and no probe may be running any more.
 */
void hsu_registry_exit(void);

#endif /* HSU_REGISTRY_H */
