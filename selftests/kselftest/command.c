// SPDX-License-Identifier: GPL-2.0-only
/*
 * What all ioctls of /dev/hsunwind have in common: their numbers, and how they
 * treat arguments of any size.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "kselftest_harness.h"

#define SELF "/proc/self/exe"

/* They must never change. */
_Static_assert(HSUNWIND_IOC_IMAGE_ADD == 0xc028bc40, "number");
_Static_assert(HSUNWIND_IOC_IMAGE_NEXT == 0xc040bc41, "number");
_Static_assert(HSUNWIND_IOC_IMAGE_REMOVE == 0x4010bc42, "number");
_Static_assert(HSUNWIND_IOC_PROCESS_ADD == 0xc010bc43, "number");
_Static_assert(HSUNWIND_IOC_PROCESS_REMOVE == 0x4010bc44, "number");
_Static_assert(HSUNWIND_IOC_PROCESS_NEXT == 0xc010bc45, "number");
_Static_assert(HSUNWIND_IOC_STATS == 0xc020bc46, "number");

/* Returns 0 or a negative error number. */
static int call(int dev, unsigned long cmd, void *arg)
{
	return ioctl(dev, cmd, arg) ? -errno : 0;
}

TEST(unknown_command)
{
	int dev = open(DEVICE, O_RDWR);

	ASSERT_LE(0, dev);
	EXPECT_EQ(-ENOTTY, call(dev, _IO(HSUNWIND_IOC_MAGIC, 0x3f), NULL));
	EXPECT_EQ(-ENOTTY, call(dev, _IO(HSUNWIND_IOC_MAGIC, 0x47), NULL));
	EXPECT_EQ(-ENOTTY, call(dev, _IO(HSUNWIND_IOC_MAGIC, 0), NULL));
	EXPECT_EQ(-ENOTTY, call(dev, _IO(HSUNWIND_IOC_MAGIC + 1, 0x40),
				NULL));
	close(dev);
}

FIXTURE(command)
{
	int dev;
	__u32 *arg;
};

FIXTURE_VARIANT(command)
{
	unsigned long cmd;
	__u32 size;
	int ret;	/* for an argument that is zero but for the size */
};

#define COMMAND(name, number, type, result)				\
	FIXTURE_VARIANT_ADD(command, name)				\
	{								\
		.cmd = (number),					\
		.size = sizeof(struct type),				\
		.ret = (result),					\
	}

/* With file descriptor 0, whatever it is, and the length 0. */
COMMAND(image_add, HSUNWIND_IOC_IMAGE_ADD, hsunwind_image_add, -EINVAL);
COMMAND(image_next, HSUNWIND_IOC_IMAGE_NEXT, hsunwind_image_info, -ENOENT);
COMMAND(image_remove, HSUNWIND_IOC_IMAGE_REMOVE, hsunwind_image_remove,
	-ENOENT);
COMMAND(process_add, HSUNWIND_IOC_PROCESS_ADD, hsunwind_process, -ESRCH);
COMMAND(process_remove, HSUNWIND_IOC_PROCESS_REMOVE, hsunwind_process, -ESRCH);
COMMAND(process_next, HSUNWIND_IOC_PROCESS_NEXT, hsunwind_process, -ENOENT);
COMMAND(stats, HSUNWIND_IOC_STATS, hsunwind_stats, 0);

FIXTURE_SETUP(command)
{
	self->dev = open(DEVICE, O_RDWR);
	ASSERT_LE(0, self->dev);
	ASSERT_EQ(0, remove_all(self->dev));
	ASSERT_EQ(0, dup2(open(SELF, O_RDONLY), 0));
	self->arg = calloc(1, 16384);
	ASSERT_NE(NULL, self->arg);
	self->arg[0] = variant->size;
}

FIXTURE_TEARDOWN(command)
{
	free(self->arg);
	close(self->dev);
}

TEST_F(command, exact_size)
{
	EXPECT_EQ(variant->ret, call(self->dev, variant->cmd, self->arg));
}

TEST_F(command, too_small)
{
	__u32 size;

	for (size = 0; size < variant->size; size++) {
		self->arg[0] = size;
		EXPECT_EQ(-EINVAL, call(self->dev, variant->cmd, self->arg));
	}
}

TEST_F(command, larger_and_zero)
{
	self->arg[0] = variant->size + 1;
	EXPECT_EQ(variant->ret, call(self->dev, variant->cmd, self->arg));
	/* The answer is in there. */
	memset(self->arg, 0, 4096);
	self->arg[0] = 4096;
	EXPECT_EQ(variant->ret, call(self->dev, variant->cmd, self->arg));
}

TEST_F(command, larger_and_not_zero)
{
	self->arg[0] = variant->size + 8;
	((char *)self->arg)[variant->size + 7] = 1;
	EXPECT_EQ(-E2BIG, call(self->dev, variant->cmd, self->arg));
}

TEST_F(command, larger_than_a_page)
{
	self->arg[0] = 4097;
	EXPECT_EQ(-E2BIG, call(self->dev, variant->cmd, self->arg));
	self->arg[0] = 0xffffffff;
	EXPECT_EQ(-E2BIG, call(self->dev, variant->cmd, self->arg));
}

TEST_F(command, bad_pointer)
{
	char *map = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	__u32 *edge = (__u32 *)(map + 4096 - 8);

	ASSERT_EQ(0, munmap(map + 4096, 4096));
	EXPECT_EQ(-EFAULT, call(self->dev, variant->cmd, NULL));
	EXPECT_EQ(-EFAULT, call(self->dev, variant->cmd, (void *)-4096l));
	*edge = variant->size;
	EXPECT_EQ(-EFAULT, call(self->dev, variant->cmd, edge));
	munmap(map, 4096);
}

TEST_F(command, encoded_size_does_not_count)
{
	unsigned long cmd = _IOC(_IOC_DIR(variant->cmd), HSUNWIND_IOC_MAGIC,
				 _IOC_NR(variant->cmd), 8);

	EXPECT_EQ(variant->ret, call(self->dev, cmd, self->arg));
}

TEST_F(command, unknown_flag)
{
	self->arg[1] = 1u << 31;
	/* Of an image's description, the flags are an output. */
	EXPECT_EQ(variant->cmd == HSUNWIND_IOC_IMAGE_NEXT ? -ENOENT : -EINVAL,
		  call(self->dev, variant->cmd, self->arg));
}

TEST_HARNESS_MAIN
