// SPDX-License-Identifier: GPL-2.0-only
/*
 * Samples user stacks from real NMIs, on machines whose emulated CPU has no PMU
 * to send any: one thread sends NMIs to the other CPUs, and their handler asks
 * for the user part of the chain as perf does, through perf_callchain_user().
 *
 * For tests only: it takes the address of that function with a kprobe.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpu.h>
#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/ptrace.h>

#include <asm/apic.h>
#include <asm/nmi.h>

#define MAX_STACK 127

static unsigned int interval = 500;
module_param(interval, uint, 0444);
MODULE_PARM_DESC(interval, "microseconds between two NMIs (500)");

struct nmi_cpu {
	int wanted;
	unsigned long sampled;
	unsigned long from_user;
	unsigned long in_interrupt;
	unsigned long frames;
	struct perf_callchain_entry entry;
	u64 ips[MAX_STACK + 8];
};

static DEFINE_PER_CPU(struct nmi_cpu, nmi_cpus);
static void (*callchain_user)(struct perf_callchain_entry_ctx *ctx,
			      struct pt_regs *regs);
static struct task_struct *sender;

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	struct nmi_cpu *c = this_cpu_ptr(&nmi_cpus);
	struct perf_callchain_entry_ctx ctx = {
		.entry = &c->entry,
		.max_stack = MAX_STACK,
	};

	if (!xchg(&c->wanted, 0))
		return NMI_DONE;
	if (!current->mm || current->flags & PF_KTHREAD)
		return NMI_HANDLED;
	if (user_mode(regs))
		c->from_user++;
	else
		regs = task_pt_regs(current);
	/* An NMI counts as one hardirq itself. */
	if ((preempt_count() & HARDIRQ_MASK) > HARDIRQ_OFFSET)
		c->in_interrupt++;
	c->entry.nr = 0;
	callchain_user(&ctx, regs);
	c->sampled++;
	c->frames += ctx.nr;
	return NMI_HANDLED;
}

static int send(void *data)
{
	int cpu;

	while (!kthread_should_stop()) {
		cpus_read_lock();
		preempt_disable();
		for_each_online_cpu(cpu) {
			if (cpu == smp_processor_id())
				continue;
			WRITE_ONCE(per_cpu(nmi_cpus, cpu).wanted, 1);
			apic->send_IPI_mask(cpumask_of(cpu), NMI_VECTOR);
		}
		preempt_enable();
		cpus_read_unlock();
		usleep_range(interval, interval + interval / 4);
	}
	return 0;
}

static int __init test_init(void)
{
	struct kprobe kp = { .symbol_name = "perf_callchain_user" };
	int err;

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
		unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
		return PTR_ERR(sender);
	}
	return 0;
}

static void __exit test_exit(void)
{
	static struct nmi_cpu sum;
	int cpu;

	kthread_stop(sender);
	msleep(100);
	unregister_nmi_handler(NMI_LOCAL, KBUILD_MODNAME);
	for_each_possible_cpu(cpu) {
		const struct nmi_cpu *c = per_cpu_ptr(&nmi_cpus, cpu);

		sum.sampled += c->sampled;
		sum.from_user += c->from_user;
		sum.in_interrupt += c->in_interrupt;
		sum.frames += c->frames;
	}
	pr_info("%lu samples, %lu of user code, %lu in interrupts, %lu frames\n",
		sum.sampled, sum.from_user, sum.in_interrupt, sum.frames);
}

module_init(test_init);
module_exit(test_exit);

MODULE_DESCRIPTION("Test of hsunwind: samples from NMIs");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
