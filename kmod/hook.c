// SPDX-License-Identifier: GPL-2.0-only
/*
 * The attachment to perf; no other file knows how it is done.
 *
 * perf walks the user part of a stack in perf_callchain_user(). We are called
 * by ftrace when it is entered. For a registered process the chain is written
 * here, in the callback, and the function is then replaced by an empty one for
 * this one call. For any other the callback returns and perf_callchain_user()
 * runs as if nothing had happened. It is never called from here: on kernels
 * with IBT it must not be called through a pointer.
 *
 * This code runs in any context: task, softirq, hardirq, NMI. So, here and in
 * everything that is called from here (lookup.c, core/):
 *
 *  - nothing that sleeps, allocates, faults, prints or takes a lock;
 *  - nothing but reads under RCU, atomic operations, and data of this CPU and
 *    this context level, of which no other can be in the middle;
 *  - every loop is bounded; user memory is read with copy_from_user_nmi();
 *  - not traceable by ftrace, see Kbuild.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/err.h>
#include <linux/ftrace.h>
#include <linux/jiffies.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "compat.h"
#include "hook.h"
#include "lookup.h"
#include "params.h"
#include "stats.h"

#define HOOK_FUNCTION	"perf_callchain_user"

/* Task, softirq, hardirq, NMI. */
#define NR_LEVELS	4

/**
 * struct hsu_walker - what one walk needs, too large for the stack
 * @walk: the walk.
 * @busy: it is in use.
 *
 * A higher context level may interrupt a lower one, so there is one for each.
 */
struct hsu_walker {
	struct hsu_walk walk;
	bool busy;
};

static struct hsu_walker __percpu *hsu_walkers;

static void hsu_walk_prepare(struct hsu_walk *w, const struct hsu_view *view,
			     struct perf_callchain_entry_ctx *ctx,
			     const struct pt_regs *regs)
{
	struct perf_callchain_entry *entry = ctx->entry;

	memset(w, 0, sizeof(*w));
	w->maps = view->maps;
	w->nr_maps = view->nr_maps;
	w->ip = regs->ip;
	w->regs[HSU_RAX] = regs->ax;
	w->regs[HSU_RDX] = regs->dx;
	w->regs[HSU_RCX] = regs->cx;
	w->regs[HSU_RBX] = regs->bx;
	w->regs[HSU_RSI] = regs->si;
	w->regs[HSU_RDI] = regs->di;
	w->regs[HSU_RBP] = regs->bp;
	w->regs[HSU_RSP] = regs->sp;
	w->regs[HSU_R8] = regs->r8;
	w->regs[HSU_R9] = regs->r9;
	w->regs[HSU_R10] = regs->r10;
	w->regs[HSU_R11] = regs->r11;
	w->regs[HSU_R12] = regs->r12;
	w->regs[HSU_R13] = regs->r13;
	w->regs[HSU_R14] = regs->r14;
	w->regs[HSU_R15] = regs->r15;
	w->flags = view->show;
	if (READ_ONCE(hsu_params.show_internal))
		w->flags |= HSUNWIND_SHOW_INTERNAL;
	if (READ_ONCE(hsu_params.show_rts))
		w->flags |= HSUNWIND_SHOW_RTS;
	w->max_steps = clamp_t(u32, READ_ONCE(hsu_params.max_steps), 1,
			       HSU_MAX_STEPS);
	w->out = &entry->ip[entry->nr];
	w->cap = ctx->max_stack - ctx->nr;
	w->root = ctx->max_stack / 2;
}

static void hsu_walk_finish(const struct hsu_walk *w, enum hsunwind_stop stop,
			    const struct hsu_view *view,
			    struct perf_callchain_entry_ctx *ctx)
{
	ctx->entry->nr += w->n;
	ctx->nr += w->n;

	hsu_count_stop(stop);
	hsu_count(HSUNWIND_COUNT_FRAMES, w->n);
	if (view->provisional)
		hsu_count(HSUNWIND_COUNT_PROVISIONAL, 1);
	if (w->collecting)
		hsu_count(HSUNWIND_COUNT_COLLECTING, 1);
	if (w->gapped)
		hsu_count(HSUNWIND_COUNT_SHORTENED, 1);
	if (w->scanned)
		hsu_count(HSUNWIND_COUNT_SCANNED, 1);
	if (w->resynced)
		hsu_count(HSUNWIND_COUNT_RESYNCED, w->resynced);
	if (stop == HSUNWIND_STOP_NO_CODE)
		hsu_lookup_missed(view);
}

/*
 * Preemption is off, and RCU is watching, as perf itself has read under RCU just
 * before. Returns true if the chain has been written.
 */
static bool hsu_sample(struct perf_callchain_entry_ctx *ctx,
		       struct pt_regs *regs)
{
	struct hsu_walker *walker;
	enum hsunwind_stop stop;
	struct hsu_view view;
	bool done = false;

	/* No program of its own, or a guest's registers. */
	if (!current->mm || current->flags & (HSU_PF_NO_USER | PF_VCPU))
		return false;
	/* The mm is the new program's, the registers are the old one's. */
	if (hsu_in_execve(current))
		return false;
	if (ctx->contexts_maxed || ctx->nr >= ctx->max_stack)
		return false;

