/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The registered images: which ELF files hsunwind knows, found by inode.
 *
 * hsu_registry_lock guards all changes, of the processes (processes.h) too. A
 * sample looks an image up under RCU alone.
 */
#ifndef HSU_IMAGES_H
#define HSU_IMAGES_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/rculist.h>
#include <linux/refcount.h>

#include "hsu_core.h"
#include "users.h"

extern struct mutex hsu_registry_lock;

/**
 * struct hsu_file_id - what must match for a file to be the registered one
 * @dev: device of the super block.
 * @generation: of the inode, if the file system has one.
 * @ino: number of the inode.
 * @mtime: last change of the content, seconds.
 * @mtime_nsec: last change of the content, nanoseconds.
 * @size: bytes.
 *
 * No inode is held on to, so that file systems can be unmounted and files
 * deleted. A file that is written anew, or another one that gets the same
 * inode number, does not match any more.
 */
struct hsu_file_id {
	dev_t dev;
	u32 generation;
	u64 ino;
	s64 mtime;
	u32 mtime_nsec;
	s64 size;
};

struct hsu_entry;

/**
 * struct hsu_key - one way in which a registered file is found
 * @node: in the hash table.
 * @hash: what it is found by there.
 * @id: identity to be matched.
 * @entry: image of the file.
 */
struct hsu_key {
	struct hlist_node node;
	u64 hash;
	struct hsu_file_id id;
	struct hsu_entry *entry;
};

/**
 * struct hsu_entry - a registered image
 * @img: the image, as the core wants it. First, so that it is the same address.
 * @flags: %HSUNWIND_ADD_* and %HSUNWIND_SHOW_MASK.
 * @cred: who has registered it for his own processes; NULL: for everyone's.
 * @account: of the one who pays for it.
 * @gone: it is being removed.
 * @nr_keys: number of @keys in use.
 * @keys: identities of its file: as opened, and beneath an overlayfs.
 * @id: number of the image.
 * @refs: one for the registry and one for every mapping in a table.
 * @list: in the list of all images, in the order of @id.
 * @data: the memory of the image.
 * @bytes: size of @data.
 * @dev: device of the file as stat(2) shows it.
 * @ino: inode number of the file as stat(2) shows it.
 * @path: path of the file when it was added.
 * @nr_procs: number of processes whose table has it.
 * @seen: see processes.c.
 * @rcu: for freeing it.
 */
struct hsu_entry {
	struct hsu_image img;
	u32 flags;
	const struct cred *cred;
	struct hsu_account *account;
	bool gone;
	unsigned int nr_keys;
	struct hsu_key keys[2];
	u64 id;
	refcount_t refs;
	struct list_head list;
	void *data;
	size_t bytes;
	dev_t dev;
	u64 ino;
	char *path;
	u32 nr_procs;
	u32 seen;
	struct rcu_head rcu;
};

/* Registered images that make a program, see %HSUNWIND_ADD_PROGRAM. */
extern unsigned int hsu_nr_programs;

/**
 * hsu_entry_of() - the registered image that a mapping refers to
 * @img: from a &struct hsu_map.
 */
static inline struct hsu_entry *hsu_entry_of(const struct hsu_image *img)
{
	return container_of(img, struct hsu_entry, img);
}

/**
 * hsu_entry_create() - make an image from what user space handed over
 * @file: the ELF file, or NULL for the vdso.
 * @flags: %HSUNWIND_ADD_* and %HSUNWIND_SHOW_MASK.
 * @data: the image in kernel memory, from kvmalloc(); taken over on success.
 * @bytes: size of @data.
 *
 * Context: process context, may sleep.
 * Return: the image, not registered yet, or an ERR_PTR: -EINVAL for an image
 * that is not valid, -ETXTBSY for a file that is open for writing, -ENOMEM.
 */
struct hsu_entry *hsu_entry_create(struct file *file, u32 flags, void *data,
				   size_t bytes);

/**
 * hsu_entry_get() - keep an image
 * @entry: a registered image; the caller holds hsu_registry_lock.
 */
void hsu_entry_get(struct hsu_entry *entry);

/**
 * hsu_entry_put() - let go of an image
 * @entry: the image. It is freed after the last reference and a grace period.
 */
void hsu_entry_put(struct hsu_entry *entry);

/**
 * hsu_images_insert() - register an image
 * @entry: from hsu_entry_create(); taken over on success.
 * @old: image that will be removed after this call, or NULL. Until then
 *	look-ups already find @entry.
 * @account: of the one who pays for it; &hsu_everyone if it is for everyone.
 *
 * Context: the caller holds hsu_registry_lock.
 * Return: 0, -ENOSPC if there are too many images or too large ones, -EDQUOT if
 * the user has too many or too large ones.
 */
int hsu_images_insert(struct hsu_entry *entry, const struct hsu_entry *old,
		      struct hsu_account *account);

/**
 * hsu_images_mark_gone() - mark images to be removed
 * @account: whose; NULL: all.
 *
 * Context: the caller holds hsu_registry_lock.
 */
void hsu_images_mark_gone(const struct hsu_account *account);

/**
 * hsu_images_remove_gone() - unregister the images that are marked
 *
 * No table may have any of them any more.
 *
 * Context: the caller holds hsu_registry_lock.
 */
void hsu_images_remove_gone(void);

/**
 * hsu_images_same() - the registered image of the same file
 * @entry: an image that is not registered.
 *
 * Context: the caller holds hsu_registry_lock.
 * Return: the image that @entry is to replace, or NULL.
 */
struct hsu_entry *hsu_images_same(const struct hsu_entry *entry);

/**
 * hsu_images_next() - walk over images
 * @id: lowest number to be returned.
 * @cred: only images that this user has registered for himself; NULL: all.
 *
 * Context: the caller holds hsu_registry_lock.
 * Return: the image with the lowest number >= @id, or NULL.
 */
struct hsu_entry *hsu_images_next(u64 id, const struct cred *cred);

/**
 * hsu_images_vdso() - the image of the vdso
 * @whose: the process that maps it.
 *
 * Context: the caller holds hsu_registry_lock.
 * Return: the image, or NULL.
 */
struct hsu_entry *hsu_images_vdso(const struct hsu_subject *whose);

/**
 * hsu_images_find() - the registered image of a file
 * @inode: inode of the file.
 * @whose: the process that uses the file. What its user has registered for
 *	himself comes before what is registered for everyone.
 *
 * Context: any, NMI included; in an RCU read-side critical section, until the
 * end of which the image stays.
 * Return: the image, or NULL.
 */
struct hsu_entry *hsu_images_find(const struct inode *inode,
				  const struct hsu_subject *whose);

/**
 * hsu_images_program() - the program that a process has executed
 * @whose: the process; not on its way out.
 *
 * Context: as hsu_images_find().
 * Return: its image if it is a registered program, or NULL.
 */
struct hsu_entry *hsu_images_program(const struct hsu_subject *whose);

#endif /* HSU_IMAGES_H */
