// SPDX-License-Identifier: GPL-2.0-only
/*
 * Probes on exec, fork, exit and mmap.
 *
 * Nothing depends on them: a program is also found by its first sample, a
 * library by the first sample in it. With them the tables are there before the
 * first sample in new code, children of a process that was added by pid are known, and ended
 * processes are forgotten soon.
 *
 * The probes must not sleep. mmap is seen through perf_event_mmap(), which every
 * mapping goes through, whether perf runs or not.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/binfmts.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "compat.h"
#include "images.h"
#include "lookup.h"
#include "probes.h"
#include "processes.h"
#include "requests.h"

#define MMAP_FUNCTION	"perf_event_mmap"

/* A probe looks at that many mappings itself, and leaves more to the worker. */
#define MAX_MAPPINGS	256

/*
 * Now, so that not even the first sample is without a table, unless somebody
 * else is at it, or it would take long.
 */
static void hsu_refresh(struct task_struct *task, u32 why)
{
	struct mm_struct *mm = task->mm;
	int err = -EAGAIN;

	if (READ_ONCE(mm->map_count) <= MAX_MAPPINGS &&
	    mutex_trylock(&hsu_registry_lock)) {
		err = hsu_processes_refresh(mm, task_tgid(task), why,
					    GFP_NOWAIT | __GFP_NOWARN);
		mutex_unlock(&hsu_registry_lock);
	}
	if (err == -EAGAIN || err == -ENOMEM)
		hsu_request_post(task, why);
}

static void hsu_on_exec(void *data, struct task_struct *task, pid_t old_pid,
			struct linux_binprm *bprm)
{
	const struct hsu_subject who = hsu_subject_current();
	const struct hsu_entry *entry;
	bool wanted;

	if (hsu_lookup_idle())
		return;
	rcu_read_lock();
	entry = hsu_images_find(file_inode(bprm->file), &who);
	wanted = entry && (entry->flags & HSUNWIND_ADD_PROGRAM);
	rcu_read_unlock();
	if (wanted)
		hsu_refresh(current, 0);
	/* What the process was before has ended. */
	if (READ_ONCE(hsu_nr_processes))
		hsu_request_reap();
}

static void hsu_on_fork(void *data, struct task_struct *parent,
			struct task_struct *child)
{
	const struct hsu_process *proc;
	u32 flags, why = 0;

	if (!READ_ONCE(hsu_nr_processes))
		return;
	if (!parent->mm || !child->mm || parent->mm == child->mm)
		return;
	rcu_read_lock();
	proc = hsu_processes_find(parent->mm);
	flags = proc ? READ_ONCE(proc->flags) : 0;
	if (flags & HSU_PROC_EXPLICIT)
		why |= HSU_WHY_EXPLICIT;
	if (flags & HSU_PROC_OWN)
		why |= HSU_WHY_OWN;
	rcu_read_unlock();
	if (proc)
		hsu_refresh(child, why);
}

static void hsu_on_exit(void *data, struct task_struct *task)
{
	if (READ_ONCE(hsu_nr_processes) && !atomic_read(&task->signal->live))
		hsu_request_reap();
}

static void hsu_on_mmap(unsigned long ip, unsigned long parent_ip,
			struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
	const struct vm_area_struct *vma = (void *)hsu_ftrace_arg(fregs, 0);
	const struct hsu_subject who = hsu_subject_current();
	const struct hsu_entry *entry;
	int err = -EAGAIN;
	bool wanted;

	if (hsu_lookup_idle() || !vma->vm_file || !(vma->vm_flags & VM_EXEC) ||
	    vma->vm_mm != current->mm)
		return;
	rcu_read_lock();
	wanted = hsu_processes_find(vma->vm_mm);
	if (!wanted) {
		entry = hsu_images_find(file_inode(vma->vm_file), &who);
		wanted = entry && (entry->flags & HSUNWIND_ADD_PROGRAM);
	}
	rcu_read_unlock();
	if (!wanted)
		return;
	if (mutex_trylock(&hsu_registry_lock)) {
		err = hsu_processes_map(vma);
		mutex_unlock(&hsu_registry_lock);
	}
	if (err)
		hsu_request_post(current, 0);
}

static struct ftrace_ops hsu_mmap_ops = {
	.func = hsu_on_mmap,
	.flags = FTRACE_OPS_FL_RECURSION | HSU_FTRACE_REGS_FLAG,
};

static bool hsu_mmap_attached;

/**
 * struct hsu_probe - a tracepoint and what is to be called
 * @name: name of the tracepoint.
 * @func: the probe.
 * @tp: the tracepoint, once it is found.
 */
struct hsu_probe {
	const char *name;
	void *func;
	struct tracepoint *tp;
};

static struct hsu_probe hsu_probes[] = {
	{ .name = "sched_process_exec", .func = hsu_on_exec },
	{ .name = "sched_process_fork", .func = hsu_on_fork },
	{ .name = "sched_process_exit", .func = hsu_on_exit },
};

static void hsu_probe_match(struct tracepoint *tp, void *data)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(hsu_probes); i++)
		if (!strcmp(tp->name, hsu_probes[i].name))
			hsu_probes[i].tp = tp;
}

static void hsu_probes_unregister(unsigned int nr)
{
	while (nr--)
		tracepoint_probe_unregister(hsu_probes[nr].tp,
					    hsu_probes[nr].func, NULL);
	tracepoint_synchronize_unregister();
}

static int hsu_probes_register(void)
{
	unsigned int i;
	int err;

	for_each_kernel_tracepoint(hsu_probe_match, NULL);
	for (i = 0; i < ARRAY_SIZE(hsu_probes); i++) {
		struct hsu_probe *p = &hsu_probes[i];

		err = p->tp ? tracepoint_probe_register(p->tp, p->func, NULL) :
			      -ENOENT;
		if (!err)
			continue;
		pr_err("cannot watch %s (error %d)\n", p->name, err);
		hsu_probes_unregister(i);
		return err;
	}
	return 0;
}

static void hsu_mmap_attach(void)
{
	static unsigned char name[] = MMAP_FUNCTION;
	int err;

	err = ftrace_set_filter(&hsu_mmap_ops, name, strlen(name), 1);
	if (!err)
		err = register_ftrace_function(&hsu_mmap_ops);
	if (err) {
		ftrace_free_filter(&hsu_mmap_ops);
		pr_info("cannot watch " MMAP_FUNCTION " (error %d): libraries are noticed later\n",
			err);
		return;
	}
	hsu_mmap_attached = true;
}

static void hsu_mmap_detach(void)
{
	if (!hsu_mmap_attached)
		return;
	unregister_ftrace_function(&hsu_mmap_ops);
	ftrace_free_filter(&hsu_mmap_ops);
}

int hsu_probes_init(void)
{
	int err = hsu_probes_register();

	if (!err)
		hsu_mmap_attach();
	return err;
}

void hsu_probes_exit(void)
{
	hsu_mmap_detach();
	hsu_probes_unregister(ARRAY_SIZE(hsu_probes));
}
