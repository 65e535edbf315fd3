/* SPDX-License-Identifier: GPL-2.0-only */
/* The process that an input of the walk's fuzzer describes. */
#ifndef MODEL_H
#define MODEL_H

#include "records.h"
#include "../unit/world.h"
#include "walk_ops.h"

#define LIB_BASE	0x7f0000000000ull	/* the second file */
#define JIT_BASE	0x10000000ull		/* code of no file */
#define JIT_SIZE	4096u
#define TOP_BASE	0xfffffffffffff000ull	/* the last page there is */
#define MODEL_FILES	2
#define MODEL_MAPS	6
#define MODEL_AREAS	6
#define MODEL_OBJECTS	64
#define MODEL_FAILS	8
#define MODEL_RACES	8
#define MODEL_STORES	(1u << 15)
#define MODEL_CAP	512

/* Memory of the process. */
struct area {
	u64 base;
	u64 size;
	u8 *data;
};

/* A store at the moment of a read. */
struct race {
	u32 read;
	u64 addr;
	u64 value;
};

/* What a store has overwritten. */
struct undo {
	u8 *where;
	u64 value;
};

/**
 * struct model - the process, and what the reads of it have come to
 * @world: the first file, both stacks, the heap.
 * @lib: of it, only the file and its code.
 * @jit: code of no file.
 * @top: the last page.
 * @maps: mappings, sorted and not overlapping.
 * @nr_maps: their number.
 * @in: the walk's input; only that.
 * @no_kinds: the walk is not asked for kinds.
 * @reads: reads of the walk so far.
 *
 * The rest belongs to model.c.
 */
struct model {
	struct world *world;
	struct world *lib;
	u8 jit[JIT_SIZE];
	u8 top[4096];
	struct hsu_map maps[MODEL_MAPS];
	u32 nr_maps;
	struct hsu_walk in;
	bool no_kinds;
	u64 reads;

	/* private: */
	struct area areas[MODEL_AREAS];
	u64 value, at, hs, cs;
	u64 heap;			/* free from here on */
	u64 chunk;			/* the one that is not closed */
	u64 objects[MODEL_OBJECTS];
	u32 nr_objects;
	u64 last[OBJ_NR + 1];		/* latest object of each kind, and chunk */
	u32 fails[MODEL_FAILS];
	u32 nr_fails;
	u32 fail_from;			/* all reads from this one on; 0: none */
	u64 hidden, hidden_end;
	struct race races[MODEL_RACES];
	u32 nr_races;
	bool unruly;			/* any of these */
	struct undo undo[MODEL_STORES];
	u32 nr_undo;
	struct hsunwind_image *fresh;	/* both files as they are at first */
};

/**
 * model_create() - a process with nothing on its stacks
 *
 * Return: the model, which lives as long as the fuzzer.
 */
struct model *model_create(void);

/**
 * model_build() - the process of an input
 * @m: the model, which may have been another process before.
 * @r: the operations.
 * @nr: their number.
 */
void model_build(struct model *m, const struct record *r, u32 nr);

/**
 * model_walk() - walk it
 * @m: the model; all that the walk has changed is as before afterwards.
 * @w: out: the walk.
 * @out: room for %MODEL_CAP entries, of which the input may allow fewer.
 * @kinds: likewise.
 *
 * Return: what hsu_walk() says.
 */
int model_walk(struct model *m, struct hsu_walk *w, u64 *out, u8 *kinds);

#endif /* MODEL_H */
