/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the steps of the image builder hand to each other. All addresses are
 * virtual addresses as the ELF file has them, except in struct hsu_rows.
 */
#ifndef HSU_BUILDER_H
#define HSU_BUILDER_H

#include "cfa.h"
#include "elffile.h"
#include "image_build.h"
#include "rows.h"
#include "targets.h"

/* A range of code and, where it matters, its HSUNWIND_CLASS_*. */
struct hsu_range {
	u64 start;
	u64 end;
	u8 cls;
};

struct hsu_ranges {
	struct hsu_range *v;
	size_t nr;
	size_t cap;
	bool failed;	/* out of memory */
};

void hsu_ranges_add(struct hsu_ranges *r, u64 start, u64 end, u8 cls);
void hsu_ranges_sort(struct hsu_ranges *r);
/* The range of a sorted list that contains @addr, or NULL. */
const struct hsu_range *hsu_ranges_find(const struct hsu_ranges *r, u64 addr);

/**
 * struct hsu_gap - executable code that no FDE covers
 * @start: first address.
 * @end: first address behind it.
 * @crt_end: start-up code of the C compiler ends here; @start if there is none.
 * @tables: plausible info tables in it.
 * @frames: of them, those of continuations.
 * @closures: of them, those of functions and thunks.
 * @special: bit n: an info table of the n-th frame type that only the RTS has.
 * @underflow: code of an underflow frame, 0: none.
 */
struct hsu_gap {
	u64 start;
	u64 end;
	u64 crt_end;
	size_t tables;
	size_t frames;
	size_t closures;
	u32 special;
	u64 underflow;
};

/**
 * struct hsu_stgrun - the function by which C enters Haskell code
 * @found: the file contains it.
 * @start: first address.
 * @end: first address behind it.
 * @entry: where it is called.
 * @body: address from which its CFI says that all registers are saved.
 * @rule: rule as seen from Haskell code.
 */
struct hsu_stgrun {
	bool found;
	u64 start;
	u64 end;
	u64 entry;
	u64 body;
	struct hsunwind_rule rule;
};

#define HSU_MAX_GAPS	(1u << 20)

/**
 * struct hsu_builder - an image under construction
 * @elf: the file.
 * @debug: the file that .debug_frame comes from: @elf or a separate one, NULL
 *	if there is none.
 * @base: lowest address, what the image counts from.
 * @rows: spans of C code, then of everything.
 * @fdes: code covered by FDEs of C code.
 * @gaps: the rest of the executable sections.
 * @nr_gaps: number of gaps.
 * @haskell: Haskell code, with class HS or HS_RTS.
 * @classes: C code that is of another class than C.
 * @stgrun: StgRun.
 * @rets: return addresses of calls of StgRun.
 * @nr_rets: their number.
 * @collector: functions through which a thread gets into the collector.
 * @gc_frame: address that stands for the collector in a chain, 0: none.
 * @gap_frame: address that stands for frames that are left out, 0: none.
 * @info: for the caller.
 */
struct hsu_builder {
	struct hsu_elf *elf;
	struct hsu_elf *debug;
	u64 base;
	struct hsu_rows rows;
	struct hsu_ranges fdes;
	struct hsu_gap *gaps;
	size_t nr_gaps;
	struct hsu_ranges haskell;
	struct hsu_ranges classes;
	struct hsu_stgrun stgrun;
	u64 rets[HSUNWIND_MAX_STGRUN_RETS];
	size_t nr_rets;
	struct hsu_ranges collector;
	u64 gc_frame;
	u64 gap_frame;
	struct hsu_build_info *info;
};

/* The steps, in order. Each may set a .failed flag for want of memory. */

/* Rows and ranges of C code from .eh_frame, else from .debug_frame. */
void hsu_build_c_rows(struct hsu_builder *b);
/* plt.c: the linkage table, if it has no CFI */
void hsu_build_plt(struct hsu_builder *b);
/* Finds @b->gaps and the info tables in them. */
bool hsu_build_gaps(struct hsu_builder *b);
/* classify.c: are there as many as Haskell code has? */
bool hsu_gap_has_tables(const struct hsu_gap *g);
/* cmmgaps.c: has it no way out but those of Haskell code? */
bool hsu_gap_ends_as_haskell(struct hsu_builder *b, const struct hsu_gap *g);
/* Whether and by what the file is Haskell: version, evidence. */
void hsu_build_evidence(struct hsu_builder *b);
/* Divides the code into Haskell code, RTS and the rest. */
void hsu_build_classes(struct hsu_builder *b);
/* Replaces the rows of StgRun by correct ones. */
void hsu_build_stgrun(struct hsu_builder *b);
/* collector.c: finds the collector; wants the classes. */
void hsu_build_collector(struct hsu_builder *b);
/* Adds rows of assembler code without CFI; wants the rows sorted. */
void hsu_build_asm(struct hsu_builder *b);
/* Adds the spans of Haskell code, with what @flags (HSU_BUILD_*) allow. */
void hsu_build_haskell(struct hsu_builder *b, unsigned int flags);

/**
 * hsu_find_pointers() - find functions of the run-time system without symbols
 * @b: the builder.
 * @r: its Cmm code.
 * @targets: what its C code and its tables point to in there is added.
 */
void hsu_find_pointers(struct hsu_builder *b, const struct hsu_range *r,
		       struct hsu_targets *targets);

/**
 * hsu_each_branch() - find direct calls and jumps in a range of code
 * @b: the builder.
 * @start: first address.
 * @end: first address behind the range.
 * @fn: called for every byte position that could be a direct call or jump with
 *	a 32-bit displacement: address behind the instruction, target, is it a
 *	call. Most such positions are none: @fn must judge by the target.
 * @ctx: for @fn.
 */
void hsu_each_branch(struct hsu_builder *b, u64 start, u64 end,
		     void (*fn)(void *ctx, u64 after, u64 target, bool call),
		     void *ctx);

#endif /* HSU_BUILDER_H */
