// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples the user stack of one process as perf does, by perf_callchain_user(),
 * from all contexts, on machines whose emulated CPU has no PMU to send NMIs:
 *
 *  - task: whenever a thread of the process enters a system call;
 *  - hardirq: a timer on every CPU, at random intervals;
 *  - NMI: a thread sends them to the other CPUs, and the timer to its own CPU,
 *    before it samples itself, so that some arrive in the middle of a walk.
 *
 * At unload it prints how many came from where, and into which walks.
 *
 * For tests only: it takes the address of that function with a kprobe.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include <asm/apic.h>
#include <asm/nmi.h>

#define MAX_STACK 127

static int tgid;
module_param(tgid, int, 0444);
MODULE_PARM_DESC(tgid, "process to sample");

static unsigned int interval = 100;
module_param(interval, uint, 0444);
MODULE_PARM_DESC(interval, "microseconds between two NMIs or interrupts, at least (100)");

enum level { IN_TASK, IN_IRQ, IN_NMI, NR_LEVELS };

/**
 * struct test_cpu - what happens on one CPU
 * @timer: interrupts.
 * @timer_started: it is in use.
 * @nmi_wanted: the next NMI is ours.
 * @walking: which levels are in the middle of a walk, as bits.
 * @samples: samples by level.
 * @user: samples from NMIs that interrupted user code.
 * @nested: samples by level, and by level of the walk that they interrupted.
 * @frames: user frames in all chains.
 * @chains: a chain for each level.
 */
struct test_cpu {
	struct hrtimer timer;
	bool timer_started;
	int nmi_wanted;
	unsigned int walking;
	unsigned long samples[NR_LEVELS];
	unsigned long user;
	unsigned long nested[NR_LEVELS][NR_LEVELS];
	unsigned long frames;
	struct {
		struct perf_callchain_entry entry;
		u64 ips[MAX_STACK + 8];
	} chains[NR_LEVELS];
};

static DEFINE_PER_CPU(struct test_cpu, test_cpus);
static void (*callchain_user)(struct perf_callchain_entry_ctx *ctx,
			      struct pt_regs *regs);
static struct task_struct *sender;
static struct tracepoint *sys_enter;

/* Returns false if this is not the process. Preemption must be off. */
static bool sample(enum level level, struct pt_regs *regs)
{
	struct test_cpu *c = this_cpu_ptr(&test_cpus);
	struct perf_callchain_entry_ctx ctx = {
		.entry = &c->chains[level].entry,
		.max_stack = MAX_STACK,
	};

	if (!current->mm || current->tgid != tgid)
		return false;
	if (!user_mode(regs))
		regs = task_pt_regs(current);
	else if (level == IN_NMI)
		c->user++;
	c->samples[level]++;
	if (c->walking)
		c->nested[level][fls(c->walking) - 1]++;
	ctx.entry->nr = 0;
	c->walking |= BIT(level);
	barrier();
	rcu_read_lock();
	callchain_user(&ctx, regs);
	rcu_read_unlock();
	barrier();
	c->walking &= ~BIT(level);
	c->frames += ctx.nr;
	return true;
}

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	/* Two in a row may have become one: there is nobody else's here. */
	if (xchg(this_cpu_ptr(&test_cpus.nmi_wanted), 0))
		sample(IN_NMI, regs);
	return NMI_HANDLED;
}

static void send_nmi(int cpu)
{
	WRITE_ONCE(per_cpu(test_cpus, cpu).nmi_wanted, 1);
	apic->send_IPI_mask(cpumask_of(cpu), NMI_VECTOR);
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	u64 next = (u64)interval * (1 + prandom_u32_max(8)) * NSEC_PER_USEC;

	if (current->mm && current->tgid == tgid && prandom_u32_max(2))
		send_nmi(smp_processor_id());
	sample(IN_IRQ, task_pt_regs(current));
	hrtimer_forward_now(timer, ns_to_ktime(next));
	return HRTIMER_RESTART;
}

static void on_sys_enter(void *data, struct pt_regs *regs, long nr)
{
	preempt_disable();
	sample(IN_TASK, regs);
	preempt_enable();
}

