// SPDX-License-Identifier: GPL-2.0-only
/*
 * The known processes and their tables of mappings.
 *
 * A process is its mm. The mm is pinned by mm_count, which keeps the structure
 * but not the memory of the process, so its address cannot be reused for
 * another program while the entry exists. exec gets a new mm and starts over.
 * Entries of ended processes (mm_users is 0) are found by hsu_processes_reap().
 *
 * Everything here may take time in proportion to the mappings of a process, so
 * it is never done for a sample. The mmap lock of a process is only tried: its
 * owner could hold it for as long as he likes, and must not stop us from
 * serving the others.
 *
 * A mapping that goes away (dlclose) stays in the table until the next scan.
 * Another executable file in its place leads to one; anonymous memory in its
 * place does not, and a walk through it may then take a wrong turn, which costs
 * frames of that process and nothing else.
 */
#include <linux/hashtable.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "compat.h"
#include "params.h"
#include "processes.h"
#include "stats.h"

#define HASH_BITS_PROCESSES	12
#define MISS_INTERVAL		(HZ / 10)
#define MISS_INTERVAL_MAX	(64 * HZ)
#define SCAN_PAUSE		20	/* times the duration of the last scan */

unsigned int hsu_nr_processes;
unsigned int hsu_nr_explicit;

static DEFINE_HASHTABLE(hsu_mms, HASH_BITS_PROCESSES);
static LIST_HEAD(hsu_processes);

/* What the last scan found; hsu_registry_lock guards it. */
static struct hsu_map hsu_scanned[HSU_MAX_MAPS];

static struct hsu_table *hsu_table_of(const struct hsu_process *proc)
{
	return rcu_dereference_protected(proc->table,
					 lockdep_is_held(&hsu_registry_lock));
}

