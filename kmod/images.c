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
#include <linux/hash.h>
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

/* Somebody's own images must not slow down the look-ups of others. */
static u64 hsu_key_hash(const struct inode *inode, const struct cred *cred)
{
	u64 uid = cred ? __kuid_val(cred->uid) : 0;

	return inode->i_ino ^ (cred ? hash_64(uid + 1, 64) : 0);
}

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
	put_cred(entry->cred);
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
	struct hsu_key *key;
	struct kstat stat;
	unsigned int i;
	int err;

	/*
	 * It may be written by way of a mapping without a new mtime. Whoever
	 * opens it for writing later gets one.
	 */
	if (inode_is_open_for_write(inodes[0]))
		return -ETXTBSY;
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
		key = &entry->keys[entry->nr_keys++];
		hsu_file_id_init(&key->id, inodes[i]);
		key->hash = hsu_key_hash(inodes[i], entry->cred);
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
	entry->flags = flags;
	if (flags & HSUNWIND_ADD_OWN)
		entry->cred = get_current_cred();
	err = hsu_entry_set_path(entry, file);
	if (err)
		goto err_entry;
	if (file)
		err = hsu_entry_set_file(entry, file);
	if (err)
		goto err_entry;

	refcount_set(&entry->refs, 1);
	entry->data = data;
	entry->bytes = bytes;
	return entry;

err_entry:
	put_cred(entry->cred);
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

static bool hsu_images_fit(unsigned int nr, unsigned long bytes, size_t more,
			   unsigned int max_nr, unsigned long max_bytes)
{
	return nr < max_nr && bytes <= max_bytes && more <= max_bytes - bytes;
}

static int hsu_images_room(const struct hsu_entry *entry,
			   const struct hsu_entry *old,
			   const struct hsu_account *account)
{
	const unsigned int max_nr = READ_ONCE(hsu_params.max_images);
	const unsigned long max_bytes = READ_ONCE(hsu_params.max_bytes);
	const unsigned long old_bytes = old ? old->bytes : 0;
	const unsigned int old_nr = old ? 1 : 0;
	unsigned int nr = hsu_nr_entries - old_nr;
	unsigned long bytes = hsu_entry_bytes - old_bytes;

	if (!hsu_images_fit(nr, bytes, entry->bytes, max_nr, max_bytes))
		return -ENOSPC;
	if (!entry->cred)
		return 0;

	if (!hsu_images_fit(account->nr_images - old_nr,
			    account->bytes - old_bytes, entry->bytes,
			    READ_ONCE(hsu_params.max_user_images),
			    READ_ONCE(hsu_params.max_user_bytes)))
		return -EDQUOT;
	/* All users together must leave something to root. */
	if (!hsu_images_fit(nr - hsu_everyone.nr_images,
			    bytes - hsu_everyone.bytes, entry->bytes,
			    max_nr / 2, max_bytes / 2))
		return -ENOSPC;
	return 0;
}

int hsu_images_insert(struct hsu_entry *entry, const struct hsu_entry *old,
		      struct hsu_account *account)
{
	unsigned int i;
	int err;

	lockdep_assert_held(&hsu_registry_lock);

	err = hsu_images_room(entry, old, account);
	if (err)
		return err;

	entry->id = ++hsu_last_id;
	entry->account = hsu_account_hold(account);
	account->nr_images++;
	account->bytes += entry->bytes;
	hsu_nr_entries++;
	hsu_entry_bytes += entry->bytes;
	list_add_tail(&entry->list, &hsu_entries);
	for (i = 0; i < entry->nr_keys; i++) {
		entry->keys[i].entry = entry;
		hash_add_rcu(hsu_keys, &entry->keys[i].node,
			     entry->keys[i].hash);
	}
	if (entry->flags & HSUNWIND_ADD_PROGRAM) {
		account->nr_programs++;
		WRITE_ONCE(hsu_nr_programs, hsu_nr_programs + 1);
	}
	return 0;
}

