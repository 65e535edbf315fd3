/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The core of hsunwind: from registers and memory to a chain of addresses.
 *
 * Pure C, the same sources in the kernel module and in the tools. It knows
 * nothing of perf, ioctls, processes or ELF. It does not allocate, lock, log or
 * sleep, and every loop has a bound, so that it may run in NMI context on
 * hostile input.
 */
#ifndef HSU_CORE_H
#define HSU_CORE_H

#include "hsu_env.h"
#include "hsunwind.h"

/* DWARF register numbers of x86-64 (psABI, figure 3.36). */
enum hsu_reg {
	HSU_RAX, HSU_RDX, HSU_RCX, HSU_RBX, HSU_RSI, HSU_RDI, HSU_RBP, HSU_RSP,
	HSU_R8, HSU_R9, HSU_R10, HSU_R11, HSU_R12, HSU_R13, HSU_R14, HSU_R15,
	HSU_NR_REGS
};

/**
 * struct hsu_image - a validated image, ready for look-ups
 * @hdr: the image itself; not copied, must outlive this structure.
 * @segs: its executable segments.
 * @rules: its rules.
 * @pcs: addresses of its rows.
 * @ids: rule numbers of its rows.
 */
struct hsu_image {
	const struct hsunwind_image *hdr;
	const struct hsunwind_seg *segs;
	const struct hsunwind_rule *rules;
	const u32 *pcs;
	const u16 *ids;
};

/**
 * hsu_image_init() - check an image in full and prepare it for look-ups
 * @img: filled in on success.
 * @data: the image, aligned to 8 bytes.
 * @len: length of @data in bytes.
 *
 * Everything that the walk relies on is checked here, once, so that no look-up
 * has to. Takes time proportional to @len.
 *
 * Context: any; does not sleep.
 * Return: NULL if the image is good, else a constant string that names the
 * first bad field.
 */
const char *hsu_image_init(struct hsu_image *img, const void *data, size_t len);

/**
 * hsu_image_bias() - where an executable mapping puts an image
 * @img: the image of the mapped file.
 * @start: first address of the mapping.
 * @offset: file offset that is mapped there, bytes.
 * @bias: out: run-time address of the image's base.
 *
 * Return: false if the mapping is not one of an executable segment.
 */
bool hsu_image_bias(const struct hsu_image *img, u64 start, u64 offset,
		    u64 *bias);

/**
 * struct hsu_map - one executable mapping of a process
 * @start: first address.
 * @end: first address behind it.
 * @bias: run-time address of the image's base.
 * @img: image of the mapped file.
 */
struct hsu_map {
	u64 start;
	u64 end;
	u64 bias;
	const struct hsu_image *img;
};

/* Everything that there is. */
#define HSU_SHOW_ALL	(HSUNWIND_SHOW_INTERNAL | HSUNWIND_SHOW_RTS | \
			 HSUNWIND_GC_SHOW)

/* Kind of an entry of the chain, for tools that want to know. */
enum hsu_kind {
	HSU_LEAF,
	HSU_HASKELL,
	HSU_C,
	HSU_COLLECTOR,	/* stands for all that the collector does */
	HSU_GAP,	/* stands for frames that are left out */
	HSU_NR_KINDS
};

#define HSU_BLOCK_WORDS		32	/* of the Haskell stack, read at a time */
#define HSU_SEEN_SETS	32	/* of frames of a stack that may be squeezed */
#define HSU_SEEN_WAYS	4	/* of them in each */
#define HSU_MAX_CYCLE		8	/* entries of a recursion that is folded */
#define HSU_RECENT		(2 * HSU_MAX_CYCLE)
#define HSU_MAX_HELD		8	/* entries that may turn out to be start-up code */
#define HSU_ROOT_CHUNKS		32	/* of a deep stack, that are walked */
#define HSU_MAX_STEPS		(1u << 20)	/* physical frames per walk */
/* Reads of memory: for each of them, and for what has to be searched. */
#define HSU_READS_PER_STEP	16
#define HSU_READS_MORE		4096

