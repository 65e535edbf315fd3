// SPDX-License-Identifier: GPL-2.0-only
#include "hsregs.h"

#include <stdlib.h>
#include <string.h>

#define NR_SLOTS(cap)	(2 * (cap))
#define MAX_WORDS	4096	/* from Sp to the caller's frame */
#define GPR(reg)	(1u << (ZYDIS_REGISTER_##reg - ZYDIS_REGISTER_RAX))
/* Those that a C function need not preserve. */
#define C_SCRATCH	(GPR(RAX) | GPR(RCX) | GPR(RDX) | GPR(RSI) | GPR(RDI) | \
			 GPR(R8) | GPR(R9) | GPR(R10) | GPR(R11))

void hsu_hs_states_reset(struct hsu_hs_states *s)
{
	s->nr = 0;
	if (s->slots)
		memset(s->slots, 0, NR_SLOTS(s->cap) * sizeof(*s->slots));
}

void hsu_hs_states_free(struct hsu_hs_states *s)
{
	free(s->v);
	free(s->slots);
}

static u32 hash(const struct hsu_hs_regs *regs)
{
	u64 h = 0, word;
	size_t i;

	for (i = 0; i < sizeof(*regs); i += sizeof(word)) {
		memcpy(&word, (const u8 *)regs + i, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15;	/* 2^64 / golden ratio */
		h ^= h >> 32;
	}
	return (u32)h;
}

/* Where a state is, or can be put: its number and one. */
static u32 *slot_of(struct hsu_hs_states *s, const struct hsu_hs_regs *regs)
{
	u32 i = hash(regs);

	for (;; i++) {
		u32 *slot = &s->slots[i & (NR_SLOTS(s->cap) - 1)];

		if (!*slot || !memcmp(&s->v[*slot - 1], regs, sizeof(*regs)))
			return slot;
	}
}

static bool grow(struct hsu_hs_states *s)
{
	u32 cap = s->cap ? 2 * s->cap : 128, i;
	struct hsu_hs_regs *v;

	v = reallocarray(s->v, cap, sizeof(*v));
	if (!v)
		return false;
	s->v = v;
	free(s->slots);
	s->slots = calloc(NR_SLOTS(cap), sizeof(*s->slots));
	s->cap = s->slots ? cap : 0;
	if (!s->slots) {
		s->nr = 0;
		return false;
	}
	for (i = 0; i < s->nr; i++)
		*slot_of(s, &s->v[i]) = i + 1;
	return true;
}

s64 hsu_hs_states_add(struct hsu_hs_states *s, const struct hsu_hs_regs *regs)
{
	struct hsu_hs_regs r = *regs;
	u32 *slot;
	int i;

	for (i = 0; i < HSU_NR_GPRS; i++)
		if (!((r.address | r.loaded | r.ret) >> i & 1))
			r.words[i] = 0;
	if (!r.saved)
		r.sp = 0;
	if (!r.pushed) {
		r.frame = 0;
		r.above = 0;
	}
	if (s->nr == s->cap && !grow(s))
		return -1;
	slot = slot_of(s, &r);
	if (!*slot) {
		s->v[s->nr++] = r;
		*slot = s->nr;
	}
	return *slot - 1;
}

int hsu_gpr(ZydisRegister reg)
{
	ZydisRegister all;

	all = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	if (all < ZYDIS_REGISTER_RAX || all > ZYDIS_REGISTER_R15)
		return -1;
	return (int)(all - ZYDIS_REGISTER_RAX);
}

bool hsu_hs_address(const struct hsu_hs_regs *regs,
		    const ZydisDecodedOperand *op, s32 *words)
{
	s64 far;
	int base;

	if (op->type != ZYDIS_OPERAND_TYPE_MEMORY ||
	    op->mem.index != ZYDIS_REGISTER_NONE || op->mem.disp.value % 8)
		return false;
	base = hsu_gpr(op->mem.base);
	if (base < 0 || !(regs->address >> base & 1))
		return false;
	far = regs->words[base] - op->mem.disp.value / 8;
	*words = (s32)far;
	return far >= -MAX_WORDS && far <= MAX_WORDS;
}

/* Registers that are written without being named. */
static u32 implied(const struct hsu_insn *insn)
{
	switch (insn->d.mnemonic) {
	case ZYDIS_MNEMONIC_IMUL:
		if (insn->d.operand_count_visible > 1)
			return 0;
		return GPR(RAX) | GPR(RDX);
	case ZYDIS_MNEMONIC_MUL:
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
	case ZYDIS_MNEMONIC_CWD:
	case ZYDIS_MNEMONIC_CDQ:
	case ZYDIS_MNEMONIC_CQO:
	case ZYDIS_MNEMONIC_CBW:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_CDQE:
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_CMPXCHG:
		return GPR(RAX) | GPR(RDX);
	default:
		break;
	}
	if (insn->d.meta.category == ZYDIS_CATEGORY_CALL)
		return C_SCRATCH;
	if (insn->d.meta.category == ZYDIS_CATEGORY_STRINGOP)
		return GPR(RAX) | GPR(RCX) | GPR(RSI) | GPR(RDI);
	return 0;
}

static bool is_full(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		op->reg.value >= ZYDIS_REGISTER_RAX &&
		op->reg.value <= ZYDIS_REGISTER_R15;
}

/* The first operand, a register, gets an address on the stack, or a word. */
static bool derive(struct hsu_hs_regs *regs, const struct hsu_insn *insn,
		   bool *address, s32 *words)
{
	const ZydisDecodedOperand *op = insn->op;
	ZydisRegister reg = op[0].reg.value;
	s64 by;
	int from;

	*address = true;
	if (!is_full(&op[0]))
		return false;
	if (insn->d.mnemonic == ZYDIS_MNEMONIC_LEA)
		return hsu_hs_address(regs, &op[1], words);
	if (hsu_insn_adds(insn, reg, &by)) {
		from = hsu_gpr(reg);
		*words = regs->words[from] - (s32)(by / 8);
		return regs->address >> from & 1 && by % 8 == 0 &&
			*words >= -MAX_WORDS && *words <= MAX_WORDS;
	}
	if (insn->d.mnemonic != ZYDIS_MNEMONIC_MOV)
		return false;
	if (op[1].type == ZYDIS_OPERAND_TYPE_MEMORY) {
		/* What is certainly the code's own is no return address. */
		*address = false;
		return hsu_hs_address(regs, &op[1], words) && *words <= 0;
	}
	if (!is_full(&op[1]))
		return false;
	from = hsu_gpr(op[1].reg.value);
	*words = regs->words[from];
	return regs->address >> from & 1;
}

void hsu_hs_write(struct hsu_hs_regs *regs, const struct hsu_insn *insn)
{
	u32 lost = implied(insn), i;
	bool address, derived = false;
	s32 words;
	int reg;

	for (i = 0; i < insn->d.operand_count_visible; i++)
		if (insn->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    insn->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) {
			reg = hsu_gpr(insn->op[i].reg.value);
			lost |= reg < 0 ? 0 : 1u << reg;
		}
	if (!lost)
		return;
	if (insn->d.operand_count_visible >= 2 &&
	    insn->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    insn->op[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		derived = derive(regs, insn, &address, &words);
	regs->address &= ~lost;
	regs->loaded &= ~lost;
	regs->ret &= ~lost;
	if (!derived)
		return;
	reg = hsu_gpr(insn->op[0].reg.value);
	regs->words[reg] = words;
	if (address)
		regs->address |= 1u << reg;
	else
		regs->loaded |= 1u << reg;
}

void hsu_hs_meet(struct hsu_hs_regs *regs, const struct hsu_hs_regs *other,
		 s32 excess)
{
	int i;

	regs->address &= other->address;
	regs->loaded &= other->loaded;
	regs->ret &= other->ret;
	for (i = 0; i < HSU_NR_GPRS; i++) {
		s32 more = other->words[i] - regs->words[i];

		if (more != excess) {
			regs->address &= ~(1u << i);
			regs->loaded &= ~(1u << i);
		}
		if (more)
			regs->ret &= ~(1u << i);
	}
	if (other->written != HSU_UNWRITTEN &&
	    other->written - excess < regs->written)
		regs->written = other->written - excess;
	regs->pushed &= other->pushed && other->frame - regs->frame == excess &&
		other->above - regs->above == excess;
}
