/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * hsunwind: the one file that both sides of the kernel boundary include.
 *
 * It defines the ioctls of /dev/hsunwind, the image format that they carry,
 * and the table of stop reasons.
 */
#ifndef _UAPI_HSUNWIND_H
#define _UAPI_HSUNWIND_H

#include <linux/ioctl.h>
#include <linux/types.h>

/**
 * DOC: Image format
 *
 * An image is the immutable unwind descriptor of one ELF file. It is a header
 * (&struct hsunwind_image) followed by four arrays, each at an offset that is
 * a multiple of 8 and inside the image:
 *
 *  - segs: &struct hsunwind_seg, the executable PT_LOAD segments, sorted by
 *    address, not overlapping;
 *  - rules: &struct hsunwind_rule, the distinct unwind rules;
 *  - pcs: __u32, strictly increasing code addresses;
 *  - ids: __u16, one per pc, the index of the rule in force from that pc up to
 *    the next one.
 *
 * Code addresses are relative to @base of the header, so that they fit in 32
 * bits. The last row must carry a rule of kind %HSUNWIND_RULE_NONE: what lies
 * behind it is unknown.
 *
 * All numbers are in the byte order of the machine. Everything is checked once
 * when the image is handed over; an image with a single bad field is refused.
 */

#define HSUNWIND_IMAGE_MAGIC	0x31495348	/* "HSI1" */
#define HSUNWIND_IMAGE_VERSION	2

#define HSUNWIND_MAX_IMAGE_SIZE	(64u << 20)	/* bytes */
#define HSUNWIND_MAX_ROWS	(8u << 20)
#define HSUNWIND_MAX_RULES	65535u
#define HSUNWIND_MAX_SEGS	64u

/* What an address belongs to; decides whether its frame is shown. */
#define HSUNWIND_CLASS_C	0	/* C code of the program and its libraries */
#define HSUNWIND_CLASS_LIBC	1	/* C library, ld.so, vdso, crt start code */
#define HSUNWIND_CLASS_RTS	2	/* C code of GHC's run-time system */
#define HSUNWIND_CLASS_HS	3	/* Haskell code */
#define HSUNWIND_CLASS_HS_RTS	4	/* Cmm code of GHC's run-time system */
#define HSUNWIND_CLASS_GLUE	5	/* code that only leads from one call to another */
#define HSUNWIND_CLASS_GC	6	/* C code that does nothing but collect */
#define HSUNWIND_CLASS_NR	7

/* How to get from a frame to its caller. */
#define HSUNWIND_RULE_NONE	0	/* unknown code: the walk ends */
#define HSUNWIND_RULE_CFA	1	/* CFA = cfa_reg + cfa_off */
#define HSUNWIND_RULE_DEREF	2	/* CFA = *(cfa_reg + arg) + cfa_off */
#define HSUNWIND_RULE_PLT	3	/* CFA = rsp + 8 + 8 * ((ip & 15) >= arg) */
#define HSUNWIND_RULE_SIGNAL	4	/* struct sigcontext at rsp + arg */
#define HSUNWIND_RULE_BOTTOM	5	/* outermost function: no caller */
#define HSUNWIND_RULE_HS_SP	6	/* return address at rbp + cfa_off */
#define HSUNWIND_RULE_HS	7	/* Haskell code, distance not known */
#define HSUNWIND_RULE_HS_END	8	/* Haskell code below the last frame */
#define HSUNWIND_RULE_CLONE	9	/* as CFA, but no caller if rax is 0 */
#define HSUNWIND_RULE_HS_SCAN	10	/* first from rbp + cfa_off + arg * cfa_reg */
#define HSUNWIND_RULE_RA_REG	11	/* as CFA; return address in register arg */
#define HSUNWIND_RULE_HS_SAVED	12	/* return address at saved Sp + cfa_off */
#define HSUNWIND_RULE_NR	13

