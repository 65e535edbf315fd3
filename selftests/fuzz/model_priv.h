/* SPDX-License-Identifier: GPL-2.0-only */
/* What model.c and build_files.c have for build.c. */
#ifndef MODEL_PRIV_H
#define MODEL_PRIV_H

#include "model.h"

/* Where the process's memory is, NULL if that is not all there. */
u8 *model_locate(struct model *m, u64 addr, u64 len);

/* Stores a word and notes what was there. */
void model_store(struct model *m, u64 addr, u64 value);
u64 model_load(struct model *m, u64 addr);

/* Takes all stores back but the first @nr. */
void model_undo(struct model *m, u32 nr);

/* build_files.c: both files as they are at first. */
void model_files_start(struct model *m);
/* The operations of these names. */
void model_rule(struct model *m, const struct record *r);
void model_ghc(struct model *m, const struct record *r);
void model_head(struct model *m, const struct record *r);
void model_map(struct model *m, const struct record *r);

#endif /* MODEL_PRIV_H */
