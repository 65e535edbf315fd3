// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layouts: rts/include/rts/storage/InfoTables.h, tables next to code, GHC 8.8
 * to 9.10: u64 layout, u32 closure type, s32 srt, then the code; in front of
 * the table of a function, its type and arity. Profiled code has two words more
 * in front of the layout.
 */
#include "infotable.h"

#include <stdlib.h>
#include <string.h>

/* Closure types (rts/storage/ClosureTypes.h). */
enum {
	CONSTR = 1, CONSTR_NOCAF = 7,
	FUN = 8, FUN_STATIC = 14,
	THUNK = 15, THUNK_STATIC = 21, THUNK_SELECTOR = 22,
	AP = 24, IND_STATIC = 28,
	RET_BCO = 29, RET_SMALL = 30, RET_BIG = 31, RET_FUN = 32,
	UPDATE_FRAME = 33, CATCH_FRAME = 34,
	UNDERFLOW_FRAME = 35, STOP_FRAME = 36,
	BLACKHOLE = 38, ATOMICALLY_FRAME = 55, CATCH_STM_FRAME = 57,
	WHITEHOLE = 58,
};

/* Kinds of arguments (rts/storage/FunTypes.h): any, or one of the common. */
enum {
	ARG_GEN = 0, ARG_GEN_BIG = 1, ARG_NONE = 3, ARG_PPPPP = 25,
	ARG_PPPPPPPP = 28,
};

#define MAX_CONSTRS	65536u	/* of a data type */
#define MAX_FIELDS	4096u	/* pointers or non-pointers of a closure */
#define MAX_FUN_TYPE	64u
#define MAX_ARITY	256u
#define REG_ARGS	5u	/* R2 to R6; further arguments go on the stack */
#define MAX_BIG_WORDS	4096u
#define MAX_TABLE	56u	/* bytes of an info table */

static u32 get32(const struct hsu_code *code, u64 addr)
{
	u32 v;

	memcpy(&v, code->bytes + (addr - code->start), sizeof(v));
	return v;
}

static u64 get64(const struct hsu_code *code, u64 addr)
{
	u64 v;

	memcpy(&v, code->bytes + (addr - code->start), sizeof(v));
	return v;
}

/* The SRT is a closure, which lies in writable data; 0: there is none. */
static bool srt_ok(const struct hsu_code *code, u64 addr)
{
	s32 srt = (s32)get32(code, addr - 4);
	const struct hsu_load *loads;
	u64 at = addr + (s64)srt;
	size_t nr, i;

	if (!srt)
		return true;
	loads = hsu_elf_loads(code->elf, &nr);
	for (i = 0; i < nr; i++)
		if (at >= loads[i].vaddr &&
		    at - loads[i].vaddr < loads[i].memsz)
			return loads[i].write;
	return false;
}

static bool small_layout(u64 layout)
{
	return (u32)layout < MAX_FIELDS && layout >> 32 < MAX_FIELDS;
}

/* Size in the low six bits, one bit per word above. */
static bool frame_words(const struct hsu_code *code, u64 addr, u32 type,
			u64 *words)
{
	u64 layout = get64(code, addr - 16);

	if (type != RET_BIG) {
		*words = 1 + (layout & 63);
		return (layout & 63) <= 58 &&
		       (layout >> 6) >> (layout & 63) == 0;
	}
	if (layout >> 32 && layout >> 32 != 0xffffffff)
		return false;
	if (hsu_elf_read(code->elf, addr + (s32)layout, words, 8) != 8)
		return false;
	return (*words)++ < MAX_BIG_WORDS;
}

/*
 * Functions of unusual arguments have two words more in front: where their slow
 * entry code is, and a bitmap of all arguments, or where that is.
 */
static void slow_entry(const struct hsu_code *code, u64 addr, u32 fun_type,
		       struct hsu_entry *entry)
{
	u64 words = 0;
	u64 at = addr - entry->table - 16;

	if (addr - code->start < entry->table + 16)
		return;
	entry->table += 16;
	if (fun_type == ARG_GEN)
		words = get64(code, at + 8) & 63;
	else if (hsu_elf_read(code->elf, addr + (s32)get32(code, at + 8),
			      &words, 8) != 8)
		return;
	if (words > MAX_BIG_WORDS)
		return;
	entry->args = (u32)words;
	entry->slow = addr + (s32)get32(code, at);
}

static bool function(const struct hsu_code *code, u64 addr,
		     struct hsu_entry *entry)
{
	u32 arity, fun_type;

	entry->table += 8;
	if (addr - code->start < entry->table ||
	    !small_layout(get64(code, addr - 16)))
		return false;
	fun_type = get32(code, addr - entry->table);
	arity = get32(code, addr - entry->table + 4);
	if (arity >= MAX_ARITY || fun_type >= MAX_FUN_TYPE)
		return false;
	entry->proc = true;
	entry->function = true;
	entry->fixed = arity <= REG_ARGS ||
		(fun_type >= ARG_NONE && fun_type <= ARG_PPPPPPPP);
	if (fun_type > ARG_PPPPP && fun_type <= ARG_PPPPPPPP)
		entry->off = 8 * (s32)(fun_type - ARG_PPPPP);
	if (fun_type <= ARG_GEN_BIG)
		slow_entry(code, addr, fun_type, entry);
	return true;
}

