// SPDX-License-Identifier: GPL-2.0-only
/*
 * Images and processes together: what a change of the one means for the other.
 */
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/kdev_t.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "images.h"
#include "processes.h"
#include "registry.h"
#include "requests.h"

/* For how long to try if the mappings of a process are locked: 5 s. */
#define LOCK_TRIES	1000
#define LOCK_PAUSE_MS	5

/* How many have the device open, and what waits for the last one to close it. */
static unsigned int hsu_nr_open;
static bool hsu_orphans_wait;

static void hsu_remove_all_locked(void)
{
	struct hsu_entry *entry;

	hsu_processes_drop_all();
	while ((entry = hsu_images_next(0)))
		hsu_images_remove(entry);
}

/* Libraries alone are of no use to anybody. */
static void hsu_drop_orphans(void)
{
	hsu_orphans_wait = false;
	if (!hsu_nr_programs && !hsu_nr_explicit)
		hsu_remove_all_locked();
}

void hsu_registry_open(void)
{
	mutex_lock(&hsu_registry_lock);
	hsu_nr_open++;
	mutex_unlock(&hsu_registry_lock);
}

void hsu_registry_release(void)
{
	mutex_lock(&hsu_registry_lock);
	hsu_nr_open--;
	if (!hsu_nr_open && hsu_orphans_wait)
		hsu_drop_orphans();
	mutex_unlock(&hsu_registry_lock);
}

int hsu_registry_image_add(struct file *file, u32 flags, void *data,
			   size_t bytes, u64 *id)
{
	struct hsu_entry *entry, *old;
	bool is_program = flags & HSUNWIND_ADD_PROGRAM;
	int err;

	entry = hsu_entry_create(file, flags, data, bytes);
	if (IS_ERR(entry))
		return PTR_ERR(entry);

	mutex_lock(&hsu_registry_lock);
	old = hsu_images_same(entry);
	err = hsu_images_insert(entry, old);
	if (err) {
		mutex_unlock(&hsu_registry_lock);
		entry->data = NULL;	/* stays with the caller */
		hsu_entry_put(entry);
		return err;
	}
	*id = entry->id;
	if (old) {
		hsu_processes_drop_image(old, is_program ? entry : NULL);
		hsu_images_remove(old);
	}
	hsu_processes_mark_stale();
	mutex_unlock(&hsu_registry_lock);

	/* Processes that run already may map the file. */
	hsu_request_stale();
	return 0;
}

int hsu_registry_image_next(struct hsunwind_image_info *info, char **path)
{
	const struct hsu_entry *entry;
	int err = 0;

	mutex_lock(&hsu_registry_lock);
	entry = hsu_images_next(info->id);
	if (!entry) {
		err = -ENOENT;
		goto out;
	}
	*path = kstrdup(entry->path, GFP_KERNEL);
	if (!*path) {
		err = -ENOMEM;
		goto out;
	}
	info->flags = entry->flags;
	info->id = entry->id;
	info->nr_rows = entry->img.hdr->nr_rows;
	info->bytes = entry->bytes;
	info->dev = new_encode_dev(entry->dev);
	info->ino = entry->ino;
	info->nr_procs = entry->nr_procs;
out:
	mutex_unlock(&hsu_registry_lock);
	return err;
}

int hsu_registry_image_remove(u64 id)
{
	struct hsu_entry *entry;
	bool was_program;
	int err = -ENOENT;

	mutex_lock(&hsu_registry_lock);
	entry = hsu_images_next(id);
	if (entry && entry->id == id) {
		was_program = entry->flags & HSUNWIND_ADD_PROGRAM;
		hsu_processes_drop_image(entry, NULL);
		hsu_images_remove(entry);
		if (was_program)
			hsu_drop_orphans();
		err = 0;
	}
	mutex_unlock(&hsu_registry_lock);
	/* For the tables that could not be made for want of memory. */
	hsu_request_stale();
	return err;
}

void hsu_registry_remove_all(void)
{
	mutex_lock(&hsu_registry_lock);
	hsu_remove_all_locked();
	mutex_unlock(&hsu_registry_lock);
}

/* Returns the mm with mm_users held, and its thread group in *pid. */
static struct mm_struct *hsu_mm_of(pid_t nr, struct pid **pid)
{
	struct task_struct *task;
	struct mm_struct *mm;
	struct pid *of_task;

	of_task = find_get_pid(nr);
	task = get_pid_task(of_task, PIDTYPE_PID);
	put_pid(of_task);
	if (!task)
		return NULL;
	mm = get_task_mm(task);
	if (mm)
		*pid = get_task_pid(task, PIDTYPE_TGID);
	put_task_struct(task);
	return mm;
}

int hsu_registry_process_add(pid_t nr, u32 *nr_maps)
{
	const struct hsu_process *proc;
	struct mm_struct *mm;
	unsigned int tries;
	struct pid *pid;
	int err;

	mm = hsu_mm_of(nr, &pid);
	if (!mm)
		return -ESRCH;

	for (tries = 0; ; tries++) {
		mutex_lock(&hsu_registry_lock);
		err = hsu_processes_refresh(mm, pid, HSU_WHY_EXPLICIT,
					    GFP_KERNEL);
		proc = err ? NULL : hsu_processes_find(mm);
		if (proc)
			*nr_maps = hsu_process_nr_maps(proc);
		mutex_unlock(&hsu_registry_lock);
		if (err != -EAGAIN)
			break;
		if (tries == LOCK_TRIES) {
			err = -EBUSY;
			break;
		}
		if (msleep_interruptible(LOCK_PAUSE_MS)) {
			err = -EINTR;
			break;
		}
	}
	put_pid(pid);
	mmput(mm);
	return err;
}

int hsu_registry_process_remove(pid_t nr)
{
	struct hsu_process *proc;
	struct mm_struct *mm;
	struct pid *pid;
	int err = -ENOENT;

	mm = hsu_mm_of(nr, &pid);
	if (!mm)
		return -ESRCH;

	mutex_lock(&hsu_registry_lock);
	proc = hsu_processes_find(mm);
	if (proc && !(proc->flags & HSU_PROC_IGNORED)) {
		hsu_processes_ignore(proc);
		hsu_drop_orphans();
		err = 0;
	}
	mutex_unlock(&hsu_registry_lock);
	put_pid(pid);
	mmput(mm);
	return err;
}

int hsu_registry_process_next(struct hsunwind_process *info)
{
	const struct hsu_process *proc;
	pid_t nr;

	mutex_lock(&hsu_registry_lock);
	proc = hsu_processes_next(info->pid, &nr);
	if (proc) {
		info->pid = nr;
		info->nr_maps = hsu_process_nr_maps(proc);
	}
	mutex_unlock(&hsu_registry_lock);
	return proc ? 0 : -ENOENT;
}

void hsu_registry_reap(void)
{
	unsigned int explicit;

	mutex_lock(&hsu_registry_lock);
	explicit = hsu_nr_explicit;
	hsu_processes_reap();
	if (explicit && !hsu_nr_explicit)
		hsu_orphans_wait = true;
	if (!hsu_nr_open && hsu_orphans_wait)
		hsu_drop_orphans();
	mutex_unlock(&hsu_registry_lock);
}

void hsu_registry_exit(void)
{
	hsu_registry_remove_all();
	/* Images are freed by a callback in this module. */
	rcu_barrier();
}
