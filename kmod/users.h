/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose a registration is: which processes it may cover, and who pays for it.
 * docs/security.md has the rules.
 */
#ifndef HSU_USERS_H
#define HSU_USERS_H

#include <linux/cred.h>
#include <linux/list.h>
#include <linux/mm_types.h>
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/types.h>

/**
 * struct hsu_subject - a process, as far as it matters who may trace it
 * @cred: its objective credentials.
 * @mm: its address space.
 */
struct hsu_subject {
	const struct cred *cred;
	struct mm_struct *mm;
};

/**
 * hsu_may_trace() - may someone trace a process?
 * @who: credentials of the one.
 * @whom: the process.
 *
 * ptrace_may_access() is not exported. This is its rule for a process of one's
 * own, without what a capability over another namespace would add, and without
 * the word of a security module.
 *
 * Context: any, NMI included.
 */
bool hsu_may_trace(const struct cred *who, const struct hsu_subject *whom);

/**
 * hsu_subject_current() - the current process
 *
 * Context: any, NMI included; good as long as it runs.
 */
static inline struct hsu_subject hsu_subject_current(void)
{
	return (struct hsu_subject) {
		.cred = current_real_cred(),
		.mm = current->mm,
	};
}

/**
 * hsu_same_user() - is a registration one's own?
 * @a: credentials of the one.
 * @b: credentials that the registration was made with.
 */
static inline bool hsu_same_user(const struct cred *a, const struct cred *b)
{
	return uid_eq(a->uid, b->uid) && a->user_ns == b->user_ns;
}

/**
 * hsu_privileged() - may the caller register for the processes of all users?
 *
 * Leaves no trace in the audit log if not.
 *
 * Context: process context.
 */
bool hsu_privileged(void);

/**
 * hsu_cred_get() - the credentials of a process
 * @pid: its thread group.
 * @mm: the address space that it must still have.
 *
 * If they change at the same time, they are those that it has had with @mm, or
 * those of an exec that is not through yet.
 *
 * Return: the credentials, with a reference, or NULL if no thread has @mm.
 */
const struct cred *hsu_cred_get(struct pid *pid, const struct mm_struct *mm);

/**
 * struct hsu_account - what one user has registered
 * @list: in the list of all accounts.
 * @uid: the user; see hsu_account_get().
 * @refs: images, processes and open files that refer to it.
 * @nr_images: images.
 * @nr_programs: those of them with %HSUNWIND_ADD_PROGRAM.
 * @bytes: what the images take.
 * @nr_processes: known processes of the user, whoever made them known.
 * @nr_explicit: processes that the user has added by pid, and their children.
 * @nr_open: how often the user has the device open.
 * @orphans_wait: the last process of @nr_explicit has ended: libraries are to be
 *	dropped when the device is closed.
 *
 * hsu_registry_lock guards everything.
 */
struct hsu_account {
	struct list_head list;
	kuid_t uid;
	unsigned int refs;
	unsigned int nr_images;
	unsigned int nr_programs;
	unsigned long bytes;
	unsigned int nr_processes;
	unsigned int nr_explicit;
	unsigned int nr_open;
	bool orphans_wait;
};

/* Of what has been registered for the processes of all users. */
extern struct hsu_account hsu_everyone;

/**
 * hsu_account_get() - the account that pays for what someone does
 * @cred: that one's credentials.
 * @gfp: for a new account.
 *
 * In a user namespace, anybody can be many users. The one who has made the
 * namespace pays for all of them.
 *
 * Context: the caller holds hsu_registry_lock.
 * Return: the account, with a reference, or NULL for want of memory.
 */
struct hsu_account *hsu_account_get(const struct cred *cred, gfp_t gfp);

/**
 * hsu_account_hold() - take another reference
 * @account: an account that the caller has a reference to, or &hsu_everyone.
 *
 * Context: the caller holds hsu_registry_lock.
 */
struct hsu_account *hsu_account_hold(struct hsu_account *account);

/**
 * hsu_account_put() - let go of an account
 * @account: the account; freed with the last reference.
 *
 * Context: the caller holds hsu_registry_lock.
 */
void hsu_account_put(struct hsu_account *account);

/**
 * hsu_account_full() - is a user at the limit for processes?
 * @cred: credentials of a process of the user. There is no limit for root.
 *
 * Context: the caller holds hsu_registry_lock.
 */
bool hsu_account_full(const struct cred *cred);

/**
 * hsu_account_orphaned() - an account whose libraries are of no use any more
 *
 * Context: the caller holds hsu_registry_lock.
 * Return: an account with @orphans_wait, if its user has the device not open, or
 * NULL.
 */
struct hsu_account *hsu_account_orphaned(void);

#endif /* HSU_USERS_H */
