// SPDX-License-Identifier: GPL-2.0-only
/*
 * Inputs as text, and back.
 *
 *	text TARGET FOLDER <FILE	writes each input of FILE to FOLDER/NAME
 *	text -d TARGET FILE...		writes inputs as text
 *
 * "= NAME" begins an input; each other line is an operation with up to three
 * operands, which are numbers, or names that stand for numbers, with or without
 * an offset: "at.main+32".
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "elf_ops.h"
#include "image_ops.h"
#include "walk_ops.h"
#include "records.h"
#include "../unit/world.h"

struct name {
	const char *name;
	long value;
};

#define NAME(name, text)	#name,

static const char *const walk_ops[] = { WALK_OPS(NAME) NULL };
static const char *const image_ops[] = { IMAGE_OPS(NAME) NULL };
static const char *const elf_ops[] = { ELF_OPS(NAME) NULL };

static const struct {
	const char *target;
	const char *const *ops;
} targets[] = {
	{ "walk", walk_ops }, { "image", image_ops }, { "elf", elf_ops },
};

static const struct name walk_names[] = {
	{ "number", VALUE_NUMBER }, { "hs", VALUE_HS }, { "cs", VALUE_CS },
	{ "obj", VALUE_OBJ }, { "code", VALUE_CODE }, { "lib", VALUE_LIB },
	{ "jit", VALUE_JIT }, { "ret", VALUE_RET }, { "high", VALUE_HIGH },
	{ "edge", VALUE_EDGE }, { "same", VALUE_SAME }, { "stored", VALUE_AT },
	{ "reg", VALUE_REG },

	{ "tso", OBJ_TSO }, { "task", OBJ_TASK }, { "incall", OBJ_INCALL },
	{ "cap", OBJ_CAP }, { "closure", OBJ_CLOSURE }, { "bco", OBJ_BCO },

	/* as build.c numbers them */
	{ "stop", 0 }, { "update", 1 }, { "underflow", 2 }, { "ret_fun", 3 },
	{ "ret_bco", 4 }, { "stack_info", 5 }, { "tso_info", 6 },
	{ "ret_1", 7 }, { "ret_3", 8 }, { "ret_big", 9 }, { "ret_2", 10 },
	{ "own", 11 }, { "catch", 12 }, { "atomically", 13 },
	{ "catch_retry", 14 }, { "catch_stm", 15 },

	/* rows, as unit/world.c has them */
	{ "row.main", 1 }, { "row.libc", 2 }, { "row.start", 3 },
	{ "row.schedule", 4 }, { "row.user", 5 }, { "row.drap", 6 },
	{ "row.aligned", 7 }, { "row.plt", 8 }, { "row.sigreturn", 9 },
	{ "row.vfork", 10 }, { "row.r12", 11 }, { "row.hole", 12 },
	{ "row.cmm", 13 }, { "row.hs", 14 }, { "row.hs_scan", 15 },
	{ "row.cmm_scan", 16 }, { "row.hs_sp", 17 }, { "row.hs_end", 18 },
	{ "row.hs_saved", 19 }, { "row.cmm_saved", 20 },

	{ "at.main", AT_MAIN }, { "at.libc", AT_LIBC }, { "at.start", AT_START },
	{ "at.schedule", AT_SCHEDULE }, { "at.user", AT_USER },
	{ "at.drap", AT_DRAP }, { "at.aligned", AT_ALIGNED },
	{ "at.plt", AT_PLT }, { "at.sigreturn", AT_SIGRETURN },
	{ "at.vfork", AT_VFORK }, { "at.r12", AT_R12 }, { "at.hole", AT_HOLE },
	{ "at.cmm", AT_CMM }, { "at.hs", AT_HS }, { "at.hs_scan", AT_HS_SCAN },
	{ "at.cmm_scan", AT_CMM_SCAN }, { "at.hs_sp", AT_HS_SP },
	{ "at.hs_end", AT_HS_END }, { "at.hs_saved", AT_HS_SAVED },
	{ "at.cmm_saved", AT_CMM_SAVED },

	{ "rax", HSU_RAX }, { "rdx", HSU_RDX }, { "rcx", HSU_RCX },
	{ "rbx", HSU_RBX }, { "rsi", HSU_RSI }, { "rdi", HSU_RDI },
	{ "rbp", HSU_RBP }, { "rsp", HSU_RSP }, { "r12", HSU_R12 },
	{ "r13", HSU_R13 }, { "r14", HSU_R14 },
	{ NULL, 0 },
};