/* In profiled code, two strings that name a closure stand before its table. */
static bool prof_strings(const struct hsu_code *code, u64 addr)
{
	const struct hsu_load *loads;
	size_t nr, i, found = 0;

	if (addr - code->start < 32)
		return false;
	loads = hsu_elf_loads(code->elf, &nr);
	for (i = 0; i < nr; i++) {
		u64 type = addr + get64(code, addr - 32) - loads[i].vaddr;
		u64 desc = addr + get64(code, addr - 24) - loads[i].vaddr;

		if (!loads[i].write)
			found += (type < loads[i].memsz) +
				(desc < loads[i].memsz);
	}
	return found == 2;
}

/*
 * The code of a constructor tags R1 and returns. In profiled code it may count
 * before.
 */
static bool constructor(const struct hsu_code *code, u64 addr)
{
	static const u8 inc[] = { 0x48, 0xff, 0xc3, 0xff, 0x65, 0x00 };
	static const u8 add[] = { 0x48, 0x83, 0xc3 };
	static const u8 ret[] = { 0xff, 0x65, 0x00 };
	const u8 *p = code->bytes + (addr - code->start);
	u64 len = code->end - addr;

	if (get32(code, addr - 4) >= MAX_CONSTRS ||
	    !small_layout(get64(code, addr - 16)))
		return false;
	if (code->profiled)
		return prof_strings(code, addr);
	return (len >= sizeof(inc) && !memcmp(p, inc, sizeof(inc))) ||
		(len >= 7 && !memcmp(p, add, sizeof(add)) &&
		 !memcmp(p + 4, ret, sizeof(ret)));
}

static bool table_before(const struct hsu_code *code, u64 addr,
			 struct hsu_entry *entry)
{
	u64 words;
	u32 type;

	if (addr % 8 || addr - code->start < 16 || addr >= code->end)
		return false;
	type = get32(code, addr - 8);
	memset(entry, 0, sizeof(*entry));
	entry->addr = addr;
	entry->fixed = true;
	entry->table = code->profiled ? 32 : 16;

	switch (type) {
	case CONSTR ... CONSTR_NOCAF:	/* srt: the constructor's number */
		entry->proc = true;
		return constructor(code, addr);
	case FUN ... FUN_STATIC:
		return srt_ok(code, addr) && function(code, addr, entry);
	case THUNK ... THUNK_STATIC:
		entry->proc = true;
		return srt_ok(code, addr) &&
		       small_layout(get64(code, addr - 16));
	case AP ... IND_STATIC:
	case BLACKHOLE:
	case WHITEHOLE:
		entry->proc = true;
		return srt_ok(code, addr) &&
		       small_layout(get64(code, addr - 16));
	case THUNK_SELECTOR:
		entry->proc = true;
		return get64(code, addr - 16) < MAX_FIELDS;
	case RET_SMALL:
	case RET_BIG:
	case UPDATE_FRAME:
	case CATCH_FRAME:
	case ATOMICALLY_FRAME ... CATCH_STM_FRAME:
		if (!srt_ok(code, addr) ||
		    !frame_words(code, addr, type, &words))
			return false;
		entry->off = words * 8;
		return true;
	case RET_FUN:
	case RET_BCO:
		/* header, size and function, or BCO; then what they describe */
		entry->fixed = false;
		entry->off = type == RET_FUN ? 24 : 16;
		return code->rts && srt_ok(code, addr) &&
		       frame_words(code, addr, type, &words);
	case STOP_FRAME:
		entry->last = true;
		return srt_ok(code, addr) &&
		       frame_words(code, addr, type, &words);
	default:
		return false;
	}
}

static bool judge(const struct hsu_code *code, u64 addr,
		  struct hsu_entry *entry)
{
	struct hsu_entry next;
	u64 ahead;

	if (!table_before(code, addr, entry))
		return false;
	/*
	 * Parts of a table can look like another one that ends earlier: there
	 * would be no room for code between the two.
	 */
	for (ahead = 8; ahead <= MAX_TABLE; ahead += 8)
		if (table_before(code, addr + ahead, &next) &&
		    ahead <= next.table)
			return false;
	return true;
}

bool hsu_info_map(struct hsu_code *code)
{
	u64 first = (code->start + 7) / 8, addr;
	struct hsu_entry entry;
	u64 *map;

	map = calloc((code->end - code->start) / 512 + 1, sizeof(*map));
	if (!map)
		return false;
	for (addr = first * 8; addr < code->end; addr += 8)
		if (judge(code, addr, &entry))
			map[(addr / 8 - first) / 64] |=
				1ull << (addr / 8 - first) % 64;
	code->tables = map;
	return true;
}

bool hsu_info_entry(const struct hsu_code *code, u64 addr,
		    struct hsu_entry *entry)
{
	u64 word = addr / 8 - (code->start + 7) / 8;

	if (!code->tables)
		return judge(code, addr, entry);
	return addr % 8 == 0 && addr >= code->start && addr < code->end &&
		code->tables[word / 64] >> word % 64 & 1 &&
		table_before(code, addr, entry);
}
