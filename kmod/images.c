// SPDX-License-Identifier: GPL-2.0-only
/*
 * The registered images.
 *
 * The kernel takes the identity of a file from the open file itself, so user
 * space cannot claim that an image belongs to a file that it could not open.
 * On overlayfs one file has two inodes: the one of the overlay, which a program
 * and /proc/PID/exe see, and the one of the layer beneath, which is in the
 * mappings of a process. An image is found by either.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dcache.h>
#include <linux/hashtable.h>
#include <linux/kdev_t.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/stat.h>

#include "compat.h"
#include "images.h"
#include "params.h"

#define HASH_BITS_IMAGES 10

/* Guards images and processes; see images.h. */
DEFINE_MUTEX(hsu_registry_lock);
unsigned int hsu_nr_programs;

static DEFINE_HASHTABLE(hsu_keys, HASH_BITS_IMAGES);
static LIST_HEAD(hsu_entries);
static unsigned int hsu_nr_entries;
static unsigned long hsu_entry_bytes;
static u64 hsu_last_id;
static struct hsu_entry *hsu_vdso;

static void hsu_file_id_init(struct hsu_file_id *id, const struct inode *inode)
{
	id->dev = inode->i_sb->s_dev;
	id->generation = inode->i_generation;
	id->ino = inode->i_ino;
	hsu_inode_mtime(inode, &id->mtime, &id->mtime_nsec);
	id->size = i_size_read(inode);
}

static bool hsu_file_id_equal(const struct hsu_file_id *a,
			      const struct hsu_file_id *b)
{
	return a->dev == b->dev && a->generation == b->generation &&
	       a->ino == b->ino && a->mtime == b->mtime &&
	       a->mtime_nsec == b->mtime_nsec && a->size == b->size;
}

static void hsu_entry_free(struct hsu_entry *entry)
{
	kvfree(entry->data);
	kfree(entry->path);
	kfree(entry);
}

static void hsu_entry_free_rcu(struct rcu_head *rcu)
{
	hsu_entry_free(container_of(rcu, struct hsu_entry, rcu));
}

static int hsu_entry_set_path(struct hsu_entry *entry, struct file *file)
{
	char *buf = NULL;
	char *path = "[vdso]";

	if (file) {
		buf = kmalloc(PATH_MAX, GFP_KERNEL);
		if (!buf)
			return -ENOMEM;
		path = d_path(&file->f_path, buf, PATH_MAX);
		if (IS_ERR(path))
			path = "[unknown]";
	}
	entry->path = kstrdup(path, GFP_KERNEL_ACCOUNT);
	kfree(buf);
	return entry->path ? 0 : -ENOMEM;
}

static int hsu_entry_set_file(struct hsu_entry *entry, struct file *file)
{
	const struct inode *inodes[2] = {
		file_inode(file),
		d_real_inode(file->f_path.dentry),
	};
	struct kstat stat;
	unsigned int i;
	int err;

	/* This also brings the inode of a network file system up to date. */
	err = vfs_getattr(&file->f_path, &stat, STATX_BASIC_STATS,
			  AT_STATX_SYNC_AS_STAT);
	if (err)
		return err;
	entry->dev = stat.dev;
	entry->ino = stat.ino;

	for (i = 0; i < ARRAY_SIZE(inodes); i++) {
		if (!inodes[i] || (i && inodes[i] == inodes[0]))
			continue;
		hsu_file_id_init(&entry->keys[entry->nr_keys++].id, inodes[i]);
	}
	return 0;
}

struct hsu_entry *hsu_entry_create(struct file *file, u32 flags, void *data,
				   size_t bytes)
{
	struct hsu_entry *entry;
	const char *bad;
	int err;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL_ACCOUNT);
	if (!entry)
		return ERR_PTR(-ENOMEM);

	bad = hsu_image_init(&entry->img, data, bytes);
	if (bad) {
		pr_debug("image refused: %s\n", bad);
		err = -EINVAL;
		goto err_entry;
	}
	err = hsu_entry_set_path(entry, file);
	if (err)
		goto err_entry;
	if (file)
		err = hsu_entry_set_file(entry, file);
	if (err)
		goto err_entry;

	refcount_set(&entry->refs, 1);
	entry->flags = flags;
	entry->data = data;
	entry->bytes = bytes;
	return entry;

