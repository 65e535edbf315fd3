/* SPDX-License-Identifier: GPL-2.0-only */
/* Counters: why walks ended, and what else is worth knowing. */
#ifndef HSU_STATS_H
#define HSU_STATS_H

#include <linux/percpu.h>
#include <linux/types.h>

#include "hsunwind.h"

/**
 * struct hsu_stats - the counters of one CPU
 * @stops: walks by the reason for their end.
 * @counters: by &enum hsunwind_counter.
 */
struct hsu_stats {
	u64 stops[HSUNWIND_STOP_NR];
	u64 counters[HSUNWIND_COUNT_NR];
};

DECLARE_PER_CPU(struct hsu_stats, hsu_stats);

/**
 * hsu_count_stop() - count the end of a walk
 * @stop: the reason.
 *
 * Context: any, NMI included; preemption may be enabled.
 */
static inline void hsu_count_stop(enum hsunwind_stop stop)
{
	this_cpu_inc(hsu_stats.stops[stop]);
}

/**
 * hsu_count() - add to a counter
 * @counter: which one.
 * @n: how much.
 *
 * Context: any, NMI included; preemption may be enabled.
 */
static inline void hsu_count(enum hsunwind_counter counter, u64 n)
{
	this_cpu_add(hsu_stats.counters[counter], n);
}

/**
 * hsu_stats_sum() - add the counters of all CPUs up
 * @sum: out: the sums.
 */
void hsu_stats_sum(struct hsu_stats *sum);

#endif /* HSU_STATS_H */
