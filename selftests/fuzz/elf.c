// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzes the image builder with damaged copies of good files, $HSUNWIND_FUZZ_FILE
 * and the same with "-rts" behind its name: whatever is in them, there must be an
 * image that is valid or a sentence.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "elf_damage.h"
#include "image_build.h"
#include "records.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t len);

static struct elf_file good[2];
static int fd;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *path = getenv("HSUNWIND_FUZZ_FILE");
	char other[4096];

	(void)argc;
	(void)argv;
	check(path, "HSUNWIND_FUZZ_FILE names a good file");
	elf_file_read(&good[0], path);
	snprintf(other, sizeof(other), "%s-rts", path);
	elf_file_read(&good[1], other);
	fd = memfd_create("fuzz", MFD_CLOEXEC);
	check(fd >= 0, "there is memory");
	return 0;
}

static void write_file(const u8 *data, size_t len)
{
	check(!ftruncate(fd, 0) && !ftruncate(fd, (off_t)len) &&
	      pwrite(fd, data, len, 0) == (ssize_t)len,
	      "the file can be written");
}

static void check_image(const struct hsu_built *built)
{
	struct hsu_image img;
	const char *why;

	why = hsu_image_init(&img, built->data, built->len);
	if (why)
		fprintf(stderr, "%s\n", why);
	check(!why, "an image is valid");
}

static void check_sentence(const struct hsu_error *err)
{
	size_t len = strnlen(err->msg, sizeof(err->msg));
	size_t i;

	check(len >= 30 && len < sizeof(err->msg),
	      "an error is a sentence");
	check(strstr(err->msg, "fuzz.elf"), "it names the file");
	for (i = 0; i < len; i++)
		check((unsigned char)err->msg[i] >= ' ',
		      "it can be printed");
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	static struct record records[MAX_RECORDS];
	struct hsu_error err = { "" };
	struct hsu_built built;
	struct elf_damage d;

	elf_damage(&d, good, records, records_read(data, len, records));
	write_file(d.data, d.len);
	if (!hsu_build_fd(fd, "fuzz.elf", d.flags, &built, &err)) {
		check_image(&built);
		hsu_built_free(&built);
	} else {
		check_sentence(&err);
	}
	free(d.data);
	return 0;
}