static void hsu_images_remove(struct hsu_entry *entry)
{
	struct hsu_account *account = entry->account;
	unsigned int i;

	if (entry->flags & HSUNWIND_ADD_PROGRAM) {
		account->nr_programs--;
		WRITE_ONCE(hsu_nr_programs, hsu_nr_programs - 1);
	}
	for (i = 0; i < entry->nr_keys; i++)
		hash_del_rcu(&entry->keys[i].node);
	list_del(&entry->list);
	hsu_entry_bytes -= entry->bytes;
	hsu_nr_entries--;
	account->bytes -= entry->bytes;
	account->nr_images--;
	hsu_account_put(account);
	hsu_entry_put(entry);
}

void hsu_images_remove_gone(void)
{
	struct hsu_entry *entry, *tmp;

	lockdep_assert_held(&hsu_registry_lock);

	list_for_each_entry_safe(entry, tmp, &hsu_entries, list)
		if (entry->gone)
			hsu_images_remove(entry);
}

void hsu_images_mark_gone(const struct hsu_account *account)
{
	struct hsu_entry *entry;

	lockdep_assert_held(&hsu_registry_lock);

	list_for_each_entry(entry, &hsu_entries, list)
		if (!account || entry->account == account)
			entry->gone = true;
}

/* Each may have one of the same file: all together, and every user. */
static bool hsu_entry_same_owner(const struct hsu_entry *a,
				 const struct hsu_entry *b)
{
	if (!a->cred || !b->cred)
		return a->cred == b->cred;
	return hsu_same_user(a->cred, b->cred);
}

/*
 * Not the whole identity counts here: the image of an older content of the file
 * is to be replaced, too. Device and inode as stat(2) has them, as those of the
 * super block are not unique on btrfs. The vdso has none.
 */
struct hsu_entry *hsu_images_same(const struct hsu_entry *entry)
{
	struct hsu_entry *e;

	lockdep_assert_held(&hsu_registry_lock);

	list_for_each_entry(e, &hsu_entries, list)
		if (!((e->flags ^ entry->flags) & HSUNWIND_ADD_VDSO) &&
		    e->dev == entry->dev && e->ino == entry->ino &&
		    hsu_entry_same_owner(e, entry))
			return e;
	return NULL;
}

struct hsu_entry *hsu_images_next(u64 id, const struct cred *cred)
{
	struct hsu_entry *e;

	lockdep_assert_held(&hsu_registry_lock);

	list_for_each_entry(e, &hsu_entries, list)
		if (e->id >= id &&
		    (!cred || (e->cred && hsu_same_user(cred, e->cred))))
			return e;
	return NULL;
}

struct hsu_entry *hsu_images_vdso(const struct hsu_subject *whose)
{
	struct hsu_entry *e, *found = NULL;

	lockdep_assert_held(&hsu_registry_lock);

	list_for_each_entry(e, &hsu_entries, list) {
		if (!(e->flags & HSUNWIND_ADD_VDSO))
			continue;
		if (!e->cred)
			found = found ?: e;
		else if (hsu_may_trace(e->cred, whose))
			return e;
	}
	return found;
}

static struct hsu_entry *hsu_images_lookup(const struct inode *inode,
					   const struct cred *cred,
					   const struct hsu_subject *whose)
{
	const u64 hash = hsu_key_hash(inode, cred);
	struct hsu_file_id id;
	struct hsu_key *key;

	hash_for_each_possible_rcu(hsu_keys, key, node, hash) {
		const struct hsu_entry *entry = key->entry;

		if (key->hash != hash || !entry->cred != !cred)
			continue;
		hsu_file_id_init(&id, inode);
		if (hsu_file_id_equal(&key->id, &id) &&
		    (!cred || hsu_may_trace(entry->cred, whose)))
			return key->entry;
	}
	return NULL;
}

struct hsu_entry *hsu_images_find(const struct inode *inode,
				  const struct hsu_subject *whose)
{
	struct hsu_entry *entry;

	entry = hsu_images_lookup(inode, whose->cred, whose);
	return entry ?: hsu_images_lookup(inode, NULL, whose);
}

struct hsu_entry *hsu_images_program(const struct hsu_subject *whose)
{
	const struct file *exe = rcu_dereference(whose->mm->exe_file);
	struct hsu_entry *entry;

	if (!exe)
		return NULL;
	entry = hsu_images_find(file_inode(exe), whose);
	return entry && (entry->flags & HSUNWIND_ADD_PROGRAM) ? entry : NULL;
}