	rcu_read_lock();
	if (!hsu_lookup(&view))
		goto out;
	hsu_count(HSUNWIND_COUNT_SAMPLES, 1);
	if (!user_64bit_mode(regs)) {
		hsu_count_stop(HSUNWIND_STOP_NOT_64BIT);
		goto out;
	}
	walker = this_cpu_ptr(hsu_walkers) + interrupt_context_level();
	if (READ_ONCE(walker->busy)) {
		hsu_count(HSUNWIND_COUNT_BUSY, 1);
		goto out;
	}
	WRITE_ONCE(walker->busy, true);
	barrier();
	hsu_walk_prepare(&walker->walk, &view, ctx, regs);
	stop = hsu_walk(&walker->walk);
	hsu_walk_finish(&walker->walk, stop, &view, ctx);
	barrier();
	WRITE_ONCE(walker->busy, false);
	done = true;
out:
	rcu_read_unlock();
	return done;
}

/* Runs in place of perf_callchain_user(): there is nothing left to do. */
static noinline notrace void hsu_hook_done(void)
{
	barrier();
}

/* The task that loads the module, while it tests the hook. */
static struct task_struct *hsu_test_task;
static bool hsu_test_passed;

/* Likewise, for the test: only a working hook leads here. */
static noinline notrace void hsu_hook_test_done(void)
{
	WRITE_ONCE(hsu_test_passed, true);
}

static notrace void hsu_hook(unsigned long ip, unsigned long parent_ip,
			     struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	bool done;

	if (unlikely(READ_ONCE(hsu_test_task) == current)) {
		WRITE_ONCE(hsu_test_task, NULL);
		hsu_ftrace_redirect(fregs, hsu_hook_test_done);
		return;
	}
	if (hsu_lookup_idle())
		return;

	preempt_disable_notrace();
	done = hsu_sample((void *)hsu_ftrace_arg(fregs, 0),
			  (void *)hsu_ftrace_arg(fregs, 1));
	preempt_enable_notrace();
	if (done)
		hsu_ftrace_redirect(fregs, hsu_hook_done);
}

/*
 * PERMANENT: kernel.ftrace_enabled cannot be set to 0 while we are attached.
 * RECURSION: ftrace does not call us again while it calls us, per context.
 */
static struct ftrace_ops hsu_hook_ops = {
	.func = hsu_hook,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_RECURSION |
		 FTRACE_OPS_FL_PERMANENT | HSU_FTRACE_REGS_FLAG,
};

/*
 * A registration can succeed and yet have no effect. So let perf take a sample
 * of this very task, from an event that nobody reads, and see if its call of
 * perf_callchain_user() ends where we lead it.
 */
static int hsu_hook_test(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attr),
		.sample_period = 100 * NSEC_PER_USEC,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.sample_max_stack = 1,
		.exclude_callchain_kernel = 1,
	};
	unsigned long end = jiffies + 2 * HZ;
	struct perf_event *event;

	if (!current->mm) {
		pr_err("not loaded by a process: the hook cannot be tested\n");
		return -EINVAL;
	}
	event = perf_event_create_kernel_counter(&attr, -1, current, NULL,
						 NULL);
	if (IS_ERR(event)) {
		pr_err("no perf event to test the hook with (error %ld)\n",
		       PTR_ERR(event));
		return PTR_ERR(event);
	}
	WRITE_ONCE(hsu_test_task, current);
	while (!READ_ONCE(hsu_test_passed) && time_before(jiffies, end)) {
		cpu_relax();
		cond_resched();
	}
	WRITE_ONCE(hsu_test_task, NULL);
	perf_event_release_kernel(event);
	if (READ_ONCE(hsu_test_passed))
		return 0;
	pr_err("the hook on " HOOK_FUNCTION " has no effect on this kernel\n");
	return -EOPNOTSUPP;
}

static int hsu_hook_attach(void)
{
	static unsigned char name[] = HOOK_FUNCTION;
	int err;

	err = ftrace_set_filter(&hsu_hook_ops, name, strlen(name), 1);
	if (err) {
		pr_err("this kernel does not let " HOOK_FUNCTION " be hooked (error %d)\n",
		       err);
		return err;
	}
	err = register_ftrace_function(&hsu_hook_ops);
	if (!err)
		return 0;
	ftrace_free_filter(&hsu_hook_ops);
	if (err == -EBUSY)
		pr_err(HOOK_FUNCTION " cannot be hooked: a live patch has it, or kernel.ftrace_enabled is 0\n");
	else
		pr_err(HOOK_FUNCTION " cannot be hooked (error %d)\n", err);
	return err;
}

static void hsu_hook_detach(void)
{
	unregister_ftrace_function(&hsu_hook_ops);
	ftrace_free_filter(&hsu_hook_ops);
	/* A task may have been preempted in ftrace's code or in hsu_hook_done(). */
	synchronize_rcu_tasks();
}

int hsu_hook_init(void)
{
	int err;

	hsu_walkers = __alloc_percpu(NR_LEVELS * sizeof(*hsu_walkers),
				     __alignof__(struct hsu_walker));
	if (!hsu_walkers)
		return -ENOMEM;
	err = hsu_hook_attach();
	if (err)
		goto err_walkers;
	err = hsu_hook_test();
	if (err)
		goto err_attached;
	return 0;

err_attached:
	hsu_hook_detach();
err_walkers:
	free_percpu(hsu_walkers);
	return err;
}

void hsu_hook_exit(void)
{
	hsu_hook_detach();
	free_percpu(hsu_walkers);
}
