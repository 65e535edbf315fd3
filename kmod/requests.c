// SPDX-License-Identifier: GPL-2.0-only
/*
 * From a sample to the worker.
 *
 * A sample in NMI context may not allocate, lock or wake anyone. It claims one
 * of a fixed number of slots by a compare-and-exchange, leaves a pinned mm and
 * pid there, and raises an irq_work. That queues the worker, which runs in
 * process context and makes the tables.
 *
 *	sample, probe:	mm: NULL -> mm (claimed) ... ready: 0 -> 1
 *	worker:		ready: 1 -> 0 ... mm: mm -> NULL (free)
 */
#include <linux/atomic.h>
#include <linux/hash.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/workqueue.h>

#include "processes.h"
#include "registry.h"
#include "requests.h"

#define SLOT_BITS	8
#define NR_SLOTS	BIT(SLOT_BITS)

#define RETRY_DELAY	msecs_to_jiffies(10)
#define REAP_DELAY	msecs_to_jiffies(50)
#define REAP_PERIOD	(10 * HZ)
#define FULL_DELAY	HZ
#define DRAIN_PAUSE	4	/* times the duration of the last one */

/**
 * struct hsu_request - a slot
 * @mm: address space of the process, with mm_count held; NULL: free.
 * @pid: its thread group, with a reference held.
 * @why: %HSU_WHY_*.
 * @ready: the slot is filled in.
 */
struct hsu_request {
	struct mm_struct *mm;
	struct pid *pid;
	u32 why;
	u32 ready;
};

static struct hsu_request hsu_requests[NR_SLOTS];
static bool hsu_stale_requested;
static bool hsu_reap_requested;

/* Set when there is no room for another process. */
static unsigned long hsu_no_room_until;

/* The worker takes at most a fifth of one CPU; it alone writes this. */
static unsigned long hsu_next_drain;

static struct workqueue_struct *hsu_wq;
static struct delayed_work hsu_drain_work;
static struct delayed_work hsu_reap_work;
static struct irq_work hsu_irq_work;

/* Returns false if there is no slot, or the same request is there already. */
static bool hsu_request_put(struct mm_struct *mm, struct pid *pid, u32 why)
{
	u32 start = hash_ptr(mm, SLOT_BITS);
	u32 i;

	for (i = 0; i < NR_SLOTS; i++) {
		struct hsu_request *r = &hsu_requests[(start + i) % NR_SLOTS];
		struct mm_struct *old = READ_ONCE(r->mm);

		if (!old)
			old = cmpxchg(&r->mm, NULL, mm);
		if (old == mm)
			return false;
		if (old)
			continue;
		r->pid = pid;
		r->why = why;
		/* Pairs with the acquire in hsu_drain_slot(). */
		smp_store_release(&r->ready, 1);
		return true;
	}
	return false;
}

static void hsu_request_release(struct mm_struct *mm, struct pid *pid)
{
	put_pid(pid);
	mmdrop(mm);
}

void hsu_request_post(struct task_struct *task, u32 why)
{
	struct mm_struct *mm = task->mm;
	struct pid *pid = task_tgid(task);

	if (time_before(jiffies, READ_ONCE(hsu_no_room_until)))
		return;
	/*
	 * Both are in use by the task, so the counts cannot be 0, and what is
	 * undone below cannot be the last reference.
	 */
	mmgrab(mm);
	get_pid(pid);
	if (hsu_request_put(mm, pid, why))
		irq_work_queue(&hsu_irq_work);
	else
		hsu_request_release(mm, pid);
}

void hsu_request_stale(void)
{
	WRITE_ONCE(hsu_stale_requested, true);
	irq_work_queue(&hsu_irq_work);
}

void hsu_request_reap(void)
{
	/* Once: many exits in a row must not put it off for ever. */
	if (!xchg(&hsu_reap_requested, true))
		mod_delayed_work(hsu_wq, &hsu_reap_work, REAP_DELAY);
}

static void hsu_irq(struct irq_work *work)
{
	unsigned long next = READ_ONCE(hsu_next_drain);
	unsigned long now = jiffies;

	mod_delayed_work(hsu_wq, &hsu_drain_work,
			 time_before(now, next) ? next - now : 0);
}

/* Returns true if it must be tried again later. */
static bool hsu_drain_slot(struct hsu_request *r)
{
	struct mm_struct *mm;
	struct pid *pid;
	u32 why;

	/* Pairs with the release in hsu_request_put(). */
	if (!smp_load_acquire(&r->ready))
		return false;
	mm = r->mm;
	pid = r->pid;
	why = r->why;
	WRITE_ONCE(r->ready, 0);
	/*
	 * Whatever is requested from here on is a new request, and whoever
	 * claims the slot must see that it is not ready.
	 */
	smp_store_release(&r->mm, NULL);

	switch (hsu_processes_refresh(mm, pid, why, GFP_KERNEL)) {
	case -EAGAIN:
		if (hsu_request_put(mm, pid, why))
			return true;
		break;
	case -ENOSPC:
	case -ENOMEM:
		WRITE_ONCE(hsu_no_room_until, jiffies + FULL_DELAY);
		break;
	}
	hsu_request_release(mm, pid);
	return false;
}

static void hsu_drain(struct work_struct *work)
{
	ktime_t start = ktime_get();
	bool again = false;
	u32 i;

	mutex_lock(&hsu_registry_lock);
	for (i = 0; i < NR_SLOTS; i++)
		again |= hsu_drain_slot(&hsu_requests[i]);
	if (xchg(&hsu_stale_requested, false) &&
	    hsu_processes_refresh_stale()) {
		WRITE_ONCE(hsu_stale_requested, true);
		again = true;
	}
	mutex_unlock(&hsu_registry_lock);

	WRITE_ONCE(hsu_next_drain, jiffies + 1 +
		   nsecs_to_jiffies(DRAIN_PAUSE *
				    ktime_to_ns(ktime_sub(ktime_get(), start))));
	if (again)
		queue_delayed_work(hsu_wq, &hsu_drain_work, RETRY_DELAY);
	if (READ_ONCE(hsu_nr_processes))
		queue_delayed_work(hsu_wq, &hsu_reap_work, REAP_PERIOD);
}

/*
 * The memory of an ended process can be kept for a while by someone who looks
 * at it, so look again from time to time.
 */
static void hsu_reap(struct work_struct *work)
{
	xchg(&hsu_reap_requested, false);
	hsu_registry_reap();
	if (READ_ONCE(hsu_nr_processes))
		queue_delayed_work(hsu_wq, &hsu_reap_work, REAP_PERIOD);
}

int hsu_requests_init(void)
{
	hsu_wq = alloc_workqueue("hsunwind", WQ_UNBOUND, 1);
	if (!hsu_wq)
		return -ENOMEM;
	INIT_DELAYED_WORK(&hsu_drain_work, hsu_drain);
	INIT_DELAYED_WORK(&hsu_reap_work, hsu_reap);
	init_irq_work(&hsu_irq_work, hsu_irq);
	hsu_no_room_until = jiffies;
	hsu_next_drain = jiffies;
	return 0;
}

void hsu_requests_exit(void)
{
	u32 i;

	irq_work_sync(&hsu_irq_work);
	cancel_delayed_work_sync(&hsu_drain_work);
	cancel_delayed_work_sync(&hsu_reap_work);
	destroy_workqueue(hsu_wq);
	for (i = 0; i < NR_SLOTS; i++)
		if (hsu_requests[i].ready)
			hsu_request_release(hsu_requests[i].mm,
					    hsu_requests[i].pid);
}
