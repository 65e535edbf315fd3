// SPDX-License-Identifier: GPL-2.0-only
/*
 * Builds images of damaged copies of a file, under ASan and UBSan: whatever is
 * in the file, there must be an image that is valid or a sentence.
 */
#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "image_build.h"

static unsigned int good, refused;

static __u64 random_next(void)
{
	static __u64 x = 88172645463325252ULL;	/* xorshift */

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static void die(const char *what, const struct hsu_error *err)
{
	printf("# %s: '%s'\n", what, err->msg);
	exit(1);
}

static void check(const unsigned char *data, size_t len)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct hsu_error err = { "" };
	struct hsu_built built;
	unsigned int flags;

	if (fd < 0 || write(fd, data, len) != (ssize_t)len) {
		perror("memfd");
		exit(1);
	}
	/* The analysis of the code takes most of the time. */
	flags = (good + refused) % 4 ? HSU_BUILD_NO_FLOW : 0;
	if (!hsu_build_fd(fd, "fuzz.elf", flags, &built, &err)) {
		good++;
		hsu_built_free(&built);
	} else {
		refused++;
		if (!strstr(err.msg, "fuzz.elf"))
			die("the sentence does not name the file", &err);
		if (strchr(err.msg, '\n') || strlen(err.msg) < 30)
			die("this is no sentence", &err);
	}
	close(fd);
}

static unsigned char *read_all(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	unsigned char *data;
	long size = 0;

	if (f && !fseek(f, 0, SEEK_END))
		size = ftell(f);
	if (size <= 64) {
		perror(path);
		exit(1);
	}
	rewind(f);
	data = malloc((size_t)size);
	if (!data || fread(data, 1, (size_t)size, f) != (size_t)size) {
		perror(path);
		exit(1);
	}
	fclose(f);
	*len = (size_t)size;
	return data;
}

/* Where damage hurts most. */
struct area {
	size_t start;
	size_t len;
};

static size_t find_areas(const unsigned char *data, size_t len,
			 struct area *areas, size_t cap)
{
	static const char *const names[] = {
		".eh_frame", ".debug_frame", ".dynamic", ".symtab", ".dynsym",
		".dynstr", ".comment", ".note.gnu.build-id", ".init_array",
		".rela.dyn", ".debug_info", ".debug_abbrev", ".debug_aranges",
		".gnu_debuglink", ".shstrtab", ".eh_frame_hdr",
	};
	Elf64_Ehdr eh;
	Elf64_Shdr sh, str;
	size_t n = 0, i, j;

	memcpy(&eh, data, sizeof(eh));
	areas[n++] = (struct area){ 16, sizeof(eh) - 16 };
	areas[n++] = (struct area){ eh.e_phoff, eh.e_phnum * sizeof(Elf64_Phdr) };
	areas[n++] = (struct area){ eh.e_shoff, eh.e_shnum * sizeof(sh) };
	memcpy(&str, data + eh.e_shoff + eh.e_shstrndx * sizeof(sh), sizeof(str));
	for (i = 1; i < eh.e_shnum; i++) {
		memcpy(&sh, data + eh.e_shoff + i * sizeof(sh), sizeof(sh));
		for (j = 0; j < ARRAY_SIZE(names) && n < cap; j++)
			if (sh.sh_type != SHT_NOBITS && sh.sh_size &&
			    sh.sh_offset + sh.sh_size <= len &&
			    !strcmp((const char *)data + str.sh_offset +
				    sh.sh_name, names[j]))
				areas[n++] = (struct area){ sh.sh_offset,
							    sh.sh_size };
	}
	return n;
}

static void damage(unsigned char *p)
{
	static const unsigned char edges[] = { 0, 1, 0x7f, 0x80, 0xff };

	switch (random_next() % 3) {
	case 0:
		*p ^= (unsigned char)(1u << random_next() % 8);
		break;
	case 1:
		*p = edges[random_next() % sizeof(edges)];
		break;
	default:
		*p = (unsigned char)random_next();
	}
}

int main(int argc, char **argv)
{
	unsigned char *data, *copy;
	struct area areas[64];
	size_t len, nr, i, n;
	int cases, c;

	if (argc != 3) {
		fprintf(stderr, "usage: image_fuzz FILE CASES\n");
		return 2;
	}
	data = read_all(argv[1], &len);
	cases = atoi(argv[2]);
	check(data, len);
	if (!good) {
		printf("# %s itself is refused\n", argv[1]);
		return 1;
	}
	for (i = 0; i < 64; i++)
		check(data, len * i / 64);
	for (i = 0; i <= 64; i++)
		check(data, i);
	nr = find_areas(data, len, areas, ARRAY_SIZE(areas));
	copy = malloc(len);
	if (!copy)
		return 1;
	for (c = 0; c < cases; c++) {
		memcpy(copy, data, len);
		for (n = 1 + random_next() % 8; n; n--) {
			const struct area *a = &areas[random_next() % nr];

			if (a->len)
				damage(copy + a->start + random_next() % a->len);
		}
		check(copy, len);
	}
	printf("# %s: %u images, %u refused\n", argv[1], good, refused);
	free(copy);
	free(data);
	return 0;
}
