/* SPDX-License-Identifier: GPL-2.0-only */
/* An invented process for tests of the core: code, memory and registers. */
#ifndef WORLD_H
#define WORLD_H

#include "hsu_core.h"

#define WORLD_BASE	0x400000ull	/* where the image is mapped */
#define WORLD_TEXT	0x10000u	/* bytes of code */
#define WORLD_STACK	0x7fff0000ull	/* C stack */
#define WORLD_HEAP	0x42000000ull	/* Haskell heap and stacks */
#define WORLD_SIZE	0x10000u	/* bytes of each of the latter */

/* Code addresses of the invented program; each gets 0x100 bytes. */
enum {
	AT_MAIN = 0x100,	/* class C */
	AT_LIBC = 0x200,	/* class LIBC */
	AT_START = 0x300,	/* bottom */
	AT_SCHEDULE = 0x400,	/* class RTS */
	AT_USER = 0x500,	/* class C, rbp frame with saved rbx and r14 */
	AT_DRAP = 0x600,	/* CFA = *(rbp - 8), rbp at rbp, rbx lost */
	AT_ALIGNED = 0x680,	/* the same, but rbx at rbp - 16 */
	AT_PLT = 0x700,
	AT_SIGRETURN = 0x800,
	AT_VFORK = 0x880,	/* return address in rdi */
	AT_R12 = 0x900,		/* CFA from a register that is not tracked */
	AT_GC = 0x980,		/* class GC */
	AT_HOLE = 0xa00,	/* no rule */
	AT_CMM = 0x1000,	/* class HS_RTS, caller at or above rbp */
	AT_HS = 0x2000,		/* class HS, no Sp row, up to AT_HS_SCAN */
	AT_HS_SCAN = 0x6000,	/* class HS, caller at or above rbp + 8 */
	AT_CMM_SCAN = 0x7000,	/* class HS_RTS, at or above rbp + 8 * rax */
	AT_HS_SP = 0x8000,	/* return address at rbp + 16 */
	AT_HS_END = 0x9000,	/* no Haskell frame is left */
	AT_HS_SAVED = 0x9100,	/* Sp is saved, return address 24 above that */
	AT_CMM_SAVED = 0x9200,	/* the same in class HS_RTS, 0 above */
	AT_END = 0x9300,
};

#define GC_FRAME	(AT_GC + 1)	/* stands for the collector */
#define GAP_FRAME	(AT_CMM + 0x182)	/* for frames that are left out */

#define STGRUN_SIZE	16440	/* of StgRun's frame: caller's rsp - own rsp */
#define STGRUN_RETURN	(AT_SCHEDULE + 0x20)

struct world {
	struct hsunwind_image *image;
	struct hsu_image img;
	struct hsu_map map;
	struct hsu_walk w;
	__u64 out[512];
	__u8 kinds[512];
	unsigned char text[WORLD_TEXT];
	unsigned char stack[WORLD_SIZE];
	unsigned char heap[WORLD_SIZE];
	int fail_read;		/* let the n-th read fail; 0: none */
	int reads;
};

/**
 * world_create() - an invented process
 *
 * Return: the world, with a valid image and empty stacks.
 */
struct world *world_create(void);
void world_destroy(struct world *world);

/* Run-time address of an AT_* plus offset. */
#define CODE(at)	(WORLD_BASE + (at))

void world_poke(struct world *world, __u64 addr, __u64 value);

/**
 * world_info() - put an info table before a code address
 * @world: the world.
 * @at: AT_* plus offset, a multiple of 8.
 * @type: closure type.
 * @layout: layout word.
 */
void world_info(struct world *world, __u32 at, __u32 type, __u64 layout);

/* Makes a Capability of what is at an address: code of the RTS in its table. */
void world_cap(struct world *world, __u64 cap);

/**
 * world_stgrun() - the C stack below Haskell code: StgRun, schedule, main
 * @world: the world.
 * @rsp: rsp of the Haskell code, 8 below a multiple of 16.
 * @user_frames: frames of the program's own C code below the scheduler.
 *
 * Return: the address behind the outermost return address.
 */
__u64 world_stgrun(struct world *world, __u64 rsp, unsigned int user_frames);

/**
 * world_walk() - walk from registers that the test has set
 * @world: the world.
 *
 * Return: the stop reason.
 */
enum hsunwind_stop world_walk(struct world *world);

#endif /* WORLD_H */
