// SPDX-License-Identifier: GPL-2.0-only
/*
 * What local code belongs to, without debugging information. GHC exports no
 * symbol for a closure that is not a module's: but the code that allocates one,
 * jumps to one or enters a static one names it by its address. A procedure that
 * one exported function alone leads to, over whatever many others, is that
 * function's.
 */
#include <stdlib.h>
#include <string.h>

#include "codenames.h"
#include "dataclosures.h"
#include "grow.h"
#include "symtab.h"

struct edge {
	u32 from;	/* number of a node: who refers */
	u32 to;		/* to whom */
};

/*
 * The nodes are the procedures, then the static closures. Each has an owner as
 * in struct hsu_proc.
 */
struct owners {
	struct hsu_elf *elf;
	struct hsu_names *names;
	struct hsu_closures closures;
	struct edge *edges;
	size_t nr_edges;
	size_t cap;
	u8 *targets;		/* bit per 8 bytes of the file's addresses */
	u64 lo;
	u64 hi;
	bool failed;
};

static void add_edge(struct owners *o, size_t from, size_t to)
{
	struct edge *edges;

	if (from == to || o->failed)
		return;
	edges = hsu_grow(o->edges, o->nr_edges, &o->cap, sizeof(*edges));
	if (!edges) {
		o->failed = true;
		return;
	}
	o->edges = edges;
	o->edges[o->nr_edges++] = (struct edge){ (u32)from, (u32)to };
}

static void mark(struct owners *o, u64 addr)
{
	if (addr >= o->lo && addr < o->hi)
		o->targets[(addr - o->lo) / 64] |= 1u << ((addr - o->lo) / 8 & 7);
}

/* Is something known at the closure or code that an address points to? */
static bool is_marked(const struct owners *o, u64 addr)
{
	addr &= ~7ULL;
	return addr >= o->lo && addr < o->hi &&
	       o->targets[(addr - o->lo) / 64] >> ((addr - o->lo) / 8 & 7) & 1;
}

static bool mark_targets(struct owners *o)
{
	const struct hsu_load *loads;
	size_t nr, i;

	loads = hsu_elf_loads(o->elf, &nr);
	o->lo = hsu_elf_base(o->elf);
	o->hi = loads[nr - 1].vaddr + loads[nr - 1].memsz;
	if (o->hi - o->lo > 1ULL << 32)
		o->hi = o->lo + (1ULL << 32);
	o->targets = calloc(1, (o->hi - o->lo) / 64 + 1);
	if (!o->targets)
		return false;
	for (i = 0; i < o->names->nr; i++)
		mark(o, o->names->procs[i].addr);
	for (i = 0; i < o->closures.nr; i++)
		mark(o, o->closures.v[i].addr);
	return true;
}

/* The number of the node that begins at an address, tagged or not; -1: none. */
static long node_at(const struct owners *o, u64 addr)
{
	const struct hsu_proc *p;
	long c;

	if (!is_marked(o, addr))
		return -1;
	c = hsu_closures_at(&o->closures, addr & ~7ULL);
	if (c >= 0)
		return (long)o->names->nr + c;
	p = hsu_names_at(o->names, addr);
	return p && p->addr == addr ? p - o->names->procs : -1;
}

