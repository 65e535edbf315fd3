/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the walk share with each other; private to the core. */
#ifndef HSU_WALK_H
#define HSU_WALK_H

#include "hsu_image.h"

/* Not a stop reason: the walk goes on. */
#define HSU_GO	(-1)

/* Registers that the rules carry from a C frame to its caller. */
#define HSU_TRACKED	((1u << HSU_RSP) | (1u << HSU_RBP) | \
			 (1u << HSU_RBX) | (1u << HSU_R14))
#define HSU_ALL_REGS	((1u << HSU_NR_REGS) - 1)

/**
 * hsu_find() - rule and mapping of an address
 * @w: the walk.
 * @addr: address in the process.
 * @map: out: the mapping it is in; may be NULL.
 * @rule: out: the rule in force there.
 *
 * Return: %HSU_GO, %HSUNWIND_STOP_NO_CODE or %HSUNWIND_STOP_NO_RULE.
 */
int hsu_find(const struct hsu_walk *w, u64 addr, const struct hsu_map **map,
	     const struct hsunwind_rule **rule);

/*
 * All loops have bounds, but their product is large: a process can lay out its
 * stack so that every search goes on to its end, again and again.
 */
static inline bool hsu_read(struct hsu_walk *w, u64 addr, void *dst, u32 len)
{
	return w->reads++ < w->max_reads &&
	       hsu_env_read(&w->env, addr, dst, len);
}

static inline bool hsu_valid(const struct hsu_walk *w, u32 reg)
{
	return w->valid & (1u << reg);
}

/**
 * hsu_chain_add() - put an entry into the chain
 * @w: the walk.
 * @addr: its address.
 * @kind: its kind.
 *
 * A full chain loses what is in its middle.
 *
 * Return: %HSU_GO, or %HSUNWIND_STOP_BUDGET if the chain is full, and no address
 * is known to stand for a gap.
 */
int hsu_chain_add(struct hsu_walk *w, u64 addr, enum hsu_kind kind);

/**
 * hsu_chain_hold() - put an entry into the chain that may have to go
 * @w: the walk.
 * @addr: its address.
 * @kind: its kind.
 *
 * It takes no place of one that stays, until another one is added, which settles
 * that it stays too. Only so many can wait.
 *
 * Return: as of hsu_chain_add().
 */
int hsu_chain_hold(struct hsu_walk *w, u64 addr, enum hsu_kind kind);

/* What has been held stays. Returns as hsu_chain_add(). */
int hsu_chain_settle(struct hsu_walk *w);

/**
 * hsu_chain_cut() - take the last entries off again
 * @w: the walk.
 * @nr: what @w->nr has been before them.
 */
void hsu_chain_cut(struct hsu_walk *w, u32 nr);

/**
 * hsu_chain_leave_out() - the frames that follow here are left out
 * @w: the walk. Only its leaf-most entries are kept.
 *
 * Return: false if no address is known to stand for them: nothing has changed.
 */
bool hsu_chain_leave_out(struct hsu_walk *w);

/**
 * hsu_chain_finish() - put the entries in order, after the last
 * @w: the walk; sets @w->n.
 */
void hsu_chain_finish(struct hsu_walk *w);

/**
 * hsu_emit_haskell() - put a Haskell address into the chain, or hide it
 * @w: the walk.
 * @addr: the address.
 * @cls: its class.
 *
 * Return: %HSU_GO, or %HSUNWIND_STOP_BUDGET if the chain is full.
 */
int hsu_emit_haskell(struct hsu_walk *w, u64 addr, u8 cls);

/**
 * hsu_load_slots() - load the return address and the saved registers
 * @w: the walk; @w->regs, @w->valid, @w->ip, @w->exact and what is known of
 *	the callee change.
 * @rule: whose slots to use.
 * @cfa: of that frame.
 *
 * Return: %HSU_GO or why not; in that case nothing changes.
 */
int hsu_load_slots(struct hsu_walk *w, const struct hsunwind_rule *rule,
		   u64 cfa);

/**
 * hsu_step_c() - from a C frame to its caller
 * @w: the walk, at a C frame.
 * @rule: its rule.
 *
 * Return: %HSU_GO or why the walk ends.
 */
int hsu_step_c(struct hsu_walk *w, const struct hsunwind_rule *rule);

