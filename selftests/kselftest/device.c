// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"

static void read_at(int fd, const char *name, void *buf, size_t len, off_t at)
{
	if (pread(fd, buf, len, at) != (ssize_t)len)
		err(1, "%s: cannot read", name);
}

void test_image_init(struct test_image *image, const char *elf, __u32 from,
		     __u32 to)
{
	Elf64_Phdr phdrs[32];
	Elf64_Ehdr ehdr;
	Elf64_Phdr *text = NULL;
	__u64 base = UINT64_MAX;
	int fd = open(elf, O_RDONLY);

	if (fd < 0)
		err(1, "%s", elf);
	read_at(fd, elf, &ehdr, sizeof(ehdr), 0);
	if (memcmp(ehdr.e_ident, ELFMAG, SELFMAG) || ehdr.e_phnum > 32)
		errx(1, "%s: not such an ELF file", elf);
	read_at(fd, elf, phdrs, ehdr.e_phnum * sizeof(*phdrs), ehdr.e_phoff);
	close(fd);
	for (int i = 0; i < ehdr.e_phnum; i++) {
		if (phdrs[i].p_type != PT_LOAD)
			continue;
		if (base > (phdrs[i].p_vaddr & -4096ul))
			base = phdrs[i].p_vaddr & -4096ul;
		if (phdrs[i].p_flags & PF_X)
			text = &phdrs[i];
	}
	if (!text)
		errx(1, "%s: no executable segment", elf);

	*image = (struct test_image) {
		.h = {
			.magic = HSUNWIND_IMAGE_MAGIC,
			.version = HSUNWIND_IMAGE_VERSION,
			.header_size = sizeof(image->h),
			.size = sizeof(*image),
			.base = base,
			.nr_segs = 1,
			.segs = offsetof(struct test_image, segs),
			.nr_rules = IMAGE_RULES,
			.rules = offsetof(struct test_image, rules),
			.nr_rows = IMAGE_ROWS,
			.pcs = offsetof(struct test_image, pcs),
			.ids = offsetof(struct test_image, ids),
			.ghc = { .version = 900, .header = 8 },
		},
		.segs = { {
			.offset = text->p_offset,
			.vaddr = text->p_vaddr,
			.size = text->p_filesz,
		} },
		.rules = {
			[RULE_NONE] = { .kind = HSUNWIND_RULE_NONE },
			[RULE_FP] = {
				.kind = HSUNWIND_RULE_CFA,
				.cls = HSUNWIND_CLASS_C,
				.cfa_reg = 6,	/* rbp */
				.cfa_off = 16,
				.rbp = -2,
			},
			[RULE_BOTTOM] = {
				.kind = HSUNWIND_RULE_BOTTOM,
				.cls = HSUNWIND_CLASS_C,
			},
			[RULE_HS] = {
				.kind = HSUNWIND_RULE_HS_SP,
				.cls = HSUNWIND_CLASS_HS,
			},
			[RULE_SCAN] = {
				.kind = HSUNWIND_RULE_HS_SCAN,
				.cls = HSUNWIND_CLASS_HS_RTS,
				.arg = 8,
			},
			[RULE_RA_REG] = {
				.kind = HSUNWIND_RULE_RA_REG,
				.cls = HSUNWIND_CLASS_LIBC,
				.cfa_reg = 7,
				.arg = 5,
			},
		},
		.pcs = {
			text->p_vaddr - base, from, to,
			text->p_vaddr + text->p_filesz - base,
		},
		.ids = { RULE_FP, RULE_BOTTOM, RULE_FP, RULE_NONE },
	};
}

static int call(int dev, unsigned long cmd, void *arg)
{
	return ioctl(dev, cmd, arg) ? -errno : 0;
}

int image_add_fd(int dev, int fd, __u32 flags, const void *image, __u64 len,
		 __u64 *id)
{
	struct hsunwind_image_add arg = {
		.size = sizeof(arg),
		.flags = flags,
		.fd = fd,
		.data = (uintptr_t)image,
		.len = len,
	};
	int ret = call(dev, HSUNWIND_IOC_IMAGE_ADD, &arg);

	if (id)
		*id = arg.out_id;
	return ret;
}

int image_add(int dev, const char *elf, __u32 flags,
	      const struct test_image *image, __u64 *id)
{
	int fd = open(elf, O_RDONLY);
	int ret = image_add_fd(dev, fd, flags, image, sizeof(*image), id);

	close(fd);
	return ret;
}

int image_remove(int dev, __u64 id)
{
	struct hsunwind_image_remove arg = { .size = sizeof(arg), .id = id };

	return call(dev, HSUNWIND_IOC_IMAGE_REMOVE, &arg);
}

int remove_all(int dev)
{
	struct hsunwind_image_remove arg = {
		.size = sizeof(arg),
		.flags = HSUNWIND_REMOVE_ALL,
	};

	return call(dev, HSUNWIND_IOC_IMAGE_REMOVE, &arg);
}

int image_info(int dev, __u64 id, struct hsunwind_image_info *info)
{
	*info = (struct hsunwind_image_info) { .size = sizeof(*info), .id = id };
	return call(dev, HSUNWIND_IOC_IMAGE_NEXT, info);
}

int process_add(int dev, int pid, __u32 *nr_maps)
{
	struct hsunwind_process arg = { .size = sizeof(arg), .pid = pid };
	int ret = call(dev, HSUNWIND_IOC_PROCESS_ADD, &arg);

	if (nr_maps)
		*nr_maps = arg.nr_maps;
	return ret;
}

int process_remove(int dev, int pid)
{
	struct hsunwind_process arg = { .size = sizeof(arg), .pid = pid };

	return call(dev, HSUNWIND_IOC_PROCESS_REMOVE, &arg);
}

int process_next(int dev, int pid)
{
	struct hsunwind_process arg = { .size = sizeof(arg), .pid = pid };
	int ret = call(dev, HSUNWIND_IOC_PROCESS_NEXT, &arg);

	return ret ? ret : arg.pid;
}

unsigned int images(int dev)
{
	struct hsunwind_image_info info = { .id = 0 };
	unsigned int n = 0;

	while (image_info(dev, info.id, &info) == 0) {
		info.id++;
		n++;
	}
	return n;
}

bool known(int dev, int pid)
{
	return process_next(dev, pid) == pid;
}

static void stats(int dev, __u64 *stop, __u64 *count)
{
	struct hsunwind_stats arg = {
		.size = sizeof(arg),
		.nr_stops = HSUNWIND_STOP_NR,
		.nr_counters = HSUNWIND_COUNT_NR,
		.stops = (uintptr_t)stop,
		.counters = (uintptr_t)count,
	};

	if (call(dev, HSUNWIND_IOC_STATS, &arg))
		err(1, "HSUNWIND_IOC_STATS");
}

__u64 counter(int dev, enum hsunwind_counter nr)
{
	__u64 stop[HSUNWIND_STOP_NR], count[HSUNWIND_COUNT_NR];

	stats(dev, stop, count);
	return count[nr];
}

__u64 stops(int dev, enum hsunwind_stop nr)
{
	__u64 stop[HSUNWIND_STOP_NR], count[HSUNWIND_COUNT_NR];

	stats(dev, stop, count);
	return stop[nr];
}
