// SPDX-License-Identifier: GPL-2.0-only
/*
 * The known processes.
 *
 * A process is its mm. The mm is pinned by mm_count, which keeps the structure
 * but not the memory of the process, so its address cannot be reused for
 * another program while the entry exists. exec gets a new mm and starts over.
 * Entries of ended processes (mm_users is 0) are found by hsu_processes_reap().
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

static DEFINE_HASHTABLE(hsu_mms, HASH_BITS_PROCESSES);
static LIST_HEAD(hsu_processes);

static struct hsu_table *hsu_table_of(const struct hsu_process *proc)
{
	return rcu_dereference_protected(proc->table,
					 lockdep_is_held(&hsu_registry_lock));
}

/* @how: 0, or HSU_PROC_EXPLICIT with or without HSU_PROC_OWN. */
static void hsu_process_set_explicit(struct hsu_process *proc, u32 how)
{
	const u32 mask = HSU_PROC_EXPLICIT | HSU_PROC_OWN;
	struct hsu_account *sponsor = hsu_process_sponsor(proc);

	if (proc->flags & HSU_PROC_EXPLICIT && !--sponsor->nr_explicit)
		sponsor->orphans_wait = true;
	WRITE_ONCE(proc->flags, (proc->flags & ~mask) | how);
	if (proc->flags & HSU_PROC_EXPLICIT)
		hsu_process_sponsor(proc)->nr_explicit++;
}

static int hsu_process_create(struct hsu_process **res,
			      const struct hsu_subject *who, struct pid *pid,
			      gfp_t gfp)
{
	struct hsu_process *proc;

	if (hsu_nr_processes >= READ_ONCE(hsu_params.max_processes))
		return -ENOSPC;
	proc = kzalloc(sizeof(*proc), gfp);
	if (!proc)
		return -ENOMEM;
	proc->account = hsu_account_get(who->cred, gfp);
	if (!proc->account) {
		kfree(proc);
		return -ENOMEM;
	}
	mmgrab(who->mm);
	proc->mm = who->mm;
	proc->pid = get_pid(pid);
	proc->interval = MISS_INTERVAL;
	proc->next_scan = jiffies;
	proc->next_miss = jiffies;
	hash_add_rcu(hsu_mms, &proc->node, (unsigned long)proc->mm);
	list_add_tail(&proc->list, &hsu_processes);
	proc->account->nr_processes++;
	WRITE_ONCE(hsu_nr_processes, hsu_nr_processes + 1);
	*res = proc;
	return 0;
}