err_entry:
	kfree(entry->path);
	kfree(entry);
	return ERR_PTR(err);
}

void hsu_entry_get(struct hsu_entry *entry)
{
	refcount_inc(&entry->refs);
}

void hsu_entry_put(struct hsu_entry *entry)
{
	if (refcount_dec_and_test(&entry->refs))
		call_rcu(&entry->rcu, hsu_entry_free_rcu);
}

int hsu_images_insert(struct hsu_entry *entry, const struct hsu_entry *old)
{
	unsigned long bytes = hsu_entry_bytes - (old ? old->bytes : 0);
	unsigned int nr = hsu_nr_entries - (old ? 1 : 0);
	unsigned int i;

	lockdep_assert_held(&hsu_registry_lock);

	if (nr >= hsu_params.max_images || bytes > hsu_params.max_bytes ||
	    entry->bytes > hsu_params.max_bytes - bytes)
		return -ENOSPC;

	entry->id = ++hsu_last_id;
	hsu_nr_entries++;
	hsu_entry_bytes += entry->bytes;
	list_add_tail(&entry->list, &hsu_entries);
	for (i = 0; i < entry->nr_keys; i++) {
		entry->keys[i].entry = entry;
		hash_add_rcu(hsu_keys, &entry->keys[i].node,
			     entry->keys[i].id.ino);
	}
	if (entry->flags & HSUNWIND_ADD_VDSO)
		hsu_vdso = entry;
	if (entry->flags & HSUNWIND_ADD_PROGRAM)
		WRITE_ONCE(hsu_nr_programs, hsu_nr_programs + 1);
	return 0;
}

void hsu_images_remove(struct hsu_entry *entry)
{
	unsigned int i;

	lockdep_assert_held(&hsu_registry_lock);

	if (entry->flags & HSUNWIND_ADD_PROGRAM)
		WRITE_ONCE(hsu_nr_programs, hsu_nr_programs - 1);
	if (hsu_vdso == entry)
		hsu_vdso = NULL;
	for (i = 0; i < entry->nr_keys; i++)
		hash_del_rcu(&entry->keys[i].node);
	list_del(&entry->list);
	hsu_entry_bytes -= entry->bytes;
	hsu_nr_entries--;
	hsu_entry_put(entry);
}

/*
 * Not the whole identity counts here: the image of an older content of the file
 * is to be replaced, too. Device and inode as stat(2) has them, as those of the
 * super block are not unique on btrfs.
 */
struct hsu_entry *hsu_images_same(const struct hsu_entry *entry)
{
	struct hsu_entry *e;

	lockdep_assert_held(&hsu_registry_lock);

	if (entry->flags & HSUNWIND_ADD_VDSO)
		return hsu_vdso;
	list_for_each_entry(e, &hsu_entries, list)
		if (!(e->flags & HSUNWIND_ADD_VDSO) && e->dev == entry->dev &&
		    e->ino == entry->ino)
			return e;
	return NULL;
}

struct hsu_entry *hsu_images_next(u64 id)
{
	struct hsu_entry *e;

	lockdep_assert_held(&hsu_registry_lock);

	list_for_each_entry(e, &hsu_entries, list)
		if (e->id >= id)
			return e;
	return NULL;
}

struct hsu_entry *hsu_images_vdso(void)
{
	lockdep_assert_held(&hsu_registry_lock);
	return hsu_vdso;
}

struct hsu_entry *hsu_images_find(const struct inode *inode)
{
	struct hsu_key *key;
	struct hsu_file_id id;

	hash_for_each_possible_rcu(hsu_keys, key, node, inode->i_ino) {
		if (key->id.ino != inode->i_ino)
			continue;
		hsu_file_id_init(&id, inode);
		if (hsu_file_id_equal(&key->id, &id))
			return key->entry;
	}
	return NULL;
}
