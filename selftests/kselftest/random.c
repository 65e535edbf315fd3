// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random ioctls, as root and as nobody, for a while: any documented answer will
 * do, as long as there is one, the kernel does not complain, and nothing is left.
 * Arguments and images are valid ones with some words changed, or noise.
 *
 * HSUNWIND_SEED repeats a run; HSUNWIND_SECONDS says for how long.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "chain.h"
#include "device.h"
#include "kselftest_harness.h"
#include "user.h"

#define SELF	"/proc/self/exe"
#define NOBODY	65534

union arg {
	__u32 word[64];
	struct hsunwind_image_add add;
	struct hsunwind_image_info info;
	struct hsunwind_image_remove remove;
	struct hsunwind_process process;
	struct hsunwind_stats stats;
};

static const struct {
	unsigned long cmd;
	__u32 size;
} commands[] = {
	{ HSUNWIND_IOC_IMAGE_ADD, sizeof(struct hsunwind_image_add) },
	{ HSUNWIND_IOC_IMAGE_ADD, sizeof(struct hsunwind_image_add) },
	{ HSUNWIND_IOC_IMAGE_ADD, sizeof(struct hsunwind_image_add) },
	{ HSUNWIND_IOC_IMAGE_NEXT, sizeof(struct hsunwind_image_info) },
	{ HSUNWIND_IOC_IMAGE_REMOVE, sizeof(struct hsunwind_image_remove) },
	{ HSUNWIND_IOC_PROCESS_ADD, sizeof(struct hsunwind_process) },
	{ HSUNWIND_IOC_PROCESS_REMOVE, sizeof(struct hsunwind_process) },
	{ HSUNWIND_IOC_PROCESS_NEXT, sizeof(struct hsunwind_process) },
	{ HSUNWIND_IOC_STATS, sizeof(struct hsunwind_stats) },
	{ _IOWR(HSUNWIND_IOC_MAGIC, 0x47, __u64), 8 },
};

#define NR_COMMANDS (sizeof(commands) / sizeof(*commands))

/* All that the interface header lists. */
static const int documented[] = {
	0, EPERM, ENOENT, ESRCH, EINTR, E2BIG, EBADF, ENOMEM, EFAULT, EBUSY,
	EINVAL, ENOTTY, ETXTBSY, EFBIG, ENOSPC, ENAMETOOLONG, EDQUOT,
};

#define NR_DOCUMENTED (sizeof(documented) / sizeof(*documented))

/* Far from everything, as changed addresses are written to, too. */
static char *buffer;

#define BUFFER		((char *)0x100000000000)
#define BUFFER_SIZE	4096

static struct test_image good, image;

static void spoil(void *data, size_t size, int times)
{
	static const __u32 odd[] = {
		0, 1, 4, 8, 63, 64, 65, 4095, 4096, 0x7fffffff, 0x80000000,
		0xfffffff8, 0xffffffff,
	};

	while (times--) {
		__u32 *at = (__u32 *)data + random() % (size / 4);

		switch (random() % 3) {
		case 0:
			*at = odd[random() % (sizeof(odd) / sizeof(*odd))];
			break;
		case 1:
			*at ^= 1u << random() % 32;
			break;
		default:
			*at = random();
		}
	}
}

