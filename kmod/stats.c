// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters, one set per CPU, so that samples never share a cache line. They
 * are single instructions on x86 and so safe against an NMI in between.
 */
#include <linux/cpumask.h>
#include <linux/string.h>

#include "stats.h"

DEFINE_PER_CPU(struct hsu_stats, hsu_stats);

void hsu_stats_sum(struct hsu_stats *sum)
{
	unsigned int i;
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		const struct hsu_stats *s = per_cpu_ptr(&hsu_stats, cpu);

		for (i = 0; i < HSUNWIND_STOP_NR; i++)
			sum->stops[i] += READ_ONCE(s->stops[i]);
		for (i = 0; i < HSUNWIND_COUNT_NR; i++)
			sum->counters[i] += READ_ONCE(s->counters[i]);
	}
}