/* Saved-register slots of &struct hsunwind_rule, in words from a base. */
#define HSUNWIND_SLOT_SAME	0	/* the caller's value is still there */
#define HSUNWIND_SLOT_LOST	(-32768)

/* That base. */
#define HSUNWIND_SLOTS_CFA	0
#define HSUNWIND_SLOTS_RBP	1	/* rbp + 16: the CFA of a plain frame */
#define HSUNWIND_SLOTS_NR	2

/**
 * struct hsunwind_rule - how to unwind one frame
 * @kind: %HSUNWIND_RULE_*.
 * @cls: %HSUNWIND_CLASS_*. Must be a Haskell class exactly if @kind is one of
 *	%HSUNWIND_RULE_HS_SP, %HSUNWIND_RULE_HS, %HSUNWIND_RULE_HS_END,
 *	%HSUNWIND_RULE_HS_SCAN and %HSUNWIND_RULE_HS_SAVED.
 * @cfa_reg: DWARF number (0 to 15) of the register that the CFA is based on.
 *	0 for kinds that do not use it.
 * @slots: %HSUNWIND_SLOTS_*, what the slots count from. A function that aligns
 *	its stack has its CFA at no fixed distance from what it has saved.
 * @cfa_off: bytes, see @kind.
 * @rbp: slot of the caller's rbp, in words from @slots; negative as a rule.
 *	%HSUNWIND_SLOT_SAME and %HSUNWIND_SLOT_LOST are special.
 * @rbx: the same for rbx.
 * @r14: the same for r14.
 * @arg: bytes, see @kind. For %HSUNWIND_RULE_HS_SP and %HSUNWIND_RULE_HS_SAVED:
 *	what has been pushed on the C stack, that is, the distance from rsp to its
 *	value in pure Haskell code.
 *	For %HSUNWIND_RULE_HS_SCAN: 0 or 8; the register has a number of words.
 *	For %HSUNWIND_RULE_RA_REG: DWARF number (0 to 15) of a register.
 *
 * Otherwise the return address is at CFA - 8 for C code, and at the CFA for
 * Haskell code.
 */
struct hsunwind_rule {
	__u8	kind;
	__u8	cls;
	__u8	cfa_reg;
	__u8	slots;
	__s32	cfa_off;
	__s16	rbp;
	__s16	rbx;
	__s16	r14;
	__s16	arg;
};

/**
 * struct hsunwind_seg - one executable PT_LOAD segment
 * @offset: p_offset, bytes.
 * @vaddr: p_vaddr; not below &hsunwind_image.base.
 * @size: p_filesz, bytes; not 0.
 */
struct hsunwind_seg {
	__aligned_u64	offset;
	__aligned_u64	vaddr;
	__aligned_u64	size;
};

/**
 * struct hsunwind_ghc - where GHC's run-time system keeps what the walk reads
 * @version: major * 100 + minor, for example 900 for GHC 9.0; 0: not GHC code.
 * @header: size of a closure header in bytes: 8, or 24 in profiled code.
 * @reg_tso: StgRegTable.rCurrentTSO, bytes from BaseReg.
 * @tso_stackobj: StgTSO.stackobj, bytes from the start of the closure.
 * @stack_size: StgStack.stack_size (u32, in words), likewise.
 * @stack_sp: StgStack.sp, likewise.
 * @stack_stack: StgStack.stack, likewise.
 * @bco_bitmap: StgBCO.bitmap (its first word is the size in words), likewise.
 * @task_incall: Task.incall in the non-threaded and in the threaded run-time
 *	system, bytes. The walk tells them apart by checking what it finds.
 * @incall_suspended: InCall.suspended_tso, bytes.
 * @incall_task: InCall.task, bytes.
 * @incall_prev: InCall.prev_stack, bytes.
 * @task_cap: Task.cap, bytes back from Task.incall.
 * @cap_reg: Capability.r, which BaseReg points to, bytes.
 * @reg_task: Capability.running_task, bytes from BaseReg.
 *
 * All offsets are multiples of 4 below 4096.
 */
