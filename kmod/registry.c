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
#include "users.h"

/* For how long to try if the mappings of a process are locked: 5 s. */
#define LOCK_TRIES	1000
#define LOCK_PAUSE_MS	5

/* Unregisters what belongs to an account; NULL: everything. */
static void hsu_remove_images(const struct hsu_account *account)
{
	hsu_images_mark_gone(account);
	hsu_processes_drop_gone(NULL);
	hsu_images_remove_gone();
}

/* Libraries alone are of no use to anybody. */
static void hsu_drop_orphans(struct hsu_account *account)
{
	account->orphans_wait = false;
	if (account->nr_images && !account->nr_programs &&
	    !account->nr_explicit)
		hsu_remove_images(account);
}

struct hsu_account *hsu_registry_open(void)
{
	struct hsu_account *account;

	mutex_lock(&hsu_registry_lock);
	if (hsu_privileged())
		account = hsu_account_hold(&hsu_everyone);
	else
		account = hsu_account_get(current_cred(), GFP_KERNEL_ACCOUNT);
	if (account)
		account->nr_open++;
	mutex_unlock(&hsu_registry_lock);
	return account;
}

void hsu_registry_release(struct hsu_account *account)
{
	mutex_lock(&hsu_registry_lock);
	account->nr_open--;
	if (!account->nr_open && account->orphans_wait)
		hsu_drop_orphans(account);
	hsu_account_put(account);
	mutex_unlock(&hsu_registry_lock);
}

static int hsu_image_insert(struct hsu_entry *entry,
			    const struct hsu_entry *old)
{
	struct hsu_account *account = &hsu_everyone;
	int err;

	if (!entry->cred)
		return hsu_images_insert(entry, old, account);
	account = hsu_account_get(entry->cred, GFP_KERNEL_ACCOUNT);
	if (!account)
		return -ENOMEM;
	err = hsu_images_insert(entry, old, account);
	hsu_account_put(account);
	return err;
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
	err = hsu_image_insert(entry, old);
	if (err) {
		mutex_unlock(&hsu_registry_lock);
		entry->data = NULL;	/* stays with the caller */
		hsu_entry_put(entry);
		return err;
	}
	*id = entry->id;
	if (old) {
		old->gone = true;
		hsu_processes_drop_gone(is_program ? entry : NULL);
		hsu_images_remove_gone();
	}
	hsu_processes_mark_stale();
	mutex_unlock(&hsu_registry_lock);

	/* Processes that run already may map the file. */
	hsu_request_stale();
	return 0;
}

/* What the caller may see and remove: hsu_images_next() and the like take it. */
static const struct cred *hsu_caller(void)
{
	return hsu_privileged() ? NULL : current_cred();
}

int hsu_registry_image_next(struct hsunwind_image_info *info, char **path)
{
	const struct hsu_entry *entry;
	int err = 0;

	mutex_lock(&hsu_registry_lock);
	entry = hsu_images_next(info->id, hsu_caller());
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
	info->uid = entry->cred ? from_kuid_munged(current_user_ns(),
						   entry->cred->uid) : 0;
out:
	mutex_unlock(&hsu_registry_lock);
	return err;
}

int hsu_registry_image_remove(u64 id)
{
	struct hsu_account *account;
	struct hsu_entry *entry;
	bool was_program;
	int err = -ENOENT;

	mutex_lock(&hsu_registry_lock);
	entry = hsu_images_next(id, hsu_caller());
	if (entry && entry->id == id) {
		was_program = entry->flags & HSUNWIND_ADD_PROGRAM;
		account = hsu_account_hold(entry->account);
		entry->gone = true;
		hsu_processes_drop_gone(NULL);
		hsu_images_remove_gone();
		if (was_program)
			hsu_drop_orphans(account);
		hsu_account_put(account);
		err = 0;
	}
	mutex_unlock(&hsu_registry_lock);
	/* For the tables that could not be made for want of memory. */
	hsu_request_stale();
	return err;
}

static int hsu_remove_own(const struct cred *cred)
{
	struct hsu_account *account;

	account = hsu_account_get(cred, GFP_KERNEL_ACCOUNT);
	if (!account)
		return -ENOMEM;
	hsu_processes_drop_own(account);
	hsu_remove_images(account);
	hsu_account_put(account);
	return 0;
}

