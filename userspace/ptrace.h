/* SPDX-License-Identifier: GPL-2.0-only */
/* Stop the threads of a live process, look, and let it go on as it was. */
#ifndef HSU_PTRACE_H
#define HSU_PTRACE_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/user.h>

#include "error.h"

/**
 * struct hsu_thread - one stopped thread
 * @tid: its number.
 * @signal: signal that it was about to get; it gets it when it goes on.
 * @regs: its registers.
 */
struct hsu_thread {
	pid_t tid;
	int signal;
	struct user_regs_struct regs;
};

/**
 * struct hsu_stopped - all threads of a process, stopped
 * @pid: the process.
 * @threads: its threads.
 * @nr: their number.
 */
struct hsu_stopped {
	pid_t pid;
	struct hsu_thread *threads;
	size_t nr;
};

/**
 * hsu_stop_process() - stop all threads of a process
 * @pid: the process.
 * @s: filled in.
 * @err: why it failed.
 *
 * Uses PTRACE_SEIZE, so that a process that job control had stopped stays
 * stopped afterwards. Threads that start meanwhile are stopped too.
 *
 * Return: 0, -ESRCH if the process has ended, or another negative errno.
 */
int hsu_stop_process(pid_t pid, struct hsu_stopped *s, struct hsu_error *err);

/**
 * hsu_resume_process() - let all threads go on, and free @s
 * @s: what hsu_stop_process() filled in.
 */
void hsu_resume_process(struct hsu_stopped *s);

/**
 * hsu_dwarf_regs() - registers as the core wants them
 * @r: as ptrace gives them.
 * @regs: out: 16 values, by DWARF number.
 */
void hsu_dwarf_regs(const struct user_regs_struct *r, __u64 *regs);

/**
 * struct hsu_memory - cached view of the memory of a stopped process
 *
 * Private, save for the functions below.
 */
struct hsu_memory;

struct hsu_memory *hsu_memory_create(pid_t pid);
void hsu_memory_destroy(struct hsu_memory *mem);

/**
 * hsu_memory_forget() - drop what has been read, because the process ran
 * @mem: the view.
 */
void hsu_memory_forget(struct hsu_memory *mem);

/**
 * hsu_memory_read() - read operation for the core
 * @ctx: a &struct hsu_memory.
 * @addr: address in the process.
 * @dst: where to copy to.
 * @len: bytes.
 *
 * Return: true if all bytes could be read.
 */
bool hsu_memory_read(void *ctx, __u64 addr, void *dst, __u32 len);

#endif /* HSU_PTRACE_H */
