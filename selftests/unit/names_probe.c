// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows names for tests: of symbols that it reads (--decode), or of all
 * procedures of a file.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "codenames.h"
#include "debugfile.h"
#include "symtab.h"
#include "zdecode.h"

static int decode(void)
{
	char line[HSU_MAX_NAME], name[HSU_MAX_NAME];

	while (fgets(line, sizeof(line), stdin)) {
		line[strcspn(line, "\n")] = 0;
		hsu_name_of_symbol(line, name, sizeof(name));
		puts(name);
	}
	return 0;
}

static int show(const char *path, unsigned int flags)
{
	static const char *const sources[HSU_NAME_SOURCES] = {
		"symbol", "debug", "owner", "address",
	};
	struct hsu_names names;
	struct hsu_symtab tab;
	struct hsu_built built;
	struct hsu_error err;
	struct hsu_elf *elf;
	int fd = open(path, O_RDONLY);
	size_t i;

	elf = hsu_elf_open(fd, NULL, 0, path, &err);
	if (!elf || hsu_build_fd(fd, path, 0, &built, &err)) {
		fprintf(stderr, "%s\n", err.msg);
		return 1;
	}
	if (!hsu_elf_symtab(elf, &tab) ||
	    !hsu_names_find(elf, elf, &tab, &built, flags, &names))
		return 1;
	for (i = 0; i < names.nr; i++) {
		const struct hsu_proc *p = &names.procs[i];

		printf("%llx %llx %llx %s %c %s\n", (unsigned long long)p->addr,
		       (unsigned long long)p->end, (unsigned long long)p->table,
		       sources[p->source], p->rts ? 'r' : 'h',
		       names.strings.text + p->name);
	}
	hsu_names_free(&names);
	hsu_symtab_free(&tab);
	hsu_built_free(&built);
	hsu_elf_close(elf);
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	unsigned int flags = 0;
	int i;

	for (i = 1; i < argc - 1; i++)
		flags |= strcmp(argv[i], "--exact") ? HSU_NAMES_NO_DEBUG
						    : HSU_NAMES_EXACT;
	if (i >= argc) {
		fputs("usage: names_probe --decode | [--exact] [--no-debug] FILE\n",
		      stderr);
		return 2;
	}
	return strcmp(argv[i], "--decode") ? show(argv[i], flags) : decode();
}
