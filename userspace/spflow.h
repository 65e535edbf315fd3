/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sp rows from the machine code itself, for Haskell code without debug info.
 */
#ifndef HSU_SPFLOW_H
#define HSU_SPFLOW_H

#include "image_build.h"
#include "infotable.h"
#include "rows.h"
#include "targets.h"

/**
 * hsu_sp_flow() - find Sp rows for a piece of Haskell code
 * @code: the code; functions that are found are added to its @functions.
 * @only: only procedures in which one of these addresses is, or NULL.
 * @base: of the image.
 * @cls: class of the code.
 * @targets: jumps out of @code are added here; the sorted ones in it are
 *	entries that need no info table.
 * @rows: rows are added here.
 * @stats: added to.
 *
 * Follows every path from each entry, and how far Sp has moved on it. At the
 * entry the distance to the caller's return address is known: 0 in functions
 * and thunks, the size of the own frame in continuations. A path that ends in
 * a return (a jump through the word at Sp) must end at distance 0, and paths
 * that meet must agree; otherwise the whole function is left without rows.
 */
void hsu_sp_flow(struct hsu_code *code, const struct hsu_targets *only,
		 u64 base, u8 cls, struct hsu_targets *targets,
		 struct hsu_rows *rows, struct hsu_sp_stats *stats);

#endif /* HSU_SPFLOW_H */
