/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tables of mappings of processes.
 *
 * hsu_registry_lock guards all of this. What a table is to be made of is put
 * together in one place, of which the functions here give the length.
 */
#ifndef HSU_TABLES_H
#define HSU_TABLES_H

#include <linux/cred.h>
#include <linux/mm_types.h>
#include <linux/rcupdate.h>

#include "images.h"

#define HSU_MAX_MAPS	1024	/* mappings of registered files in a process */

/**
 * struct hsu_table - the mappings of a process; immutable once published
 * @rcu: for freeing it.
 * @cred: the credentials without which it does not hold, if it has an image
 *	that somebody has registered for his own processes, or was asked for by
 *	somebody for this process; else NULL.
 * @show: what is shown, %HSUNWIND_SHOW_MASK.
 * @nr_maps: number of @maps.
 * @maps: sorted by address. Each holds a reference on its image.
 */
struct hsu_table {
	struct rcu_head rcu;
	const struct cred *cred;
	u32 show;
	u32 nr_maps;
	struct hsu_map maps[];
};

/**
 * hsu_table_scan() - look at the mappings of a process
 * @whose: the process; the caller holds mm_users.
 * @gfp: GFP_KERNEL if it may sleep.
 *
 * Return: number of registered mappings, or -EAGAIN if they are locked.
 */
int hsu_table_scan(const struct hsu_subject *whose, gfp_t gfp);

/**
 * hsu_table_program() - the program that makes a process one of ours
 * @whose: the process.
 * @nr: from hsu_table_scan().
 * @program: out: the image of the program.
 *
 * It is looked for among the mappings, too: it may have been executed through an
 * overlay that was not there when the file beneath was registered.
 *
 * Return: 0, -ENOENT if there is none, -EAGAIN if exec has not got that far.
 */
int hsu_table_program(const struct hsu_subject *whose, u32 nr,
		      struct hsu_entry **program);

/**
 * hsu_table_matches() - is a table as it would be made now?
 * @table: a table, or NULL.
 * @nr: from hsu_table_scan().
 * @own: as for hsu_table_create().
 */
bool hsu_table_matches(const struct hsu_table *table, u32 nr, bool own);

/**
 * hsu_table_add_vma() - put a table and a new mapping together
 * @table: the table of the process.
 * @vma: an executable mapping of a file.
 * @whose: the process.
 *
 * Return: number of mappings, 0 if the file is not registered, -EAGAIN if the
 * mappings have to be scanned.
 */
int hsu_table_add_vma(const struct hsu_table *table,
		      const struct vm_area_struct *vma,
		      const struct hsu_subject *whose);

/**
 * hsu_table_without_gone() - the mappings without images that are removed
 * @table: a table.
 *
 * Return: number of mappings.
 */
u32 hsu_table_without_gone(const struct hsu_table *table);

/**
 * hsu_table_create() - make a table of what has been put together
 * @nr: number of mappings.
 * @cred: credentials of the process.
 * @own: it does not hold for others, whatever its images are.
 * @gfp: GFP_KERNEL if it may sleep.
 *
 * Return: the table, or NULL for want of memory.
 */
struct hsu_table *hsu_table_create(u32 nr, const struct cred *cred, bool own,
				   gfp_t gfp);

/**
 * hsu_table_publish() - let samples use another table
 * @place: where they find it. What is there is freed after a grace period.
 * @table: the table, or NULL.
 */
void hsu_table_publish(struct hsu_table __rcu **place, struct hsu_table *table);

#endif /* HSU_TABLES_H */