struct hsunwind_ghc {
	__u16	version;
	__u16	header;
	__u16	reg_tso;
	__u16	tso_stackobj;
	__u16	stack_size;
	__u16	stack_sp;
	__u16	stack_stack;
	__u16	bco_bitmap;
	__u16	task_incall[2];
	__u16	incall_suspended;
	__u16	incall_task;
	__u16	incall_prev;
	__u16	task_cap;
	__u16	cap_reg;
	__u16	reg_task;
};

#define HSUNWIND_MAX_STGRUN_RETS	4

/**
 * struct hsunwind_image - header of an image
 * @magic: %HSUNWIND_IMAGE_MAGIC.
 * @version: %HSUNWIND_IMAGE_VERSION.
 * @header_size: sizeof(struct hsunwind_image).
 * @size: size of the whole image in bytes, a multiple of 8.
 * @flags: must be 0.
 * @base: lowest page-aligned p_vaddr of the file's PT_LOAD segments.
 * @nr_segs: number of executable segments, 1 to %HSUNWIND_MAX_SEGS.
 * @segs: offset of the segments.
 * @nr_rules: number of rules, 1 to %HSUNWIND_MAX_RULES.
 * @rules: offset of the rules.
 * @nr_rows: number of rows, 1 to %HSUNWIND_MAX_ROWS.
 * @pcs: offset of the rows' addresses.
 * @ids: offset of the rows' rule numbers.
 * @stgrun_rule: number of the rule of StgRun, of kind %HSUNWIND_RULE_CFA, as
 *	seen from Haskell code; only meaningful if @has_stgrun.
 * @has_stgrun: 1 if the file contains StgRun, else 0.
 * @nr_stgrun_rets: number of entries used in @stgrun_rets.
 * @stgrun_rets: return addresses of the calls of StgRun, relative to @base. If
 *	there are none, any C return address is taken.
 * @gc_frame: address that stands in the chain for all that the collector does,
 *	relative to @base, in code of class %HSUNWIND_CLASS_GC or
 *	%HSUNWIND_CLASS_RTS; 0: none, and the collector's frames are shown.
 * @gap_frame: address that stands in the chain for frames that are left out,
 *	relative to @base, in code of class %HSUNWIND_CLASS_HS_RTS; 0: none.
 * @ghc: layout of GHC's run-time system.
 */
struct hsunwind_image {
	__u32	magic;
	__u16	version;
	__u16	header_size;
	__u32	size;
	__u32	flags;
	__aligned_u64	base;
	__u32	nr_segs;
	__u32	segs;
	__u32	nr_rules;
	__u32	rules;
	__u32	nr_rows;
	__u32	pcs;
	__u32	ids;
	__u16	stgrun_rule;
	__u8	has_stgrun;
	__u8	nr_stgrun_rets;
	__u32	stgrun_rets[HSUNWIND_MAX_STGRUN_RETS];
	__u32	gc_frame;
	__u32	gap_frame;
	struct hsunwind_ghc ghc;
};

/**
 * DOC: Stop reasons
 *
 * Every walk ends for exactly one reason. The numbers are stable: a new reason
 * is appended, an obsolete one stays. X(number, SYMBOL, "name", "meaning")
 */
