// SPDX-License-Identifier: GPL-2.0-only
#include "cstack.h"

#include <err.h>

struct frames {
	struct c_frame *frames;
	size_t cap;
	size_t nr;
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread)
{
	struct tracee *t = arg;

	(void)dwfl;
	if (*thread)
		return 0;
	*thread = t;
	return t->tid;
}

static bool read_word(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *word, void *arg)
{
	(void)dwfl;
	return tracee_read(arg, addr, word, sizeof(*word));
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	const struct tracee *t = arg;
	const struct user_regs_struct *r = &t->regs;
	Dwarf_Word regs[17] = {
		r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp,
		r->rsp + 8, r->r8, r->r9, r->r10, r->r11, r->r12, r->r13,
		r->r14, r->r15,
	};

	return read_word(NULL, r->rsp, &regs[16], arg) &&
	       dwfl_thread_state_registers(thread, 0, 17, regs);
}

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.memory_read = read_word,
	.set_initial_registers = set_registers,
};

/* Innermost first; the stack pointer of a frame is its callee's CFA. */
static int take_frame(Dwfl_Frame *frame, void *arg)
{
	struct frames *f = arg;
	Dwarf_Word sp;
	Dwarf_Addr pc;
	bool exact;

	if (!dwfl_frame_pc(frame, &pc, &exact) ||
	    dwfl_frame_reg(frame, 7, &sp) || f->nr == f->cap)
		return DWARF_CB_ABORT;
	if (pc)
		f->frames[f->nr++] = (struct c_frame){ sp - 8, pc };
	return DWARF_CB_OK;
}

size_t c_stack(struct tracee *t, Dwfl *dwfl, struct c_frame *frames, size_t cap)
{
	struct frames f = { frames, cap, 0 };
	static bool attached;

	if (!attached &&
	    !dwfl_attach_state(dwfl, NULL, t->pid, &thread_callbacks, t))
		errx(1, "cannot unwind: %s", dwfl_errmsg(-1));
	attached = true;
	/* Fails where there is no CFI: at Haskell code. */
	return dwfl_getthread_frames(dwfl, t->tid, take_frame, &f) ? 0 : f.nr;
}
