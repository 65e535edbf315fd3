/* SPDX-License-Identifier: GPL-2.0-only */
/* What a sample needs to know of the process that it hit. */
#ifndef HSU_LOOKUP_H
#define HSU_LOOKUP_H

#include <linux/types.h>

#include "images.h"
#include "processes.h"

/**
 * struct hsu_view - the mappings of a process, as one sample sees them
 * @maps: its mappings.
 * @nr_maps: their number.
 * @show: what is shown, %HSUNWIND_SHOW_MASK.
 * @provisional: the table is not made yet; only the executable is known.
 * @proc: the process, if it is known.
 * @main: the executable, for @maps to point to.
 */
struct hsu_view {
	const struct hsu_map *maps;
	u32 nr_maps;
	u32 show;
	bool provisional;
	struct hsu_process *proc;
	struct hsu_map main;
};

/**
 * hsu_lookup_idle() - nothing to look for
 *
 * Context: any, NMI included.
 * Return: true if no process can be a registered one.
 */
static inline bool hsu_lookup_idle(void)
{
	return !READ_ONCE(hsu_nr_programs) && !READ_ONCE(hsu_nr_processes);
}

/**
 * hsu_lookup() - the mappings of the current process
 * @view: filled in on success; good until the read-side section ends.
 *
 * A process that runs a registered program and is not known yet is made known
 * by the worker later.
 *
 * Context: any, NMI included; current has an mm; in an RCU read-side critical
 * section.
 * Return: false if it is not a registered process.
 */
bool hsu_lookup(struct hsu_view *view);

/**
 * hsu_lookup_missed() - tell that a walk met an address in no mapping
 * @view: what the walk was given.
 *
 * The mappings of the process are looked at again, but not too often.
 *
 * Context: as hsu_lookup(), and in the same read-side section.
 */
void hsu_lookup_missed(const struct hsu_view *view);

#endif /* HSU_LOOKUP_H */