#define HSUNWIND_STOP_REASONS(X)						\
	X(0, COMPLETE, "complete",						\
	  "the bottom of the thread was reached")				\
	X(1, BUDGET, "budget",							\
	  "the chain is full: raise kernel.perf_event_max_stack or --max-frames") \
	X(2, STEPS, "steps",							\
	  "more physical frames than one sample may visit")			\
	X(3, NO_CODE, "no-code",						\
	  "an address in no registered file; register the library, or -p PID")	\
	X(4, NO_RULE, "no-rule",						\
	  "code of a registered file that has no unwind information")		\
	X(5, NO_REG, "no-reg",							\
	  "the rule needs a register whose value is not known any more")	\
	X(6, READ_C, "read-c",							\
	  "a word of the C stack could not be read without a page fault")	\
	X(7, READ_SP, "read-sp",						\
	  "a word of the Haskell stack could not be read without a page fault")	\
	X(8, READ_INFO, "read-info",						\
	  "an info table could not be read without a page fault")		\
	X(9, BAD_CFA, "bad-cfa",						\
	  "the C stack does not grow towards its bottom")			\
	X(10, BAD_SP, "bad-sp",							\
	  "the Haskell stack pointer is null or not aligned")			\
	X(11, BAD_FRAME, "bad-frame",						\
	  "a word that should be a Haskell return address is none")		\
	X(12, BAD_SIZE, "bad-size",						\
	  "a Haskell frame with an impossible size")				\
	X(13, BAD_CHUNK, "bad-chunk",						\
	  "an underflow frame that does not lead to a stack chunk")		\
	X(14, NO_CALLER, "no-caller",						\
	  "no caller was found above the interrupted Haskell function")		\
	X(15, NO_STGRUN, "no-stgrun",						\
	  "the C caller of the Haskell stack was not found")			\
	X(16, NOT_64BIT, "not-64bit",						\
	  "the interrupted code was not 64-bit code")

#define HSUNWIND_STOP_ENUM(nr, sym, name, text)	HSUNWIND_STOP_##sym = nr,
enum hsunwind_stop {
	HSUNWIND_STOP_REASONS(HSUNWIND_STOP_ENUM)
	HSUNWIND_STOP_NR
};

#undef HSUNWIND_STOP_ENUM

/**
 * DOC: ioctls of /dev/hsunwind
 *
 * Every argument starts with its own size in bytes. A size below that of the
 * first version gives EINVAL; a larger one is accepted if the part that the
 * kernel does not know is zero, else E2BIG. Unknown flags and non-zero reserved
 * fields give EINVAL, an unknown command ENOTTY, a bad pointer EFAULT, want of
 * memory ENOMEM.
 *
 * A privileged caller is one with CAP_PERFMON or CAP_SYS_ADMIN in the initial user
 * namespace. Any other sees and changes only what he has registered for himself,
 * and only processes that he may trace: those with his user and group number,
 * real, effective and saved, in his user namespace, with no capability that he
 * has not, which are dumpable. It counts who calls, not who has opened the device.
 */

#define HSUNWIND_ADD_PROGRAM	(1u << 0)	/* processes that exec it are unwound */
#define HSUNWIND_ADD_VDSO	(1u << 1)	/* describes the vdso: fd must be -1 */
#define HSUNWIND_ADD_OWN	(1u << 2)	/* for the caller's own processes only */
#define HSUNWIND_ADD_MASK	(HSUNWIND_ADD_PROGRAM | HSUNWIND_ADD_VDSO |	\
				 HSUNWIND_ADD_OWN)

/*
 * What is shown of the stacks of processes that map the file. Where the files of
 * a process differ, each of these counts that one of them has; %HSUNWIND_GC_SHOW
 * before %HSUNWIND_GC_DROP.
 */
#define HSUNWIND_SHOW_INTERNAL	(1u << 8)	/* frames of HSUNWIND_CLASS_HS_RTS */
#define HSUNWIND_SHOW_RTS	(1u << 9)	/* plumbing below a Haskell stack */
#define HSUNWIND_GC_SHOW	(1u << 10)	/* the collector's frames, not one for all */
#define HSUNWIND_GC_DROP	(1u << 11)	/* nothing while it collects */
#define HSUNWIND_FOLD_RECURSION	(1u << 12)	/* a cycle of callers only once */
#define HSUNWIND_SHOW_MASK	(HSUNWIND_SHOW_INTERNAL | HSUNWIND_SHOW_RTS |	\
				 HSUNWIND_GC_SHOW | HSUNWIND_GC_DROP |		\
				 HSUNWIND_FOLD_RECURSION)