/**
 * hsu_step_adjustor() - from a callback's adjustor to its C caller
 * @w: the walk, interrupted in code of no known file.
 *
 * Return: false if the code is no adjustor, or its caller cannot be read.
 */
bool hsu_step_adjustor(struct hsu_walk *w);

/**
 * hsu_step_haskell() - over a whole Haskell stack to the C caller of StgRun
 * @w: the walk, at Haskell code.
 * @map: the mapping of that code.
 * @rule: its rule.
 *
 * Return: %HSU_GO or why the walk ends.
 */
int hsu_step_haskell(struct hsu_walk *w, const struct hsu_map *map,
		     const struct hsunwind_rule *rule);

/**
 * struct hsu_frame - one frame of a Haskell stack
 * @ra: its return address.
 * @type: closure type in its info table.
 * @words: its size, 0 for %HSU_UNDERFLOW_FRAME and %HSU_STOP_FRAME.
 * @cls: class of @ra.
 */
struct hsu_frame {
	u64 ra;
	u32 type;
	u32 words;
	u8 cls;
};

/**
 * hsu_frame_at() - read and check a Haskell frame
 * @w: the walk.
 * @ghc: layout of the run-time system.
 * @addr: address of the frame.
 * @f: out: the frame.
 *
 * Return: %HSU_GO or why it is no frame.
 */
int hsu_frame_at(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 addr,
		 struct hsu_frame *f);

/**
 * hsu_first_frame() - find the caller's frame of Haskell code
 * @w: the walk, at Haskell code.
 * @map: the mapping of that code.
 * @rule: its rule.
 * @addr: out: address of the frame of the code's caller.
 *
 * Return: %HSU_GO or why there is none.
 */
int hsu_first_frame(struct hsu_walk *w, const struct hsu_map *map,
		    const struct hsunwind_rule *rule, u64 *addr);

/**
 * hsu_not_moving() - is a stack that may be squeezed just now still in one piece?
 * @w: the walk; hsu_skip_gap() serves that stack from now on.
 * @ghc: layout of the run-time system.
 * @sp: the thread's saved stack pointer.
 *
 * Return: false if frames are being moved, or it cannot be told.
 */
bool hsu_not_moving(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 sp);

/**
 * hsu_skip_gap() - over a gap that is about to be squeezed out of a stack
 * @w: the walk.
 * @ghc: layout of the run-time system.
 * @addr: where a frame should be; moved behind the gap.
 *
 * Return: false if there is no gap.
 */
bool hsu_skip_gap(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 *addr);

/**
 * struct hsu_chunk - a StgStack, one chunk of a Haskell stack
 * @start: address of its first word.
 * @end: address behind its last word.
 * @sp: its saved stack pointer, between @start and @end.
 */
struct hsu_chunk {
	u64 start;
	u64 end;
	u64 sp;
};

/* Is an address in a chunk? */
static inline bool hsu_in_chunk(const struct hsu_chunk *chunk, u64 addr)
{
	return addr >= chunk->start && addr < chunk->end;
}

/**
 * hsu_closure_info() - info pointer of an object, also while the collector runs
 * @w: the walk.
 * @addr: where the object is, or was.
 * @info: out: what its header points to. That may be anything.
 *
 * Return: false if it cannot be found.
 */
bool hsu_closure_info(struct hsu_walk *w, u64 addr, u64 *info);

/* The closure type in an info table; false: there is none at that address. */
static inline bool hsu_info_type(struct hsu_walk *w, u64 info, u32 *type)
{
	return info % 8 == 0 && hsu_read(w, info - 8, type, 4);
}

/**
 * hsu_chunk_at() - read and check a StgStack
 * @w: the walk.
 * @ghc: layout of the run-time system.
 * @stack: address of the closure; may have been evacuated.
 * @near: an address in the chunk, or where that was before it was moved; 0: none.
 * @chunk: out: the chunk, or while the collector copies it, the original.
 *
 * Return: false if this is no stack chunk.
 */
bool hsu_chunk_at(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 stack,
		  u64 near, struct hsu_chunk *chunk);

/**
 * hsu_chunk_below() - the end of a chunk that is not the last of its stack
 * @w: the walk.
 * @chunk: from hsu_chunk_at().
 * @addr: out: address of its underflow frame.
 *
 * Return: false if it ends with the stop frame.
 */
