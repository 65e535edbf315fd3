/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The known processes, found by the address of their mm, and the table of the
 * mappings of each. hsu_registry_lock (images.h) guards all changes; a sample
 * looks up under RCU alone.
 */
#ifndef HSU_PROCESSES_H
#define HSU_PROCESSES_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/pid.h>
#include <linux/rcupdate.h>

#include "images.h"
#include "tables.h"
#include "users.h"

#define HSU_PROC_EXPLICIT	BIT(0)	/* added by pid, or a child of such */
#define HSU_PROC_OWN		BIT(1)	/* by its own user, and only as long as he */
					/* may trace it */
#define HSU_PROC_IGNORED	BIT(2)	/* removed by pid: leave it alone */

/**
 * struct hsu_process - a known process
 * @node: in the hash table.
 * @list: in the list of all processes.
 * @mm: its address space; pinned, so that no other can get the same address.
 * @pid: its thread group.
 * @table: its mappings; NULL if its samples are left to the kernel.
 * @flags: %HSU_PROC_*.
 * @stale: its mappings must be looked at again.
 * @program: the image that made it known, or NULL.
 * @account: of its user.
 * @next_scan: jiffies before which its mappings are not looked at again.
 * @next_miss: jiffies before which samples do not ask for that.
 * @interval: jiffies between two such requests; grows while they are in vain.
 * @rcu: for freeing it.
 */
struct hsu_process {
	struct hlist_node node;
	struct list_head list;
	struct mm_struct *mm;
	struct pid *pid;
	struct hsu_table __rcu *table;
	u32 flags;
	bool stale;
	struct hsu_entry *program;
	struct hsu_account *account;
	unsigned long next_scan;
	unsigned long next_miss;
	unsigned long interval;
	struct rcu_head rcu;
};

/**
 * hsu_process_sponsor() - the account of the one who has added a process by pid
 * @proc: the process.
 */
static inline struct hsu_account *
hsu_process_sponsor(const struct hsu_process *proc)
{
	return proc->flags & HSU_PROC_OWN ? proc->account : &hsu_everyone;
}

/* Number of known processes, the ignored ones included. */
extern unsigned int hsu_nr_processes;

/* Why the mappings of a process are looked at. */
#define HSU_WHY_EXPLICIT	BIT(0)	/* by pid, or as a child of such */
#define HSU_WHY_OWN		BIT(1)	/* the same, for the user of the process */
#define HSU_WHY_MISS		BIT(2)	/* a sample met an unknown address */

/**
 * hsu_processes_find() - look a process up
 * @mm: its address space.
 *
 * Context: any, NMI included; in an RCU read-side critical section or with
 * hsu_registry_lock held.
 * Return: the process, or NULL.
 */
struct hsu_process *hsu_processes_find(const struct mm_struct *mm);

/**
 * hsu_processes_refresh() - make or renew the table of a process
 * @mm: its address space; the caller holds mm_count.
 * @pid: its thread group.
 * @why: %HSU_WHY_*.
 * @gfp: GFP_KERNEL if it may sleep.
 *
 * Does nothing for a process that has no business here: not known, no
 * registered program, and not %HSU_WHY_EXPLICIT.
 *
 * Context: process context; the caller holds hsu_registry_lock. Sleeps only if
 * @gfp allows it; takes time in proportion to the mappings of the process.
 * Return: 0, -EAGAIN if the mappings are locked or not complete at the moment,
 * -ESRCH if the process is gone, -ENOENT for an unknown process that maps no
 * registered file or no program, -EPERM if it is not its user's any more,
 * -ENOSPC for too many processes, -EDQUOT for too many of this user, -ENOMEM.
 */
int hsu_processes_refresh(struct mm_struct *mm, struct pid *pid, u32 why,
			  gfp_t gfp);

/**
 * hsu_processes_map() - add a new mapping to the table of a process
 * @vma: an executable mapping of a file; its mm is locked for writing.
 *
 * Context: process context, does not sleep; the caller holds hsu_registry_lock.
 * Return: 0, also if the file is not registered; -EAGAIN if the process has no
 * table or a full one, -ENOMEM.
 */
int hsu_processes_map(const struct vm_area_struct *vma);

/**
 * hsu_processes_refresh_stale() - renew the tables of all stale processes
 *
 * Context: process context; the caller holds hsu_registry_lock.
 * Return: 0, or -EAGAIN if there are some left.
 */
int hsu_processes_refresh_stale(void);

/**
 * hsu_processes_mark_stale() - let all tables be made again
 *
 * Context: the caller holds hsu_registry_lock.
 */
void hsu_processes_mark_stale(void);

/**
 * hsu_processes_ignore() - leave a process to the kernel from now on
 * @proc: the process.
 *
 * Its entry stays while it runs a registered program, as it would come back
 * with its next sample otherwise.
 *
 * Context: the caller holds hsu_registry_lock.
 */
void hsu_processes_ignore(struct hsu_process *proc);

/**
 * hsu_processes_drop_gone() - take images that are removed out of all tables
 * @by: program image that replaces one of them, so that processes that are known
 *	because of it are not forgotten, or NULL.
 *
 * Context: process context; the caller holds hsu_registry_lock.
 */
void hsu_processes_drop_gone(struct hsu_entry *by);

/**
 * hsu_processes_drop_own() - forget the processes that a user has added by pid
 * @account: of the user.
 *
 * Context: the caller holds hsu_registry_lock.
 */
void hsu_processes_drop_own(const struct hsu_account *account);

/**
 * hsu_processes_reap() - forget the processes that have ended
 *
 * Context: the caller holds hsu_registry_lock.
 */
void hsu_processes_reap(void);

/**
 * hsu_processes_drop_all() - forget all processes
 *
 * Context: the caller holds hsu_registry_lock.
 */
void hsu_processes_drop_all(void);

/**
 * hsu_processes_next() - walk over processes
 * @nr: lowest number to be returned, in the pid namespace of the caller.
 * @found: out: the number.
 * @cred: only processes that this user may trace; NULL: all.
 *
 * Context: process context; the caller holds hsu_registry_lock.
 * Return: the process with the lowest number >= @nr, or NULL.
 */
struct hsu_process *hsu_processes_next(pid_t nr, pid_t *found,
				       const struct cred *cred);

/**
 * hsu_process_nr_maps() - number of registered mappings of a process
 * @proc: the process.
 *
 * Context: the caller holds hsu_registry_lock.
 */
u32 hsu_process_nr_maps(const struct hsu_process *proc);

#endif /* HSU_PROCESSES_H */
