// SPDX-License-Identifier: GPL-2.0-only
/*
 * Whose a registration is: which processes it may cover, and who pays for it.
 */
#include <linux/capability.h>
#include <linux/lockdep.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>

#include "compat.h"
#include "images.h"
#include "params.h"
#include "users.h"

struct hsu_account hsu_everyone = {
	.list = LIST_HEAD_INIT(hsu_everyone.list),
	.uid = INVALID_UID,
	.refs = 1,
};

/* A process that has been set-user-ID, and so on, is nobody's but root's. */
static bool hsu_cred_is_of(const struct cred *cred, kuid_t uid, kgid_t gid)
{
	return uid_eq(cred->uid, uid) && uid_eq(cred->euid, uid) &&
	       uid_eq(cred->suid, uid) && gid_eq(cred->gid, gid) &&
	       gid_eq(cred->egid, gid) && gid_eq(cred->sgid, gid);
}

bool hsu_may_trace(const struct cred *who, const struct hsu_subject *whom)
{
	return hsu_cred_is_of(whom->cred, who->uid, who->gid) &&
	       whom->cred->user_ns == who->user_ns &&
	       cap_issubset(whom->cred->cap_permitted, who->cap_permitted) &&
	       hsu_mm_dumpable(whom->mm);
}

bool hsu_privileged(void)
{
	return ns_capable_noaudit(&init_user_ns, CAP_PERFMON) ||
	       ns_capable_noaudit(&init_user_ns, CAP_SYS_ADMIN);
}

/*
 * exec changes the mm first and the credentials then: with the old mm they were
 * the old ones. With the new one they may be the old ones as well, for which a
 * sample looks itself.
 */
const struct cred *hsu_cred_get(struct pid *pid, const struct mm_struct *mm)
{
	const struct cred *cred = NULL;
	struct task_struct *leader, *task;

	rcu_read_lock();
	leader = pid_task(pid, PIDTYPE_TGID);
	if (!leader)
		goto out;
	for_each_thread(leader, task) {
		cred = get_task_cred(task);
		/* Pairs with the order in which exec writes them. */
		smp_rmb();
		if (READ_ONCE(task->mm) == mm)
			break;
		put_cred(cred);
		cred = NULL;
	}
out:
	rcu_read_unlock();
	return cred;
}

static kuid_t hsu_account_uid(const struct cred *cred)
{
	const struct user_namespace *ns;
	kuid_t uid = cred->uid;

	for (ns = cred->user_ns; ns->parent; ns = ns->parent)
		uid = ns->owner;
	return uid;
}

static struct hsu_account *hsu_account_find(kuid_t uid)
{
	struct hsu_account *account;

	lockdep_assert_held(&hsu_registry_lock);

	list_for_each_entry(account, &hsu_everyone.list, list)
		if (uid_eq(account->uid, uid))
			return account;
	return NULL;
}

struct hsu_account *hsu_account_get(const struct cred *cred, gfp_t gfp)
{
	kuid_t uid = hsu_account_uid(cred);
	struct hsu_account *account = hsu_account_find(uid);

	if (account)
		return hsu_account_hold(account);
	account = kzalloc(sizeof(*account), gfp);
	if (!account)
		return NULL;
	account->uid = uid;
	account->refs = 1;
	list_add(&account->list, &hsu_everyone.list);
	return account;
}

struct hsu_account *hsu_account_hold(struct hsu_account *account)
{
	account->refs++;
	return account;
}

void hsu_account_put(struct hsu_account *account)
{
	lockdep_assert_held(&hsu_registry_lock);

	if (--account->refs)
		return;
	list_del(&account->list);
	kfree(account);
}

bool hsu_account_full(const struct cred *cred)
{
	kuid_t uid = hsu_account_uid(cred);
	const struct hsu_account *account = hsu_account_find(uid);

	return account && !uid_eq(uid, GLOBAL_ROOT_UID) &&
	       account->nr_processes >= READ_ONCE(hsu_params.max_user_processes);
}

struct hsu_account *hsu_account_orphaned(void)
{
	struct hsu_account *account;

	lockdep_assert_held(&hsu_registry_lock);

	if (hsu_everyone.orphans_wait && !hsu_everyone.nr_open)
		return &hsu_everyone;
	list_for_each_entry(account, &hsu_everyone.list, list)
		if (account->orphans_wait && !account->nr_open)
			return account;
	return NULL;
}
