/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything that differs between kernels. No other file may ask for a version
 * or a feature. A feature is probed for: as a macro here, or by Kbuild, which
 * looks into the headers and defines HSU_HAVE_*. Written for Linux 6.1.
 */
#ifndef HSU_COMPAT_H
#define HSU_COMPAT_H

#include <linux/fs.h>
#include <linux/ftrace.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>

#ifndef CONFIG_X86_64
#error "hsunwind knows x86-64 only"
#endif

#include <asm/vdso.h>

/* ftrace: how a callback sees and redirects the function it was called for. */

#ifdef CONFIG_DYNAMIC_FTRACE_WITH_ARGS
#define HSU_FTRACE_REGS_FLAG	0
#else
#define HSU_FTRACE_REGS_FLAG	FTRACE_OPS_FL_SAVE_REGS
#endif

/**
 * hsu_ftrace_arg() - argument of the traced function
 * @fregs: as given to the callback.
 * @n: 0 or 1.
 *
 * Context: any, NMI included.
 */
static __always_inline unsigned long hsu_ftrace_arg(struct ftrace_regs *fregs,
						    unsigned int n)
{
#ifdef ftrace_regs_get_argument
	return ftrace_regs_get_argument(fregs, n);
#else
	/* not ftrace_get_regs(): it is for those who have all registers */
	return n ? fregs->regs.si : fregs->regs.di;
#endif
}

/**
 * hsu_ftrace_redirect() - run another function in place of the traced one
 * @fregs: as given to the callback.
 * @to: function to run; entered as if by a jump.
 *
 * Context: any, NMI included.
 */
static __always_inline void hsu_ftrace_redirect(struct ftrace_regs *fregs,
						void (*to)(void))
{
#ifdef ftrace_regs_set_instruction_pointer
	ftrace_regs_set_instruction_pointer(fregs, (unsigned long)to);
#else
	ftrace_instruction_pointer_set(fregs, (unsigned long)to);
#endif
}

/* Tasks whose saved user registers are not those of a program. */

#ifdef PF_USER_WORKER
#define HSU_PF_NO_USER		(PF_KTHREAD | PF_USER_WORKER)
#else
#define HSU_PF_NO_USER		(PF_KTHREAD | PF_IO_WORKER)
#endif

/**
 * hsu_in_execve() - is a task between two programs?
 * @task: the task.
 *
 * Context: any, NMI included.
 */
static inline bool hsu_in_execve(const struct task_struct *task)
{
#ifdef HSU_HAVE_IN_EXECVE
	return task->in_execve;
#else
	return false;
#endif
}

/* Mappings of a process. */

#define HSU_VMA_ITERATOR(name, mm)	VMA_ITERATOR(name, mm, 0)
#define hsu_for_each_vma(name, vma)	for_each_vma(name, vma)

/**
 * hsu_mm_vdso() - where the vdso is
 * @mm: address space of a process.
 * @size: out: its size in bytes, as far as it is not 0.
 *
 * Return: its address, or 0.
 */
static inline unsigned long hsu_mm_vdso(struct mm_struct *mm,
					unsigned long *size)
{
	const struct vdso_image *image = READ_ONCE(mm->context.vdso_image);

	*size = image ? image->size : 0;
	return image ? (unsigned long)READ_ONCE(mm->context.vdso) : 0;
}

/**
 * hsu_mm_dumpable() - may its owner look into an address space?
 * @mm: the address space.
 *
 * Context: any, NMI included.
 */
static inline bool hsu_mm_dumpable(const struct mm_struct *mm)
{
	return __get_dumpable(READ_ONCE(mm->flags)) == SUID_DUMP_USER;
}

/* Inodes. */

/**
 * hsu_inode_mtime() - when the content of a file was changed last
 * @inode: the file.
 * @sec: out: seconds.
 * @nsec: out: nanoseconds.
 *
 * Context: any, NMI included.
 */
static inline void hsu_inode_mtime(const struct inode *inode, s64 *sec,
				   u32 *nsec)
{
#ifdef HSU_HAVE_INODE_GET_MTIME
	*sec = inode_get_mtime_sec(inode);
	*nsec = inode_get_mtime_nsec(inode);
#else
	*sec = inode->i_mtime.tv_sec;
	*nsec = inode->i_mtime.tv_nsec;
#endif
}

#endif /* HSU_COMPAT_H */