static int send(void *data)
{
	int cpu;

	while (!kthread_should_stop()) {
		cpus_read_lock();
		preempt_disable();
		for_each_online_cpu(cpu)
			if (cpu != smp_processor_id())
				send_nmi(cpu);
		preempt_enable();
		cpus_read_unlock();
		usleep_range(interval, interval + interval / 4);
	}
	return 0;
}

static void start_timer(void *data)
{
	struct test_cpu *c = this_cpu_ptr(&test_cpus);

	hrtimer_init(&c->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	c->timer.function = on_timer;
	c->timer_started = true;
	hrtimer_start(&c->timer, ns_to_ktime((u64)interval * NSEC_PER_USEC),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

/* So far, of NMIs alone: for those who wait for enough of them. */
static int get_nmis(char *buffer, const struct kernel_param *kp)
{
	unsigned long nmis = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		nmis += READ_ONCE(per_cpu(test_cpus, cpu).samples[IN_NMI]);
	return sysfs_emit(buffer, "%lu\n", nmis);
}

static const struct kernel_param_ops nmis_ops = {
	.get = get_nmis,
};
module_param_cb(nmis, &nmis_ops, NULL, 0444);
MODULE_PARM_DESC(nmis, "samples from NMIs so far");

static void match(struct tracepoint *tp, void *data)
{
	if (!strcmp(tp->name, "sys_enter"))
		sys_enter = tp;
}

static int __init test_init(void)
{
	struct kprobe kp = { .symbol_name = "perf_callchain_user" };
	int err;

	for_each_kernel_tracepoint(match, NULL);
	if (!sys_enter)
		return -ENOENT;
	err = register_kprobe(&kp);
	if (err)
		return err;
	callchain_user = (void *)kp.addr;
	unregister_kprobe(&kp);

	err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, KBUILD_MODNAME);
	if (err)
		return err;
	sender = kthread_run(send, NULL, KBUILD_MODNAME);
	if (IS_ERR(sender)) {
		err = PTR_ERR(sender);
		goto err_nmi;
	}
	err = tracepoint_probe_register(sys_enter, on_sys_enter, NULL);
	if (err)
		goto err_sender;
	on_each_cpu(start_timer, NULL, 1);
	return 0;

err_sender:
	kthread_stop(sender);
err_nmi:
	unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
	return err;
}

static void __exit test_exit(void)
{
	static struct test_cpu sum;
	int cpu, i, k;

	tracepoint_probe_unregister(sys_enter, on_sys_enter, NULL);
	tracepoint_synchronize_unregister();
	for_each_possible_cpu(cpu)
		if (per_cpu(test_cpus, cpu).timer_started)
			hrtimer_cancel(&per_cpu(test_cpus, cpu).timer);
	kthread_stop(sender);
	/* The last ones are on their way. */
	msleep(100);
	unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
	for_each_possible_cpu(cpu) {
		const struct test_cpu *c = per_cpu_ptr(&test_cpus, cpu);

		sum.user += c->user;
		sum.frames += c->frames;
		for (i = 0; i < NR_LEVELS; i++) {
			sum.samples[i] += c->samples[i];
			for (k = 0; k < NR_LEVELS; k++)
				sum.nested[i][k] += c->nested[i][k];
		}
	}
	pr_info("task=%lu irq=%lu nmi=%lu nmi_user=%lu irq_in_task=%lu nmi_in_task=%lu nmi_in_irq=%lu same_level=%lu frames=%lu\n",
		sum.samples[IN_TASK], sum.samples[IN_IRQ], sum.samples[IN_NMI],
		sum.user, sum.nested[IN_IRQ][IN_TASK],
		sum.nested[IN_NMI][IN_TASK], sum.nested[IN_NMI][IN_IRQ],
		sum.nested[IN_TASK][IN_TASK] + sum.nested[IN_IRQ][IN_IRQ] +
		sum.nested[IN_NMI][IN_NMI], sum.frames);
}

module_init(test_init);
module_exit(test_exit);

MODULE_DESCRIPTION("Test of hsunwind: samples from all contexts");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