/**
 * struct hsunwind_image_add - argument of %HSUNWIND_IOC_IMAGE_ADD
 * @size: sizeof(struct hsunwind_image_add).
 * @flags: %HSUNWIND_ADD_*, and of %HSUNWIND_SHOW_MASK what the user wants to
 *	see; not both %HSUNWIND_GC_SHOW and %HSUNWIND_GC_DROP, and nothing of it
 *	with %HSUNWIND_ADD_VDSO.
 * @fd: the ELF file, open for reading. The kernel takes the identity of the
 *	file from it. An image of the same file is replaced; one for everyone's
 *	processes and those with %HSUNWIND_ADD_OWN do not replace each other, and
 *	the latter come first for the processes that they are for.
 * @reserved: must be 0.
 * @data: address of the image.
 * @len: length of the image in bytes, at most %HSUNWIND_MAX_IMAGE_SIZE.
 * @out_id: number of the image.
 *
 * Errors: EPERM (without %HSUNWIND_ADD_OWN it needs privilege), EBADF (@fd),
 * EINVAL (also an image that fails validation; the kernel log at debug level
 * names the field), EFBIG (@len), ETXTBSY (the file is open for writing), ENOSPC
 * (too many images, or they are too large together: max_images, max_bytes, and
 * half of them for all with %HSUNWIND_ADD_OWN), EDQUOT (the same for those of the
 * caller: max_user_images, max_user_bytes).
 */
struct hsunwind_image_add {
	__u32	size;
	__u32	flags;
	__s32	fd;
	__u32	reserved;
	__aligned_u64	data;
	__aligned_u64	len;
	__aligned_u64	out_id;
};

/**
 * struct hsunwind_image_info - argument of %HSUNWIND_IOC_IMAGE_NEXT
 * @size: sizeof(struct hsunwind_image_info).
 * @flags: out: the flags given when it was added.
 * @id: in: the call returns the image with the lowest number >= @id (ENOENT:
 *	there is none); out: its number.
 * @path: address of a buffer for the path of the file, NUL-terminated, or 0.
 * @path_len: in: size of that buffer; out: length of the path with the NUL.
 *	ENAMETOOLONG if it does not fit: @path_len then says what is needed.
 * @nr_rows: out: rows of the image.
 * @bytes: out: size of the image in bytes.
 * @dev: out: device of the file, encoded as st_dev is.
 * @ino: out: inode of the file.
 * @nr_procs: out: processes that map it now.
 * @uid: out: with %HSUNWIND_ADD_OWN, whose processes, in the caller's user
 *	namespace; else 0.
 *
 * A caller without privilege does not get to see the images of others.
 */
struct hsunwind_image_info {
	__u32	size;
	__u32	flags;
	__aligned_u64	id;
	__aligned_u64	path;
	__u32	path_len;
	__u32	nr_rows;
	__aligned_u64	bytes;
	__aligned_u64	dev;
	__aligned_u64	ino;
	__u32	nr_procs;
	__u32	uid;
};

#define HSUNWIND_REMOVE_ALL	(1u << 0)	/* all that the caller may see */

/**
 * struct hsunwind_image_remove - argument of %HSUNWIND_IOC_IMAGE_REMOVE
 * @size: sizeof(struct hsunwind_image_remove).
 * @flags: 0 or %HSUNWIND_REMOVE_ALL.
 * @id: number of the image, 0 with %HSUNWIND_REMOVE_ALL. ENOENT: no such image,
 *	or none of the caller's.
 */
struct hsunwind_image_remove {
	__u32	size;
	__u32	flags;
	__aligned_u64	id;
};

/**
 * struct hsunwind_process - argument of %HSUNWIND_IOC_PROCESS_ADD,
 *	%HSUNWIND_IOC_PROCESS_REMOVE and %HSUNWIND_IOC_PROCESS_NEXT
 * @size: sizeof(struct hsunwind_process).
 * @flags: must be 0.
 * @pid: process number in the caller's pid namespace. ADD makes the table of
 *	the process from its mappings now (ESRCH: no such process, EPERM: the
 *	caller may not trace it, ENOENT: it maps no registered file, EBUSY: its
 *	mappings stay locked, EINTR: a signal, ENOSPC: too many processes,
 *	max_processes, EDQUOT: too many of its user, max_user_processes). REMOVE
 *	leaves the process to the kernel until it ends or executes another program
 *	(ESRCH, EPERM, ENOENT: it is not known). NEXT returns the process with the
 *	lowest number >= @pid (ENOENT: there is none that the caller may trace).
 * @nr_maps: out: registered mappings of the process.
 */