bool hsu_chunk_below(struct hsu_walk *w, const struct hsu_chunk *chunk,
		     u64 *addr);

/**
 * hsu_next_chunk() - over an underflow frame
 * @w: the walk.
 * @ghc: layout of the run-time system.
 * @addr: address of the frame.
 * @chunk: out: the chunk that it leads to.
 *
 * Return: %HSU_GO or why not.
 */
int hsu_next_chunk(struct hsu_walk *w, const struct hsunwind_ghc *ghc, u64 addr,
		   struct hsu_chunk *chunk);

/**
 * hsu_is_deep() - is it time to leave out frames?
 * @w: the walk, at the end of a chunk.
 */
bool hsu_is_deep(const struct hsu_walk *w);

/**
 * hsu_skip_chunks() - from chunk to chunk to the root of a deep stack
 * @w: the walk.
 * @ghc: layout of the run-time system.
 * @addr: in: address of an underflow frame; out: of the frame to go on with.
 *
 * Return: %HSU_GO or why the walk ends.
 */
int hsu_skip_chunks(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		    u64 *addr);

/**
 * hsu_thread_chunk() - topmost chunk of a Haskell thread
 * @w: the walk.
 * @ghc: layout of the run-time system.
 * @tso: address of the StgTSO; may have been evacuated.
 * @chunk: out: the chunk.
 *
 * Return: false if this is no thread.
 */
bool hsu_thread_chunk(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		      u64 tso, struct hsu_chunk *chunk);

/**
 * hsu_safe_call_sp() - stack pointer of a Haskell thread in a safe call
 * @w: the walk, at Haskell code that has called C.
 * @ghc: layout of the run-time system.
 * @saved: the code is known to have saved Sp in the thread.
 * @sp: out: the stack pointer now.
 * @running: out: the thread is not suspended yet, or not any more.
 *
 * While a thread is in a safe call, its stack may be squeezed by suspendThread()
 * and moved by the collector: the %rbp it had at the call is then stale. The
 * run-time system's own record is not.
 *
 * Return: true if this is a safe call, and @sp is known.
 */
bool hsu_safe_call_sp(struct hsu_walk *w, const struct hsunwind_ghc *ghc,
		      bool saved, u64 *sp, bool *running);

/**
 * hsu_stays_suspended() - is a suspended thread's stack still where it was?
 * @w: the walk, over a stack that hsu_safe_call_sp() has found.
 * @ghc: layout of the run-time system.
 *
 * The collector does not change a stack before the thread is told of its copy.
 *
 * Return: false if it is not: what has been read from there may be anything.
 */
bool hsu_stays_suspended(struct hsu_walk *w, const struct hsunwind_ghc *ghc);

/**
 * hsu_find_incall() - the innermost call-in record of the OS thread
 * @w: the walk, at Haskell code that may be around a safe call.
 * @ghc: layout of the run-time system.
 *
 * Return: address of the InCall, 0 if none was found.
 */
u64 hsu_find_incall(struct hsu_walk *w, const struct hsunwind_ghc *ghc);

/**
 * hsu_has_forked() - is this the call of forkProcess() that a child is in?
 * @w: the walk, at Haskell code that has called C.
 * @ghc: layout of the run-time system.
 *
 * Return: true if nothing of this Haskell stack is alive.
 */
bool hsu_has_forked(struct hsu_walk *w, const struct hsunwind_ghc *ghc);

/* Closure types, the same in GHC 8.8 to 9.10 (rts/storage/ClosureTypes.h). */
#define HSU_RET_BCO		29
#define HSU_RET_SMALL		30
#define HSU_RET_BIG		31
#define HSU_RET_FUN		32
#define HSU_UPDATE_FRAME	33
#define HSU_CATCH_FRAME		34
#define HSU_UNDERFLOW_FRAME	35
#define HSU_STOP_FRAME		36
#define HSU_TSO			52
#define HSU_STACK		53
#define HSU_WHITEHOLE		58
#define HSU_THUNK		15
#define HSU_AP_STACK		26
#define HSU_BLACKHOLE		38
#define HSU_WHITEHOLE		58
#define HSU_ATOMICALLY_FRAME	55
#define HSU_CATCH_RETRY_FRAME	56
#define HSU_CATCH_STM_FRAME	57

#endif /* HSU_WALK_H */