/* Samples compare the address of the mm only, so it can go at once. */
static void hsu_process_delete(struct hsu_process *proc)
{
	hsu_process_set_explicit(proc, 0);
	hash_del_rcu(&proc->node);
	list_del(&proc->list);
	WRITE_ONCE(hsu_nr_processes, hsu_nr_processes - 1);
	hsu_table_publish(&proc->table, NULL);
	proc->account->nr_processes--;
	hsu_account_put(proc->account);
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

/*
 * Is what made it known still good for it? Not if somebody has registered it for
 * himself and it has become someone else, as by unshare().
 */
static bool hsu_process_is_covered(const struct hsu_process *proc,
				   const struct hsu_subject *who)
{
	const struct hsu_table *table = hsu_table_of(proc);

	return !table || !table->cred || hsu_may_trace(table->cred, who);
}

static u32 hsu_explicit_of(u32 why)
{
	if (!(why & HSU_WHY_EXPLICIT))
		return 0;
	return HSU_PROC_EXPLICIT | (why & HSU_WHY_OWN ? HSU_PROC_OWN : 0);
}

static int hsu_process_update(struct hsu_process *proc,
			      const struct hsu_subject *who, u32 nr, u32 why,
			      ktime_t start, gfp_t gfp)
{
	const bool own = proc->flags & HSU_PROC_OWN;
	unsigned long interval = MISS_INTERVAL;
	struct hsu_table *table;

	if (!hsu_table_matches(hsu_table_of(proc), nr, own)) {
		table = hsu_table_create(nr, who->cred, own, gfp);
		if (!table)
			return -ENOMEM;
		hsu_table_publish(&proc->table, table);
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

static int hsu_processes_add(const struct hsu_subject *who, struct pid *pid,
			     u32 nr, u32 why, struct hsu_entry *program,
			     ktime_t start, gfp_t gfp)
{
	struct hsu_process *proc;
	int err;

	err = hsu_process_create(&proc, who, pid, gfp);
	if (err)
		return err;
	proc->program = program;
	hsu_process_set_explicit(proc, hsu_explicit_of(why));
	err = hsu_process_update(proc, who, nr, why, start, gfp);
	if (err)
		hsu_process_delete(proc);
	return err;
}

/* Root's word holds more than that of the process's user. */
static void hsu_process_added_again(struct hsu_process *proc, u32 why)
{
	WRITE_ONCE(proc->flags, proc->flags & ~HSU_PROC_IGNORED);
	if (!(why & HSU_WHY_OWN) || !(proc->flags & HSU_PROC_EXPLICIT))
		hsu_process_set_explicit(proc, hsu_explicit_of(why));
}

static int hsu_processes_look(struct hsu_process *proc,
			      const struct hsu_subject *who, struct pid *pid,
			      u32 why, gfp_t gfp)
{
	bool explicit = why & HSU_WHY_EXPLICIT;
	ktime_t start = ktime_get();
	struct hsu_entry *program;
	int nr, err;

	if (why & HSU_WHY_OWN && !hsu_may_trace(who->cred, who))
		return -EPERM;
	/* Before anything that takes time. */
	if (!proc && hsu_account_full(who->cred))
		return -EDQUOT;
	nr = hsu_table_scan(who, gfp);
	if (nr < 0)
		return nr;
	err = hsu_table_program(who, nr, &program);
	if (explicit)
		err = nr ? 0 : -ENOENT;
	if (!proc)
		return err ?: hsu_processes_add(who, pid, nr, why, program,
						start, gfp);
	if (explicit && err)
		return err;
	if (explicit)
		hsu_process_added_again(proc, why);
	proc->program = program ?: proc->program;
	return hsu_process_update(proc, who, nr, why, start, gfp);
}

int hsu_processes_refresh(struct mm_struct *mm, struct pid *pid, u32 why,
			  gfp_t gfp)
{
	struct hsu_subject who = { .mm = mm };
	struct hsu_process *proc;
	int err = -ESRCH;

	lockdep_assert_held(&hsu_registry_lock);

	proc = hsu_processes_find(mm);
	if (proc && !(why & HSU_WHY_EXPLICIT)) {
		if (proc->flags & HSU_PROC_IGNORED)
			return 0;
		if (time_before(jiffies, proc->next_scan))
			return -EAGAIN;
	}
	if (!mmget_not_zero(mm))
		return -ESRCH;
	who.cred = hsu_cred_get(pid, mm);
	if (who.cred) {
		if (proc && proc->flags & HSU_PROC_OWN &&
		    !hsu_process_is_covered(proc, &who)) {
			hsu_process_delete(proc);
			proc = NULL;
		}
		err = hsu_processes_look(proc, &who, pid, why, gfp);
	}
	put_cred(who.cred);
	/* It may be the last reference, and the rest is not for us to do. */
	mmput_async(mm);
	return err;
}

int hsu_processes_map(const struct vm_area_struct *vma)
{
	const struct hsu_subject who = hsu_subject_current();
	struct hsu_process *proc = hsu_processes_find(vma->vm_mm);
	struct hsu_table *table = proc ? hsu_table_of(proc) : NULL;
	int nr;

	lockdep_assert_held(&hsu_registry_lock);

	if (!table || !hsu_process_is_covered(proc, &who))
		return -EAGAIN;
	nr = hsu_table_add_vma(table, vma, &who);
	if (nr <= 0)
		return nr;
	table = hsu_table_create(nr, who.cred, proc->flags & HSU_PROC_OWN,
				 GFP_NOWAIT | __GFP_NOWARN);
	if (!table)
		return -ENOMEM;
	hsu_table_publish(&proc->table, table);
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
	hsu_process_set_explicit(proc, 0);
	WRITE_ONCE(proc->flags, proc->flags | HSU_PROC_IGNORED);
	hsu_table_publish(&proc->table, NULL);
}

/* Publishes the table without the images; without memory for it, none. */
static void hsu_process_drop_gone(struct hsu_process *proc)
{
	struct hsu_table *table = hsu_table_of(proc);
	u32 nr;

	if (!table)
		return;
	nr = hsu_table_without_gone(table);
	if (nr == table->nr_maps)
		return;
	table = hsu_table_create(nr, table->cred, table->cred, GFP_KERNEL);
	hsu_table_publish(&proc->table, table);
	if (!table)
		proc->stale = true;
}

void hsu_processes_drop_gone(struct hsu_entry *by)
{
	struct hsu_process *proc, *tmp;

	lockdep_assert_held(&hsu_registry_lock);

	list_for_each_entry_safe(proc, tmp, &hsu_processes, list) {
		cond_resched();
		if (proc->program && proc->program->gone) {
			proc->program = by;
			if (!by && !(proc->flags & HSU_PROC_EXPLICIT)) {
				hsu_process_delete(proc);
				continue;
			}
		}
		hsu_process_drop_gone(proc);
	}
}

void hsu_processes_drop_own(const struct hsu_account *account)
{
	struct hsu_process *proc, *tmp;

	lockdep_assert_held(&hsu_registry_lock);

	list_for_each_entry_safe(proc, tmp, &hsu_processes, list) {
		if (!(proc->flags & HSU_PROC_OWN) || proc->account != account)
			continue;
		hsu_process_set_explicit(proc, 0);
		if (!proc->program)
			hsu_process_delete(proc);
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

static bool hsu_process_is_traceable(const struct hsu_process *proc,
				     const struct cred *cred)
{
	struct hsu_subject whom = {
		.cred = hsu_cred_get(proc->pid, proc->mm),
		.mm = proc->mm,
	};
	bool ret = whom.cred && hsu_may_trace(cred, &whom);

	put_cred(whom.cred);
	return ret;
}

struct hsu_process *hsu_processes_next(pid_t nr, pid_t *found,
				       const struct cred *cred)
{
	struct hsu_process *proc, *next = NULL;

	lockdep_assert_held(&hsu_registry_lock);
	list_for_each_entry(proc, &hsu_processes, list) {
		pid_t pid = pid_vnr(proc->pid);

		if (!pid || pid < nr || (proc->flags & HSU_PROC_IGNORED))
			continue;
		if (!atomic_read(&proc->mm->mm_users))
			continue;
		if (cred && !hsu_process_is_traceable(proc, cred))
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
