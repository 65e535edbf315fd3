// SPDX-License-Identifier: GPL-2.0-only
/*
 * Look-ups for samples: called in NMI context, so the rules at the top of
 * hook.c apply to everything in here.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

#include "lookup.h"
#include "requests.h"

/*
 * Without the mappings, the executable can still be placed: exec left the
 * address of its first executable segment in the mm. That is 0 until exec is
 * done. A process may change it later, which only spoils its own chains.
 */
static bool hsu_main_map(struct hsu_map *map, const struct hsu_image *img,
			 const struct mm_struct *mm)
{
	const struct hsunwind_seg *first = &img->segs[0];
	const struct hsunwind_seg *last = &img->segs[img->hdr->nr_segs - 1];
	u64 code = READ_ONCE(mm->start_code);

	map->start = code;
	map->end = code + (last->vaddr + last->size - first->vaddr);
	map->bias = code - (first->vaddr - img->hdr->base);
	map->img = img;
	return code && map->bias <= map->start && map->start < map->end &&
	       map->end <= TASK_SIZE_MAX;
}

bool hsu_lookup(struct hsu_view *view)
{
	const struct hsu_subject who = hsu_subject_current();
	const struct hsu_table *table = NULL;
	struct hsu_entry *entry;

	view->proc = hsu_processes_find(who.mm);
	if (view->proc) {
		table = rcu_dereference(view->proc->table);
		if (!table)
			return false;
		/* It is not what it was when somebody registered it for himself. */
		if (table->cred && !hsu_may_trace(table->cred, &who)) {
			hsu_lookup_missed(view);
			return false;
		}
	}
	if (table && table->nr_maps) {
		view->maps = table->maps;
		view->nr_maps = table->nr_maps;
		view->show = table->show;
		view->provisional = false;
		return true;
	}

	entry = hsu_images_program(&who);
	if (!entry)
		return false;
	/* Between vfork and exec the mm is the parent's, not this process's. */
	if (view->proc)
		hsu_lookup_missed(view);
	else if (!current->vfork_done)
		hsu_request_post(current, 0);
	view->maps = &view->main;
	view->nr_maps = 1;
	view->show = entry->flags & HSUNWIND_SHOW_MASK;
	view->provisional = true;
	return hsu_main_map(&view->main, &entry->img, who.mm);
}

void hsu_lookup_missed(const struct hsu_view *view)
{
	struct hsu_process *proc = view->proc;
	unsigned long now = jiffies;

	if (!proc || time_before(now, READ_ONCE(proc->next_miss)))
		return;
	/* Several CPUs may get here at once: the requests are merged. */
	WRITE_ONCE(proc->next_miss, now + READ_ONCE(proc->interval));
	hsu_request_post(current, HSU_WHY_MISS);
}