static struct hsu_table *hsu_table_create(const struct hsu_map *maps, u32 nr,
					  gfp_t gfp)
{
	struct hsu_table *table;
	u32 i;

	/* kvmalloc() may sleep whatever it is told. */
	table = gfpflags_allow_blocking(gfp) ?
		kvmalloc(struct_size(table, maps, nr), gfp) :
		kmalloc(struct_size(table, maps, nr), gfp);
	if (!table)
		return NULL;
	table->show = 0;
	table->nr_maps = nr;
	for (i = 0; i < nr; i++) {
		struct hsu_entry *entry = hsu_entry_of(maps[i].img);

		table->maps[i] = maps[i];
		table->show |= entry->flags & HSUNWIND_SHOW_MASK;
		hsu_entry_get(entry);
	}
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
 * are images of which it had the last reference.
 */
static void hsu_table_publish(struct hsu_process *proc, struct hsu_table *table)
{
	struct hsu_table *old = hsu_table_of(proc);
	u32 i;

	if (table)
		hsu_table_account(table, 1);
	rcu_assign_pointer(proc->table, table);
	if (!old)
		return;
	hsu_table_account(old, -1);
	for (i = 0; i < old->nr_maps; i++)
		hsu_entry_put(hsu_entry_of(old->maps[i].img));
	kvfree_rcu(old, rcu);
}

static void hsu_process_set_explicit(struct hsu_process *proc, bool on)
{
	bool was = proc->flags & HSU_PROC_EXPLICIT;

	if (was == on)
		return;
	WRITE_ONCE(proc->flags, proc->flags ^ HSU_PROC_EXPLICIT);
	hsu_nr_explicit += on ? 1 : -1;
}

static struct hsu_process *hsu_process_create(struct mm_struct *mm,
					      struct pid *pid, gfp_t gfp)
{
	struct hsu_process *proc;

	proc = kzalloc(sizeof(*proc), gfp);
	if (!proc)
		return NULL;
	mmgrab(mm);
	proc->mm = mm;
	proc->pid = get_pid(pid);
	proc->interval = MISS_INTERVAL;
	proc->next_scan = jiffies;
	proc->next_miss = jiffies;
	return proc;
}

static void hsu_process_insert(struct hsu_process *proc)
{
	hash_add_rcu(hsu_mms, &proc->node, (unsigned long)proc->mm);
	list_add_tail(&proc->list, &hsu_processes);
	WRITE_ONCE(hsu_nr_processes, hsu_nr_processes + 1);
}

/* Samples compare the address of the mm only, so it can go at once. */
static void hsu_process_delete(struct hsu_process *proc)
{
	hsu_process_set_explicit(proc, false);
	hash_del_rcu(&proc->node);
	list_del(&proc->list);
	WRITE_ONCE(hsu_nr_processes, hsu_nr_processes - 1);
	hsu_table_publish(proc, NULL);
	put_pid(proc->pid);
	mmdrop(proc->mm);
	kfree_rcu(proc, rcu);
}

struct hsu_process *hsu_processes_find(const struct mm_struct *mm)
{
	struct hsu_process *proc;

	hash_for_each_possible_rcu(hsu_mms, proc, node, (unsigned long)mm,
				   lockdep_is_held(&hsu_registry_lock))
		if (proc->mm == mm)
			return proc;
	return NULL;
}

struct hsu_entry *hsu_program_of(const struct mm_struct *mm)
{
	const struct file *exe = rcu_dereference(mm->exe_file);
	struct hsu_entry *entry = exe ? hsu_images_find(file_inode(exe)) : NULL;

	return entry && (entry->flags & HSUNWIND_ADD_PROGRAM) ? entry : NULL;
}

static struct hsu_entry *hsu_entry_of_vma(const struct vm_area_struct *vma,
					  unsigned long vdso)
{
	const struct file *file = vma->vm_file;
	const struct inode *inode;
	struct hsu_entry *entry;

	if (!file)
		return vma->vm_start == vdso ? hsu_images_vdso() : NULL;

	rcu_read_lock();
	entry = hsu_images_find(file_inode(file));
	/* Copied up on an overlayfs since: then only the overlay's own inode. */
	inode = d_inode(file->f_path.dentry);
	if (!entry && inode && inode != file_inode(file))
		entry = hsu_images_find(inode);
	rcu_read_unlock();
	/* hsu_registry_lock keeps it. */
	return entry;
}

/* Fills hsu_scanned[] and returns the number of mappings, or -EAGAIN. */
static int hsu_scan(struct mm_struct *mm, gfp_t gfp)
{
	HSU_VMA_ITERATOR(vmi, mm);
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
		entry = hsu_entry_of_vma(vma, vdso);
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

/*
 * The program that makes a process one of ours, looked for among its mappings,
 * too: it may have been executed through an overlay that was not there when the
 * file beneath was registered. -EAGAIN: exec has not got that far.
 */
static int hsu_scanned_program(const struct mm_struct *mm, u32 nr, u64 *id)
{
	unsigned long code = READ_ONCE(mm->start_code);
	const struct hsu_entry *entry;
	bool mapped = false;
	u32 i;

	rcu_read_lock();
	entry = hsu_program_of(mm);
	*id = entry ? entry->id : 0;
	rcu_read_unlock();
	if (*id)
		return 0;

	for (i = 0; i < nr; i++) {
		const struct hsu_map *map = &hsu_scanned[i];

		entry = hsu_entry_of(map->img);
		if (!(entry->flags & HSUNWIND_ADD_PROGRAM))
			continue;
		mapped = true;
		if (code >= map->start && code < map->end) {
			*id = entry->id;
			return 0;
		}
	}
	return mapped && !code ? -EAGAIN : -ENOENT;
}

static bool hsu_table_equals_scan(const struct hsu_table *table, u32 nr)
{
	return table && table->nr_maps == nr &&
	       !memcmp(table->maps, hsu_scanned, nr * sizeof(*hsu_scanned));
}

static int hsu_process_update(struct hsu_process *proc, u32 nr, u32 why,
			      ktime_t start, gfp_t gfp)
{
	unsigned long interval = MISS_INTERVAL;
	struct hsu_table *table;

	if (!hsu_table_equals_scan(hsu_table_of(proc), nr)) {
		table = hsu_table_create(hsu_scanned, nr, gfp);
		if (!table)
			return -ENOMEM;
		hsu_table_publish(proc, table);
		hsu_count(HSUNWIND_COUNT_TABLES, 1);
	} else if (why & HSU_WHY_MISS) {
		/* The unknown address is nothing that will become known. */
		interval = min_t(unsigned long, 2 * proc->interval,
				 MISS_INTERVAL_MAX);
	}
	WRITE_ONCE(proc->interval, interval);
	WRITE_ONCE(proc->next_miss, jiffies + interval);
	proc->stale = false;
	proc->next_scan = jiffies + 1 +
		nsecs_to_jiffies(SCAN_PAUSE *
				 ktime_to_ns(ktime_sub(ktime_get(), start)));
	return 0;
}

static int hsu_processes_add(struct mm_struct *mm, struct pid *pid, u32 nr,
			     u32 why, u64 program, ktime_t start, gfp_t gfp)
{
	struct hsu_process *proc;
	int err;

	if (hsu_nr_processes >= hsu_params.max_processes)
		return -ENOSPC;
	proc = hsu_process_create(mm, pid, gfp);
	if (!proc)
		return -ENOMEM;
	proc->program = program;
	hsu_process_set_explicit(proc, why & HSU_WHY_EXPLICIT);
	hsu_process_insert(proc);
	err = hsu_process_update(proc, nr, why, start, gfp);
	if (err)
		hsu_process_delete(proc);
	return err;
}

int hsu_processes_refresh(struct mm_struct *mm, struct pid *pid, u32 why,
			  gfp_t gfp)
{
	bool explicit = why & HSU_WHY_EXPLICIT;
	struct hsu_process *proc;
	u64 program;
	ktime_t start;
	int nr, err;

	lockdep_assert_held(&hsu_registry_lock);

	proc = hsu_processes_find(mm);
	if (proc && !explicit) {
		if (proc->flags & HSU_PROC_IGNORED)
			return 0;
		if (time_before(jiffies, proc->next_scan))
			return -EAGAIN;
	}
	if (!mmget_not_zero(mm))
		return -ESRCH;

	start = ktime_get();
	nr = hsu_scan(mm, gfp);
	if (nr < 0) {
		err = nr;
		goto out;
	}
	err = hsu_scanned_program(mm, nr, &program);
	if (!proc) {
		if (explicit)
			err = nr ? 0 : -ENOENT;
		if (!err)
			err = hsu_processes_add(mm, pid, nr, why, program,
						start, gfp);
		goto out;
	}

	if (explicit && !nr) {
		err = -ENOENT;
		goto out;
	}
	if (explicit) {
		WRITE_ONCE(proc->flags, proc->flags & ~HSU_PROC_IGNORED);
		hsu_process_set_explicit(proc, true);
	}
	if (program)
		proc->program = program;
	err = hsu_process_update(proc, nr, why, start, gfp);
out:
	/* It may be the last reference, and the rest is not for us to do. */
	mmput_async(mm);
	return err;
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

int hsu_processes_map(const struct vm_area_struct *vma)
{
	struct hsu_process *proc = hsu_processes_find(vma->vm_mm);
	struct hsu_table *table = proc ? hsu_table_of(proc) : NULL;
	struct hsu_entry *entry;
	struct hsu_map map = {
		.start = vma->vm_start,
		.end = vma->vm_end,
	};

	lockdep_assert_held(&hsu_registry_lock);

	if (!table || table->nr_maps == HSU_MAX_MAPS)
		return -EAGAIN;
	entry = hsu_entry_of_vma(vma, 0);
	if (!entry || !hsu_image_bias(&entry->img, map.start,
				      (u64)vma->vm_pgoff << PAGE_SHIFT,
				      &map.bias))
		return 0;
	map.img = &entry->img;
	table = hsu_table_create(hsu_scanned, hsu_table_with(table, &map),
				 GFP_NOWAIT | __GFP_NOWARN);
	if (!table)
		return -ENOMEM;
	hsu_table_publish(proc, table);
	hsu_count(HSUNWIND_COUNT_TABLES, 1);
	return 0;
}

int hsu_processes_refresh_stale(void)
{
	struct hsu_process *proc;
	int ret = 0;

	lockdep_assert_held(&hsu_registry_lock);

	list_for_each_entry(proc, &hsu_processes, list) {
		if (!proc->stale)
			continue;
		proc->stale = false;
		switch (hsu_processes_refresh(proc->mm, proc->pid, 0,
					      GFP_KERNEL)) {
		case -EAGAIN:
		case -ENOMEM:
			proc->stale = true;
			ret = -EAGAIN;
		}
	}
	return ret;
}

void hsu_processes_mark_stale(void)
{
	struct hsu_process *proc;

	lockdep_assert_held(&hsu_registry_lock);
	list_for_each_entry(proc, &hsu_processes, list)
		proc->stale = true;
}

void hsu_processes_ignore(struct hsu_process *proc)
{
	lockdep_assert_held(&hsu_registry_lock);

	if (!proc->program) {
		hsu_process_delete(proc);
		return;
	}
	hsu_process_set_explicit(proc, false);
	WRITE_ONCE(proc->flags, proc->flags | HSU_PROC_IGNORED);
	hsu_table_publish(proc, NULL);
}

/* Publishes the table without the image; without memory for it, none. */
static void hsu_process_drop_image(struct hsu_process *proc,
				   const struct hsu_entry *entry)
{
	struct hsu_table *table = hsu_table_of(proc);
	u32 nr = 0;
	u32 i;

	for (i = 0; table && i < table->nr_maps; i++)
		if (table->maps[i].img != &entry->img)
			hsu_scanned[nr++] = table->maps[i];
	if (!table || nr == table->nr_maps)
		return;
	table = hsu_table_create(hsu_scanned, nr, GFP_KERNEL);
	hsu_table_publish(proc, table);
	if (!table)
		proc->stale = true;
}

void hsu_processes_drop_image(struct hsu_entry *entry,
			      const struct hsu_entry *by)
{
	struct hsu_process *proc, *tmp;

	lockdep_assert_held(&hsu_registry_lock);

	list_for_each_entry_safe(proc, tmp, &hsu_processes, list) {
		if (proc->program == entry->id) {
			proc->program = by ? by->id : 0;
			if (!by && !(proc->flags & HSU_PROC_EXPLICIT)) {
				hsu_process_delete(proc);
				continue;
			}
		}
		hsu_process_drop_image(proc, entry);
	}
}

void hsu_processes_reap(void)
{
	struct hsu_process *proc, *tmp;

	lockdep_assert_held(&hsu_registry_lock);
	list_for_each_entry_safe(proc, tmp, &hsu_processes, list)
		if (!atomic_read(&proc->mm->mm_users))
			hsu_process_delete(proc);
}

void hsu_processes_drop_all(void)
{
	struct hsu_process *proc, *tmp;

	lockdep_assert_held(&hsu_registry_lock);
	list_for_each_entry_safe(proc, tmp, &hsu_processes, list)
		hsu_process_delete(proc);
}

struct hsu_process *hsu_processes_next(pid_t nr, pid_t *found)
{
	struct hsu_process *proc, *next = NULL;

	lockdep_assert_held(&hsu_registry_lock);
	list_for_each_entry(proc, &hsu_processes, list) {
		pid_t pid = pid_vnr(proc->pid);

		if (!pid || pid < nr || (proc->flags & HSU_PROC_IGNORED))
			continue;
		if (!atomic_read(&proc->mm->mm_users))
			continue;
		if (!next || pid < *found) {
			next = proc;
			*found = pid;
		}
	}
	return next;
}

u32 hsu_process_nr_maps(const struct hsu_process *proc)
{
	const struct hsu_table *table = hsu_table_of(proc);

	return table ? table->nr_maps : 0;
}
