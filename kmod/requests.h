/* SPDX-License-Identifier: GPL-2.0-only */
/* What a sample or a probe wants done, and the worker that does it. */
#ifndef HSU_REQUESTS_H
#define HSU_REQUESTS_H

#include <linux/sched.h>
#include <linux/types.h>

/**
 * hsu_request_post() - let the worker look at the mappings of a process
 * @task: a task of the process; either current, or a child not yet started.
 * @why: %HSU_WHY_*.
 *
 * The request is dropped if there are too many already.
 *
 * Context: any, NMI included.
 */
void hsu_request_post(struct task_struct *task, u32 why);

/**
 * hsu_request_stale() - let the worker look at all stale processes
 *
 * Context: any, NMI included.
 */
void hsu_request_stale(void);

/**
 * hsu_request_reap() - let the worker forget the processes that have ended
 *
 * Context: any but NMI.
 */
void hsu_request_reap(void);

/**
 * hsu_requests_init() - start the worker
 *
 * Return: 0 or -ENOMEM.
 */
int hsu_requests_init(void);

/**
 * hsu_requests_exit() - stop the worker
 *
 * Nobody may post anything any more.
 */
void hsu_requests_exit(void);

#endif /* HSU_REQUESTS_H */
