/* SPDX-License-Identifier: GPL-2.0-only */
/* A program that one thread of is stepped, instruction by instruction. */
#ifndef ORACLE_TRACEE_H
#define ORACLE_TRACEE_H

#include <sys/types.h>
#include <sys/user.h>

#include "hsu_env.h"

struct tracee_memory;

/**
 * struct tracee - the program
 * @pid: its process.
 * @tid: the thread that is stepped; 0 while all run.
 * @regs: registers of the thread that stopped last.
 * @signal: signal that this thread gets with its next step, 0: none.
 * @signalled: the last step was no instruction, but the call of a handler.
 * @slow_ticks: give it only few of the ticks of GHC's timer: at this speed it
 *	would do little else than handle them.
 * @exited: the process has ended.
 *
 * The rest is private.
 */
struct tracee {
	pid_t pid;
	pid_t tid;
	struct user_regs_struct regs;
	int signal;
	bool signalled;
	bool slow_ticks;
	bool exited;

	/* private: */
	struct tracee_memory *memory;
};

/**
 * tracee_start() - start a program and stop it where its own code begins
 * @t: filled in.
 * @argv: program and arguments.
 *
 * The dynamic linker has then done its work. Addresses are not randomised.
 * Ends the oracle with a message if that fails.
 */
void tracee_start(struct tracee *t, char **argv);

/**
 * tracee_run_to() - let all threads run until one gets to an address
 * @t: the program.
 * @addr: the address.
 * @passes: times that it is passed before.
 *
 * From then on, @t->tid is the thread that got there.
 *
 * Return: false if the program ended first, or sleeps.
 */
bool tracee_run_to(struct tracee *t, u64 addr, unsigned long passes);

/**
 * tracee_hold() - stop the threads of some name for good
 * @t: the program.
 * @name: the name, see proc(5), comm.
 */
void tracee_hold(struct tracee *t, const char *name);

/**
 * tracee_step() - let the thread execute one instruction
 * @t: the program; @t->regs is updated. Other threads run meanwhile.
 *
 * Return: false if it has ended, or sleeps: @t->tid is then 0.
 */
bool tracee_step(struct tracee *t);

/**
 * tracee_kill() - end the program
 * @t: the program.
 */
void tracee_kill(struct tracee *t);

/**
 * tracee_keep() - what is read from a range of addresses never changes
 * @t: the program.
 * @start: first address.
 * @end: first address behind.
 */
void tracee_keep(struct tracee *t, u64 start, u64 end);

/**
 * tracee_read() - read operation for the core, and for everybody else
 * @ctx: a &struct tracee.
 * @addr: address in the program.
 * @dst: where to copy to.
 * @len: bytes.
 *
 * Return: true if all bytes could be read.
 */
bool tracee_read(void *ctx, u64 addr, void *dst, u32 len);

/**
 * tracee_forget() - what has been read may have changed
 * @t: the program, whose other threads run.
 */
void tracee_forget(struct tracee *t);

static inline bool tracee_word(struct tracee *t, u64 addr, u64 *word)
{
	return tracee_read(t, addr, word, sizeof(*word));
}

#endif /* ORACLE_TRACEE_H */
