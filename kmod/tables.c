// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tables of mappings of processes.
 *
 * To make one takes time in proportion to the mappings of the process, so it is
 * never done for a sample. The mmap lock of a process is only tried: its owner
 * could hold it for as long as he likes, and must not stop us from serving the
 * others.
 *
 * A mapping that goes away (dlclose) stays in the table until the next scan.
 * Another executable file in its place leads to one; anonymous memory in its
 * place does not, and a walk through it may then take a wrong turn, which costs
 * frames of that process and nothing else.
 */
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "compat.h"
#include "tables.h"

/* What the last scan found; hsu_registry_lock guards it. */
static struct hsu_map hsu_scanned[HSU_MAX_MAPS];

static struct hsu_table *hsu_table_alloc(u32 nr, gfp_t gfp)
{
	struct hsu_table *table;

	/* kvmalloc() may sleep whatever it is told. */
	if (gfpflags_allow_blocking(gfp))
		return kvmalloc(struct_size(table, maps, nr), gfp);
	return kmalloc(struct_size(table, maps, nr), gfp);
}

struct hsu_table *hsu_table_create(u32 nr, const struct cred *cred, bool own,
				   gfp_t gfp)
{
	struct hsu_table *table = hsu_table_alloc(nr, gfp);
	u32 i;

	if (!table)
		return NULL;
	table->show = 0;
	table->nr_maps = nr;
	for (i = 0; i < nr; i++) {
		struct hsu_entry *entry = hsu_entry_of(hsu_scanned[i].img);

		table->maps[i] = hsu_scanned[i];
		table->show |= entry->flags & HSUNWIND_SHOW_MASK;
		own |= !!entry->cred;
		hsu_entry_get(entry);
	}
	table->cred = own ? get_cred(cred) : NULL;
	return table;
}

/* Adds @n to the number of processes of each image in the table, once. */
static void hsu_table_account(const struct hsu_table *table, int n)
{
	static u32 round;
	u32 i;

	round++;
	for (i = 0; i < table->nr_maps; i++) {
		struct hsu_entry *entry = hsu_entry_of(table->maps[i].img);

		if (entry->seen == round)
			continue;
		entry->seen = round;
		entry->nr_procs += n;
	}
}

/*
 * Samples may be using the old table. It is freed after a grace period, and so
 * are the images and credentials of which it had the last reference.
 */
void hsu_table_publish(struct hsu_table __rcu **place, struct hsu_table *table)
{
	struct hsu_table *old;
	u32 i;

	old = rcu_dereference_protected(*place,
					lockdep_is_held(&hsu_registry_lock));
	if (table)
		hsu_table_account(table, 1);
	rcu_assign_pointer(*place, table);
	if (!old)
		return;
	hsu_table_account(old, -1);
	for (i = 0; i < old->nr_maps; i++)
		hsu_entry_put(hsu_entry_of(old->maps[i].img));
	put_cred(old->cred);
	kvfree_rcu(old, rcu);
}

static struct hsu_entry *hsu_entry_of_vma(const struct vm_area_struct *vma,
					  unsigned long vdso,
					  const struct hsu_subject *whose)
{
	const struct file *file = vma->vm_file;
	const struct inode *inode;
	struct hsu_entry *entry;

	if (!file)
		return vma->vm_start == vdso ? hsu_images_vdso(whose) : NULL;

	rcu_read_lock();
	entry = hsu_images_find(file_inode(file), whose);
	/* Copied up on an overlayfs since: then only the overlay's own inode. */
	inode = d_inode(file->f_path.dentry);
	if (!entry && inode && inode != file_inode(file))
		entry = hsu_images_find(inode, whose);
	rcu_read_unlock();
	/* hsu_registry_lock keeps it. */
	return entry;
}