/**
 * struct hsu_walk - one walk: input, result and working state
 * @env: in: how to read the process.
 * @maps: in: its executable mappings, sorted by address, not overlapping.
 * @nr_maps: in: their number.
 * @ip: in: interrupted instruction.
 * @regs: in: registers at @ip by DWARF number.
 * @flags: in: %HSUNWIND_SHOW_MASK.
 * @max_steps: in: physical frames and chunks to visit at most, up to
 *	%HSU_MAX_STEPS.
 * @out: in: where the chain goes, leaf first.
 * @kinds: in: where the kind of each entry goes, or NULL.
 * @cap: in: entries that fit, at least 1.
 * @root: in: of them, those for the root if not all frames fit; 0: half of them.
 * @n: out: entries written; 0 only with %HSUNWIND_GC_DROP.
 * @collecting: out: this is the collector at work.
 * @gapped: out: frames are left out, see %HSU_GAP.
 * @steps: out: physical frames and chunks visited.
 * @scanned: out: number of Haskell functions whose caller had to be searched.
 * @resynced: out: number of safe calls whose Haskell stack had moved.
 * @reads: out: reads of memory, and those that were too many.
 *
 * The rest is private to the core.
 */
struct hsu_walk {
	struct hsu_env env;
	const struct hsu_map *maps;
	u32 nr_maps;
	u64 ip;
	u64 regs[HSU_NR_REGS];
	u32 flags;
	u32 max_steps;
	u64 *out;
	u8 *kinds;
	u32 cap;
	u32 root;

	u32 n;
	bool collecting;
	bool gapped;
	u32 steps;
	u32 scanned;
	u32 resynced;
	u32 reads;

	/* private: */
	u32 max_reads;
	u32 nr;			/* length of the chain if all of it did fit */
	u32 gap_at;		/* see chain.c */
	u32 ring_size;
	u32 ring_first;
	u32 ring_nr;
	u32 nr_held;		/* entries of the chain's end with no place yet */
	struct hsu_held {
		u64 addr;
		u8 kind;
	} held[HSU_MAX_HELD];
	u64 recent[HSU_RECENT];	/* the last entries, for a recursion */
	u32 last_recent;
	u32 nr_recent;
	bool skipped;		/* the root of this stack is being walked */
	u64 root_sp[HSU_ROOT_CHUNKS];	/* and size in use of its last chunks */
	u32 root_words[HSU_ROOT_CHUNKS];
	u32 valid;		/* bit mask of the registers still known */
	bool exact;		/* ip is an instruction, not a return address */
	bool below_haskell;	/* only plumbing seen since the Haskell stack */
	bool have_tail;		/* @tail is the end of some plumbing */
	u32 tail;		/* chain length when that plumbing ended */
	u32 tail_own;		/* frames of the user's own C code since then */
	u32 own;		/* chain length behind the last of his frames */
	u32 nr_incalls;		/* call-in records that belong to inner stacks */
	bool incall_used;	/* one of them to the stack that is walked */
	u8 callee_cls;		/* class of the C frame one below */
	u64 callee[2];		/* rbx and r14 there */
	u64 incall;		/* record of the thread that is walked, if it */
	u64 tso;		/* is suspended; that thread */
	u64 stackobj;		/* and its topmost chunk */
	u64 squeezed;		/* Sp of a stack that may have gaps, 0: none */
	struct hsu_seen {
		u64 hash;
		u64 addr;
	} seen[HSU_SEEN_SETS][HSU_SEEN_WAYS];	/* frames of that stack */
	u64 block_addr;		/* of @block, 0: empty */
	u32 block_words;
	u64 block[HSU_BLOCK_WORDS];
};

/**
 * hsu_walk() - walk the stack of one thread
 * @w: input filled in, everything else zero.
 *
 * The first entry is @w->ip, if the collector is not at work. No entry is ever
 * written that was not checked to lie in code of a known image, except that one.
 *
 * Context: any, NMI included. Time is bounded by @max_steps and @cap: after
 * @max_steps * %HSU_READS_PER_STEP + %HSU_READS_MORE reads of memory no more are
 * made, and the walk ends.
 * Return: why the walk ended, an &enum hsunwind_stop.
 */
enum hsunwind_stop hsu_walk(struct hsu_walk *w);

/**
 * hsu_stop_name() - stable name of a stop reason
 * @stop: an &enum hsunwind_stop; any other value gives "unknown".
 */
const char *hsu_stop_name(unsigned int stop);

/**
 * hsu_stop_text() - meaning of a stop reason, a phrase for users
 * @stop: an &enum hsunwind_stop; any other value gives "unknown".
 */
const char *hsu_stop_text(unsigned int stop);

#endif /* HSU_CORE_H */