static s32 get32(const u8 *p)
{
	s32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Are the 4 bytes at @p an operand? mov of an immediate to a register or to
 * memory; lea from rip, jmp and jcc. At least 8 bytes lie before @p. Whoever
 * is taken for an operand and is none leads to a known address by chance only,
 * and then costs precision, not truth.
 */
static bool is_immediate(const u8 *p)
{
	return (p[-1] & 0xf8) == 0xb8 || memchr(p - 7, 0xc7, 6);
}

static bool is_relative(const u8 *p)
{
	return p[-1] == 0xe9 || (p[-2] == 0x0f && (p[-1] & 0xf0) == 0x80) ||
	       (p[-2] == 0x8d && (p[-1] & 0xc7) == 0x05);
}

static void scan_proc(struct owners *o, size_t nr, u8 *code)
{
	const struct hsu_proc *p = &o->names->procs[nr];
	size_t len = p->end - p->addr, i;
	long to;

	/* The first bytes of the code may belong to an operand, too. */
	memset(code, 0, 8);
	len = hsu_elf_read(o->elf, p->addr, code + 8, len) + 8;
	for (i = 9; i + 4 <= len; i++) {
		u64 abs = (u64)(u32)get32(code + i);
		u64 rel = p->addr + (i - 8) + 4 + (u64)(s64)get32(code + i);

		if (is_marked(o, abs) && is_immediate(code + i)) {
			to = node_at(o, abs);
			if (to >= 0)
				add_edge(o, nr, (size_t)to);
		}
		if (is_marked(o, rel) && is_relative(code + i)) {
			to = node_at(o, rel);
			if (to >= 0)
				add_edge(o, nr, (size_t)to);
		}
	}
}

static bool scan_code(struct owners *o)
{
	size_t i, max = 0;
	u8 *code;

	for (i = 0; i < o->names->nr; i++)
		if (o->names->procs[i].end - o->names->procs[i].addr > max)
			max = o->names->procs[i].end - o->names->procs[i].addr;
	code = malloc(max + 8);
	if (!code)
		return false;
	for (i = 0; i < o->names->nr; i++)
		if (!o->names->procs[i].rts)
			scan_proc(o, i, code);
	free(code);
	return true;
}

/* A closure's fields, and its code. */
static void scan_closures(struct owners *o)
{
	const struct hsu_closures *c = &o->closures;
	size_t i, j;
	long to;

	for (i = 0; i < c->nr; i++) {
		for (j = c->v[i].word; j < c->nr_words &&
		     (i + 1 == c->nr || j < c->v[i + 1].word); j++) {
			to = node_at(o, c->words[j].value);
			if (to >= 0)
				add_edge(o, o->names->nr + i, (size_t)to);
		}
	}
}

static struct hsu_owner *owner_of(struct owners *o, size_t node)
{
	return node < o->names->nr ? &o->names->procs[node].owner
		: &o->closures.v[node - o->names->nr].owner;
}

/*
 * Local code is referred to by its own module only, and that is the one of what
 * is exported before it in the file, or behind it.
 */
static bool may_own(const struct owners *o, const struct hsu_owner *from,
		    size_t to)
{
	const struct hsu_proc *p = &o->names->procs[to];

	if (to >= o->names->nr || (!p->before && !p->behind))
		return true;
	return from->module == p->before || from->module == p->behind;
}

/* @node is referred to by @from; returns true if that changes what is known. */
static bool join(struct owners *o, const struct hsu_owner *from, size_t node)
{
	struct hsu_owner *to = owner_of(o, node);

	if (to->contended || (!from->name && !from->contended))
		return false;
	if (from->contended) {
		to->contended = true;
		return true;
	}
	if (!may_own(o, from, node))
		return false;
	if (!to->name) {
		*to = *from;
		return true;
	}
	if (to->module != from->module) {
		to->contended = true;
		return true;
	}
	if (to->of_module || to->name == from->name)
		return false;
	to->name = to->module;
	to->of_module = true;
	return true;
}

static int cmp_edge(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* What has an owner by its own symbol keeps it. */
static bool is_fixed(const struct owners *o, size_t node)
{
	return node < o->names->nr
		? o->names->procs[node].source != HSU_NAME_ADDRESS
		: o->closures.v[node - o->names->nr].exported;
}

/* An owner can change three times at most: to one, to a module, to nobody. */
static bool spread(struct owners *o)
{
	size_t nr = o->names->nr + o->closures.nr, i, n = 0, node;
	u32 *first = calloc(nr + 1, sizeof(*first));
	u32 *work = calloc(4 * nr + 1, sizeof(*work));

	if (!first || !work) {
		free(first);
		free(work);
		return false;
	}
	if (o->nr_edges)
		qsort(o->edges, o->nr_edges, sizeof(*o->edges), cmp_edge);
	for (i = o->nr_edges; i-- > 0;)
		first[o->edges[i].from] = (u32)i + 1;
	for (i = 0; i < nr; i++)
		if (owner_of(o, i)->name)
			work[n++] = (u32)i;
	while (n) {
		node = work[--n];
		if (!first[node])
			continue;
		for (i = first[node] - 1;
		     i < o->nr_edges && o->edges[i].from == node; i++) {
			size_t to = o->edges[i].to;

			if (!is_fixed(o, to) &&
			    join(o, owner_of(o, node), to))
				work[n++] = (u32)to;
		}
	}
	free(first);
	free(work);
	return true;
}

bool hsu_owners_find(struct hsu_elf *elf, const struct hsu_symtab *tab,
		     struct hsu_names *names)
{
	struct owners o = { .elf = elf, .names = names };
	bool ok;

	ok = hsu_closures_find(elf, tab, names, &o.closures) &&
	     mark_targets(&o) && scan_code(&o);
	if (ok)
		scan_closures(&o);
	ok = ok && !o.failed && spread(&o);
	hsu_closures_free(&o.closures);
	free(o.edges);
	free(o.targets);
	return ok;
}