struct hsunwind_process {
	__u32	size;
	__u32	flags;
	__s32	pid;
	__u32	nr_maps;
};

/* Counters behind the stop reasons in the reply of HSUNWIND_IOC_STATS. */
#define HSUNWIND_COUNTERS(X)							\
	X(0, SAMPLES, "samples", "samples of registered processes")		\
	X(1, FRAMES, "frames", "frames put into chains")			\
	X(2, PROVISIONAL, "provisional", "samples before the table of the process was made") \
	X(3, SCANNED, "scanned", "samples whose first caller was found by a scan") \
	X(4, RESYNCED, "resynced", "safe calls whose stack had moved")		\
	X(5, TABLES, "tables", "tables of mappings made")			\
	X(6, BUSY, "busy", "samples left to the kernel because a walk was interrupted") \
	X(7, COLLECTING, "collecting", "samples of the collector, shown as one frame or none") \
	X(8, SHORTENED, "shortened", "samples with frames left out in the middle of the stack")

#define HSUNWIND_COUNTER_ENUM(nr, sym, name, text)	HSUNWIND_COUNT_##sym = nr,
enum hsunwind_counter {
	HSUNWIND_COUNTERS(HSUNWIND_COUNTER_ENUM)
	HSUNWIND_COUNT_NR
};

#undef HSUNWIND_COUNTER_ENUM

/**
 * struct hsunwind_stats - argument of %HSUNWIND_IOC_STATS
 * @size: sizeof(struct hsunwind_stats).
 * @flags: must be 0.
 * @nr_stops: in: entries in @stops; out: stop reasons that the kernel knows.
 * @nr_counters: in: entries in @counters; out: counters that the kernel knows.
 * @stops: address of an array of __u64, indexed by &enum hsunwind_stop.
 * @counters: address of an array of __u64, indexed by &enum hsunwind_counter.
 *
 * Entries that the kernel does not know are left alone; sums over all CPUs
 * since the module was loaded. Needs privilege (EPERM).
 */
struct hsunwind_stats {
	__u32	size;
	__u32	flags;
	__u32	nr_stops;
	__u32	nr_counters;
	__aligned_u64	stops;
	__aligned_u64	counters;
};

#define HSUNWIND_IOC_MAGIC	0xBC

#define HSUNWIND_IOC_IMAGE_ADD	\
	_IOWR(HSUNWIND_IOC_MAGIC, 0x40, struct hsunwind_image_add)
#define HSUNWIND_IOC_IMAGE_NEXT	\
	_IOWR(HSUNWIND_IOC_MAGIC, 0x41, struct hsunwind_image_info)
#define HSUNWIND_IOC_IMAGE_REMOVE	\
	_IOW(HSUNWIND_IOC_MAGIC, 0x42, struct hsunwind_image_remove)
#define HSUNWIND_IOC_PROCESS_ADD	\
	_IOWR(HSUNWIND_IOC_MAGIC, 0x43, struct hsunwind_process)
#define HSUNWIND_IOC_PROCESS_REMOVE	\
	_IOW(HSUNWIND_IOC_MAGIC, 0x44, struct hsunwind_process)
#define HSUNWIND_IOC_PROCESS_NEXT	\
	_IOWR(HSUNWIND_IOC_MAGIC, 0x45, struct hsunwind_process)
#define HSUNWIND_IOC_STATS	\
	_IOWR(HSUNWIND_IOC_MAGIC, 0x46, struct hsunwind_stats)

#endif /* _UAPI_HSUNWIND_H */
