// SPDX-License-Identifier: GPL-2.0-only
/* C frames: from the rules that user space derived from the ELF file's CFI. */
#include "hsu_walk.h"

/* Saved registers and return address are mostly together, below the CFA. */
#define BATCH_WORDS	8

int hsu_load_slots(struct hsu_walk *w, const struct hsunwind_rule *rule,
		   u64 cfa)
{
	const s16 slots[] = { rule->rbp, rule->rbx, rule->r14 };
	static const u8 regs[] = { HSU_RBP, HSU_RBX, HSU_R14 };
	u64 base = cfa;
	u64 batch[BATCH_WORDS];
	u64 value[ARRAY_SIZE(slots)];
	s32 lowest = -1;
	u32 lost = 0;
	u64 ra;
	u32 i;

	if (rule->slots == HSUNWIND_SLOTS_RBP) {
		if (!hsu_valid(w, HSU_RBP))
			return HSUNWIND_STOP_NO_REG;
		base = w->regs[HSU_RBP] + 16;
	}
	for (i = 0; i < ARRAY_SIZE(slots); i++)
		if (slots[i] < lowest && slots[i] >= -BATCH_WORDS)
			lowest = slots[i];
	if (!hsu_read(w, base + 8 * (s64)lowest, &batch[BATCH_WORDS + lowest],
		      -lowest * 8))
		return HSUNWIND_STOP_READ_C;
	/* The word below the other base need not be the return address. */
	ra = batch[BATCH_WORDS - 1];
	if (rule->kind == HSUNWIND_RULE_RA_REG)
		ra = w->regs[rule->arg];
	else if (base != cfa && !hsu_read(w, cfa - 8, &ra, 8))
		return HSUNWIND_STOP_READ_C;

	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		s16 slot = slots[i];

		value[i] = w->regs[regs[i]];
		if (slot == HSUNWIND_SLOT_SAME)
			continue;
		if (slot == HSUNWIND_SLOT_LOST)
			lost |= 1u << regs[i];
		else if (slot < 0 && slot >= -BATCH_WORDS)
			value[i] = batch[BATCH_WORDS + slot];
		else if (!hsu_read(w, base + 8 * (s64)slot, &value[i], 8))
			return HSUNWIND_STOP_READ_C;
	}
	/* The collector is the run-time system's, too. */
	w->callee_cls = rule->cls == HSUNWIND_CLASS_GC ?
		HSUNWIND_CLASS_RTS : rule->cls;
	w->callee[0] = w->regs[HSU_RBX];
	w->callee[1] = w->regs[HSU_R14];
	for (i = 0; i < ARRAY_SIZE(slots); i++) {
		/* A value just loaded is known, whatever was before. */
		if (slots[i] != HSUNWIND_SLOT_SAME)
			w->valid |= 1u << regs[i];
		w->regs[regs[i]] = value[i];
	}
	w->regs[HSU_RSP] = cfa;
	w->valid = ((w->valid | 1u << HSU_RSP) & HSU_TRACKED) & ~lost;
	w->ip = ra;
	w->exact = false;
	return HSU_GO;
}

/*
 * A signal frame holds every register of the interrupted code: struct
 * sigcontext of arch/x86/include/uapi/asm/sigcontext.h, Linux 2.6 to 7.x.
 */
static int step_signal(struct hsu_walk *w, const struct hsunwind_rule *rule)
{
	static const u8 order[] = {
		HSU_R8, HSU_R9, HSU_R10, HSU_R11, HSU_R12, HSU_R13, HSU_R14,
		HSU_R15, HSU_RDI, HSU_RSI, HSU_RBP, HSU_RBX, HSU_RDX, HSU_RAX,
		HSU_RCX, HSU_RSP,
	};
	u64 saved[ARRAY_SIZE(order) + 1];
	u32 i;

	if (!hsu_read(w, w->regs[HSU_RSP] + rule->arg, saved, sizeof(saved)))
		return HSUNWIND_STOP_READ_C;
	for (i = 0; i < ARRAY_SIZE(order); i++)
		w->regs[order[i]] = saved[i];
	w->ip = saved[ARRAY_SIZE(order)];
	w->valid = HSU_ALL_REGS;
	w->exact = true;
	return HSU_GO;
}

int hsu_step_c(struct hsu_walk *w, const struct hsunwind_rule *rule)
{
	u64 cfa;

	if (!hsu_valid(w, HSU_RSP))
		return HSUNWIND_STOP_NO_REG;

	switch (rule->kind) {
	case HSUNWIND_RULE_BOTTOM:
		return HSUNWIND_STOP_COMPLETE;
	case HSUNWIND_RULE_SIGNAL:
		return step_signal(w, rule);
	case HSUNWIND_RULE_CLONE:
		/* Behind the system call, in the thread that it has made. */
		if (w->exact && !w->regs[HSU_RAX])
			return HSUNWIND_STOP_COMPLETE;
		fallthrough;
	case HSUNWIND_RULE_CFA:
		if (!hsu_valid(w, rule->cfa_reg))
			return HSUNWIND_STOP_NO_REG;
		cfa = w->regs[rule->cfa_reg] + rule->cfa_off;
		break;
	case HSUNWIND_RULE_DEREF:
		if (!hsu_valid(w, rule->cfa_reg))
			return HSUNWIND_STOP_NO_REG;
		if (!hsu_read(w, w->regs[rule->cfa_reg] + rule->arg, &cfa, 8))
			return HSUNWIND_STOP_READ_C;
		cfa += rule->cfa_off;
		break;
	case HSUNWIND_RULE_RA_REG:
		/* Around a system call, where nothing is called. */
		if (!w->exact || !hsu_valid(w, rule->cfa_reg))
			return HSUNWIND_STOP_NO_REG;
		cfa = w->regs[rule->cfa_reg] + rule->cfa_off;
		if (cfa % 8 || cfa < w->regs[HSU_RSP])
			return HSUNWIND_STOP_BAD_CFA;
		return hsu_load_slots(w, rule, cfa);
	case HSUNWIND_RULE_PLT:
		cfa = w->regs[HSU_RSP] + 8;
		if ((w->ip & 15) >= (u16)rule->arg)
			cfa += 8;
		break;
	default:
		return HSUNWIND_STOP_NO_RULE;
	}

	/* The caller's frame lies above ours, so that every walk ends. */
	if (cfa % 8 || cfa <= w->regs[HSU_RSP])
		return HSUNWIND_STOP_BAD_CFA;
	return hsu_load_slots(w, rule, cfa);
}