static const struct name elf_names[] = {
#define AREA_NAME(name, section)	{ #name, AREA_##name },
	ELF_AREAS(AREA_NAME)
	{ NULL, 0 },
};

static void fail(unsigned int line, const char *what, const char *which)
{
	fprintf(stderr, "text: line %u: %s: %s\n", line, what, which);
	exit(1);
}

static long operand(const char *word, const struct name *names,
		    unsigned int line)
{
	size_t len = strcspn(word, "+-");
	char *end;
	long v = 0;

	errno = 0;
	if (len && !isdigit((unsigned char)*word)) {
		for (; names->name; names++)
			if (strlen(names->name) == len &&
			    !memcmp(names->name, word, len))
				break;
		if (!names->name)
			fail(line, "no such name", word);
		v = names->value;
		word += len;
		if (!*word)
			return v;
	}
	v += strtol(word, &end, 0);
	if (errno || *end)
		fail(line, "no number", word);
	return v;
}

static u8 op_number(const char *word, const char *const *ops, unsigned int line)
{
	u8 i;

	for (i = 0; ops[i]; i++)
		if (!strcmp(ops[i], word))
			return i;
	fail(line, "no such operation", word);
	return 0;
}

static void assemble(const char *const *ops, const struct name *names,
		     const char *folder)
{
	char text[256], path[512], *word;
	unsigned int line = 0;
	FILE *out = NULL;

	while (fgets(text, sizeof(text), stdin)) {
		struct record r = { 0 };

		line++;
		text[strcspn(text, "#\n")] = 0;
		word = strtok(text, " \t");
		if (!word)
			continue;
		if (!strcmp(word, "=")) {
			word = strtok(NULL, " \t");
			if (!word)
				fail(line, "no name", "=");
			snprintf(path, sizeof(path), "%s/%s", folder, word);
			if (out && fclose(out))
				fail(line, "cannot be written", path);
			out = fopen(path, "wx");
			if (!out)
				fail(line, "cannot be made", path);
			continue;
		}
		if (!out)
			fail(line, "no input has begun", word);
		r.op = op_number(word, ops, line);
		word = strtok(NULL, " \t");
		if (word)
			r.a = (u8)operand(word, names, line);
		word = word ? strtok(NULL, " \t") : NULL;
		if (word)
			r.b = (u16)operand(word, names, line);
		word = word ? strtok(NULL, " \t") : NULL;
		if (word)
			r.c = (s32)operand(word, names, line);
		fwrite(&r, sizeof(r), 1, out);
	}
	if (out && fclose(out))
		fail(line, "cannot be written", path);
}

static void disassemble(const char *const *ops, const char *path)
{
	const char *slash = strrchr(path, '/');
	FILE *in = fopen(path, "rb");
	struct record r;
	unsigned int nr = 0;

	if (!in)
		fail(0, "cannot be opened", path);
	while (ops[nr])
		nr++;
	printf("= %s\n", slash ? slash + 1 : path);
	while (fread(&r, sizeof(r), 1, in) == 1) {
		printf("%s", ops[r.op % nr]);
		if (r.a || r.b || r.c)
			printf(" %u", r.a);
		if (r.b || r.c)
			printf(" %u", r.b);
		if (r.c)
			printf(" %d", r.c);
		putchar('\n');
	}
	fclose(in);
}

int main(int argc, char **argv)
{
	bool back = argc > 3 && !strcmp(argv[1], "-d");
	const char *const *ops = NULL;
	const char *target;
	size_t t;
	int i;

	target = argc > 2 ? argv[1 + back] : "";
	for (t = 0; t < ARRAY_SIZE(targets); t++)
		if (!strcmp(targets[t].target, target))
			ops = targets[t].ops;
	if (!ops || (!back && argc != 3)) {
		fputs("usage: text TARGET FOLDER <FILE\n"
		      "       text -d TARGET FILE...\n", stderr);
		return 2;
	}
	if (!back)
		assemble(ops, ops == elf_ops ? elf_names : walk_names, argv[2]);
	for (i = 3; back && i < argc; i++)
		disassemble(ops, argv[i]);
	return 0;
}