int hsu_registry_remove_all(void)
{
	const struct cred *cred = hsu_caller();
	int err = 0;

	mutex_lock(&hsu_registry_lock);
	if (cred) {
		err = hsu_remove_own(cred);
	} else {
		hsu_processes_drop_all();
		hsu_remove_images(NULL);
	}
	mutex_unlock(&hsu_registry_lock);
	return err;
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

/* May the caller do something with a process? Also what it is then. */
static int hsu_process_permitted(struct mm_struct *mm, struct pid *pid,
				 u32 *why)
{
	struct hsu_subject whom = { .mm = mm };
	int err = 0;

	*why = HSU_WHY_EXPLICIT;
	if (hsu_privileged())
		return 0;
	*why |= HSU_WHY_OWN;
	whom.cred = hsu_cred_get(pid, mm);
	if (!whom.cred)
		return -ESRCH;
	if (!hsu_may_trace(current_cred(), &whom))
		err = -EPERM;
	put_cred(whom.cred);
	return err;
}

int hsu_registry_process_add(pid_t nr, u32 *nr_maps)
{
	const struct hsu_process *proc;
	struct mm_struct *mm;
	unsigned int tries;
	struct pid *pid;
	u32 why;
	int err;

	mm = hsu_mm_of(nr, &pid);
	if (!mm)
		return -ESRCH;

	err = hsu_process_permitted(mm, pid, &why);
	for (tries = 0; !err; tries++) {
		mutex_lock(&hsu_registry_lock);
		err = hsu_processes_refresh(mm, pid, why, GFP_KERNEL);
		proc = err ? NULL : hsu_processes_find(mm);
		if (proc)
			*nr_maps = hsu_process_nr_maps(proc);
		mutex_unlock(&hsu_registry_lock);
		if (err != -EAGAIN)
			break;
		if (tries == LOCK_TRIES)
			err = -EBUSY;
		else if (msleep_interruptible(LOCK_PAUSE_MS))
			err = -EINTR;
		else
			err = 0;
	}
	put_pid(pid);
	mmput(mm);
	return err;
}

int hsu_registry_process_remove(pid_t nr)
{
	struct hsu_process *proc;
	struct mm_struct *mm;
	struct hsu_account *account;
	struct pid *pid;
	u32 why;
	int err;

	mm = hsu_mm_of(nr, &pid);
	if (!mm)
		return -ESRCH;

	err = hsu_process_permitted(mm, pid, &why);
	if (err)
		goto out;
	mutex_lock(&hsu_registry_lock);
	proc = hsu_processes_find(mm);
	if (proc && !(proc->flags & HSU_PROC_IGNORED)) {
		account = hsu_account_hold(hsu_process_sponsor(proc));
		hsu_processes_ignore(proc);
		hsu_drop_orphans(account);
		hsu_account_put(account);
	} else {
		err = -ENOENT;
	}
	mutex_unlock(&hsu_registry_lock);
out:
	put_pid(pid);
	mmput(mm);
	return err;
}

int hsu_registry_process_next(struct hsunwind_process *info)
{
	const struct hsu_process *proc;
	pid_t nr;

	mutex_lock(&hsu_registry_lock);
	proc = hsu_processes_next(info->pid, &nr, hsu_caller());
	if (proc) {
		info->pid = nr;
		info->nr_maps = hsu_process_nr_maps(proc);
	}
	mutex_unlock(&hsu_registry_lock);
	return proc ? 0 : -ENOENT;
}

void hsu_registry_reap(void)
{
	struct hsu_account *account;

	mutex_lock(&hsu_registry_lock);
	hsu_processes_reap();
	while ((account = hsu_account_orphaned())) {
		hsu_account_hold(account);
		hsu_drop_orphans(account);
		hsu_account_put(account);
	}
	mutex_unlock(&hsu_registry_lock);
}

void hsu_registry_exit(void)
{
	mutex_lock(&hsu_registry_lock);
	hsu_processes_drop_all();
	hsu_remove_images(NULL);
	mutex_unlock(&hsu_registry_lock);
	/* Images are freed by a callback in this module. */
	rcu_barrier();
}