static void make(union arg *arg, unsigned long cmd, __u32 size, int exe)
{
	memset(arg, 0, sizeof(*arg));
	switch (cmd) {
	case HSUNWIND_IOC_IMAGE_ADD:
		image = good;
		if (random() % 2)
			spoil(&image, sizeof(image), 1 + random() % 3);
		arg->add.flags = random() & HSUNWIND_ADD_MASK;
		if (random() % 4)
			arg->add.flags &= ~HSUNWIND_ADD_VDSO;
		arg->add.fd = arg->add.flags & HSUNWIND_ADD_VDSO ? -1 : exe;
		arg->add.data = (uintptr_t)&image;
		arg->add.len = sizeof(image);
		break;
	case HSUNWIND_IOC_IMAGE_NEXT:
		arg->info.id = random() % 2 ? 0 : random();
		arg->info.path = (uintptr_t)buffer;
		arg->info.path_len = random() % BUFFER_SIZE;
		break;
	case HSUNWIND_IOC_IMAGE_REMOVE:
		if (random() % 8 == 0)
			arg->remove.flags = HSUNWIND_REMOVE_ALL;
		else
			arg->remove.id = random() % 100000;
		break;
	case HSUNWIND_IOC_PROCESS_ADD:
	case HSUNWIND_IOC_PROCESS_REMOVE:
	case HSUNWIND_IOC_PROCESS_NEXT:
		arg->process.pid = random() % 2 ? getpid() : random() % 300;
		break;
	case HSUNWIND_IOC_STATS:
		arg->stats.nr_stops = HSUNWIND_STOP_NR;
		arg->stats.stops = (uintptr_t)buffer;
		break;
	}
	arg->word[0] = size;
	if (random() % 3 == 0)
		spoil(arg, size, 1 + random() % 2);
	if (random() % 16 == 0)
		spoil(arg, sizeof(*arg), 64);
}

/* What comes back is counted; returns what is not documented, or 0. */
static int run(unsigned int seed, int seconds, unsigned long *count)
{
	struct timespec now, end;
	int dev = open(DEVICE, O_RDWR), exe = open(SELF, O_RDONLY);
	size_t i;

	srandom(seed);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += seconds;
	do {
		const size_t which = random() % NR_COMMANDS;
		union arg arg;
		int error;

		make(&arg, commands[which].cmd, commands[which].size, exe);
		error = ioctl(dev, commands[which].cmd, &arg) ? errno : 0;
		for (i = 0; i < NR_DOCUMENTED && documented[i] != error; i++)
			;
		if (i == NR_DOCUMENTED)
			return error;
		count[i]++;
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec < end.tv_sec);
	close(exe);
	close(dev);
	return 0;
}

static unsigned int number(const char *name, unsigned int otherwise)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 0) : otherwise;
}

FIXTURE(random)
{
	unsigned int seed;
};

FIXTURE_VARIANT(random)
{
	unsigned int user;
};

FIXTURE_VARIANT_ADD(random, root) { .user = 0 };
FIXTURE_VARIANT_ADD(random, nobody) { .user = NOBODY };

FIXTURE_SETUP(random)
{
	__u32 from, to;

	buffer = mmap(BUFFER, BUFFER_SIZE, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	ASSERT_EQ(BUFFER, buffer);
	chain_f2(&from, &to);
	test_image_init(&good, SELF, from, to);
	self->seed = number("HSUNWIND_SEED", time(NULL));
}

FIXTURE_TEARDOWN(random)
{
}

TEST_F_TIMEOUT(random, ioctls, 600)
{
	unsigned long count[NR_DOCUMENTED] = {};
	int dev = open(DEVICE, O_RDWR);
	__u64 theirs = 0;

	ASSERT_LE(0, dev);
	ASSERT_EQ(0, remove_all(dev));
	/* What root has registered is not nobody's to change. */
	if (variant->user) {
		ASSERT_EQ(0, add(SELF, HSUNWIND_ADD_PROGRAM, &good, &theirs));
		become(variant->user);
	}
	TH_LOG("HSUNWIND_SEED=%u", self->seed);
	EXPECT_EQ(0, run(self->seed, number("HSUNWIND_SECONDS", 20), count));
	for (size_t i = 0; i < NR_DOCUMENTED; i++)
		if (count[i])
			TH_LOG("%lu times %s", count[i],
			       documented[i] ? strerrorname_np(documented[i]) :
			       "success");
	/* It has got past the checks, and not always. */
	EXPECT_LT(100, count[0]);
	EXPECT_LT(100, count[10]);
	EXPECT_EQ(variant->user != 0, count[1] != 0);
	EXPECT_EQ(0, remove_all(dev));
	EXPECT_EQ(0, images(dev));
	close(dev);
}

CHAIN_MAIN int main(int argc, char **argv)
{
	return test_harness_run(argc, argv);
}