int hsu_table_scan(const struct hsu_subject *whose, gfp_t gfp)
{
	HSU_VMA_ITERATOR(vmi, whose->mm);
	struct mm_struct *mm = whose->mm;
	unsigned long vdso, vdso_size;
	struct vm_area_struct *vma;
	u32 nr = 0;

	vdso = hsu_mm_vdso(mm, &vdso_size);
	if (!mmap_read_trylock(mm))
		return -EAGAIN;
	hsu_for_each_vma(vmi, vma) {
		struct hsu_map *map = &hsu_scanned[nr];
		struct hsu_entry *entry;

		if (gfpflags_allow_blocking(gfp))
			cond_resched();
		if (!(vma->vm_flags & VM_EXEC))
			continue;
		entry = hsu_entry_of_vma(vma, vdso, whose);
		if (!entry)
			continue;
		map->start = vma->vm_start;
		map->end = vma->vm_end;
		map->img = &entry->img;
		if (!hsu_image_bias(&entry->img, map->start,
				    (u64)vma->vm_pgoff << PAGE_SHIFT,
				    &map->bias))
			continue;
		if (nr && map[-1].end == map->start &&
		    map[-1].img == map->img && map[-1].bias == map->bias)
			map[-1].end = map->end;
		else if (++nr == HSU_MAX_MAPS)
			break;
	}
	mmap_read_unlock(mm);
	return nr;
}

int hsu_table_program(const struct hsu_subject *whose, u32 nr,
		      struct hsu_entry **program)
{
	unsigned long code = READ_ONCE(whose->mm->start_code);
	struct hsu_entry *entry;
	bool mapped = false;
	u32 i;

	rcu_read_lock();
	*program = hsu_images_program(whose);
	rcu_read_unlock();
	if (*program)
		return 0;

	for (i = 0; i < nr; i++) {
		const struct hsu_map *map = &hsu_scanned[i];

		entry = hsu_entry_of(map->img);
		if (!(entry->flags & HSUNWIND_ADD_PROGRAM))
			continue;
		mapped = true;
		if (code >= map->start && code < map->end) {
			*program = entry;
			return 0;
		}
	}
	return mapped && !code ? -EAGAIN : -ENOENT;
}

bool hsu_table_matches(const struct hsu_table *table, u32 nr, bool own)
{
	u32 i;

	if (!table || table->nr_maps != nr ||
	    memcmp(table->maps, hsu_scanned, nr * sizeof(*hsu_scanned)))
		return false;
	for (i = 0; i < nr; i++)
		own |= !!hsu_entry_of(hsu_scanned[i].img)->cred;
	return own == !!table->cred;
}

/* Copies the mappings that leave room for @map, and @map in its place. */
static u32 hsu_table_with(const struct hsu_table *table,
			  const struct hsu_map *map)
{
	bool done = false;
	u32 nr = 0;
	u32 i;

	for (i = 0; i < table->nr_maps; i++) {
		const struct hsu_map *old = &table->maps[i];

		if (old->start < map->end && old->end > map->start)
			continue;
		if (!done && old->start > map->start) {
			hsu_scanned[nr++] = *map;
			done = true;
		}
		hsu_scanned[nr++] = *old;
	}
	if (!done)
		hsu_scanned[nr++] = *map;
	return nr;
}

int hsu_table_add_vma(const struct hsu_table *table,
		      const struct vm_area_struct *vma,
		      const struct hsu_subject *whose)
{
	struct hsu_entry *entry;
	struct hsu_map map = {
		.start = vma->vm_start,
		.end = vma->vm_end,
	};

	if (table->nr_maps == HSU_MAX_MAPS)
		return -EAGAIN;
	entry = hsu_entry_of_vma(vma, 0, whose);
	if (!entry || !hsu_image_bias(&entry->img, map.start,
				      (u64)vma->vm_pgoff << PAGE_SHIFT,
				      &map.bias))
		return 0;
	map.img = &entry->img;
	return hsu_table_with(table, &map);
}

u32 hsu_table_without_gone(const struct hsu_table *table)
{
	u32 nr = 0;
	u32 i;

	for (i = 0; i < table->nr_maps; i++)
		if (!hsu_entry_of(table->maps[i].img)->gone)
			hsu_scanned[nr++] = table->maps[i];
	return nr;
}
