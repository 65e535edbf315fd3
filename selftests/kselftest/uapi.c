// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls of /dev/hsunwind: one test for each way in which an argument can be
 * wrong. What is the same for all of them is in command.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chain.h"
#include "device.h"
#include "kselftest_harness.h"

#define SELF "/proc/self/exe"

/* Returns 0 or a negative error number. */
static int call(int dev, unsigned long cmd, void *arg)
{
	return ioctl(dev, cmd, arg) ? -errno : 0;
}

FIXTURE(uapi)
{
	int dev;
	int exe;
	struct test_image image;
	struct hsunwind_image_add add;
};

FIXTURE_SETUP(uapi)
{
	__u32 from, to;

	self->dev = open(DEVICE, O_RDWR);
	ASSERT_LE(0, self->dev);
	ASSERT_EQ(0, remove_all(self->dev));
	self->exe = open(SELF, O_RDONLY);
	ASSERT_LE(0, self->exe);
	chain_f2(&from, &to);
	test_image_init(&self->image, SELF, from, to);
	self->add = (struct hsunwind_image_add) {
		.size = sizeof(self->add),
		.fd = self->exe,
		.data = (uintptr_t)&self->image,
		.len = sizeof(self->image),
	};
}

FIXTURE_TEARDOWN(uapi)
{
	EXPECT_EQ(0, remove_all(self->dev));
	close(self->exe);
	close(self->dev);
}

/* Opening */

TEST_F(uapi, mode)
{
	struct stat st;

	ASSERT_EQ(0, fstat(self->dev, &st));
	EXPECT_EQ(S_IFCHR | 0666, st.st_mode);
	EXPECT_EQ(0, st.st_uid);
}

/* As root without some capabilities; returns 0 or a negative error number. */
static int add_without(int dev, const struct hsunwind_image_add *how, __u64 caps)
{
	struct __user_cap_header_struct header = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2];
	struct hsunwind_image_add arg = *how;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		if (syscall(SYS_capget, &header, data))
			_exit(255);
		data[0].effective &= ~(__u32)caps;
		data[1].effective &= ~(__u32)(caps >> 32);
		if (syscall(SYS_capset, &header, data))
			_exit(255);
		_exit(-call(dev, HSUNWIND_IOC_IMAGE_ADD, &arg));
	}
	waitpid(pid, &status, 0);
	return -WEXITSTATUS(status);
}

/* Who calls counts, not who has opened the device. */
TEST_F(uapi, capabilities)
{
	const __u64 perfmon = 1ull << CAP_PERFMON;
	const __u64 admin = 1ull << CAP_SYS_ADMIN;

	EXPECT_EQ(-EPERM, add_without(self->dev, &self->add, perfmon | admin));
	EXPECT_EQ(0, add_without(self->dev, &self->add, perfmon));
	EXPECT_EQ(0, add_without(self->dev, &self->add, admin));
	self->add.flags = HSUNWIND_ADD_OWN;
	EXPECT_EQ(0, add_without(self->dev, &self->add, perfmon | admin));
}

/* HSUNWIND_IOC_IMAGE_ADD */

static int add(int dev, struct hsunwind_image_add *arg)
{
	return call(dev, HSUNWIND_IOC_IMAGE_ADD, arg);
}

TEST_F(uapi, add_good)
{
	EXPECT_EQ(0, add(self->dev, &self->add));
	EXPECT_NE(0, self->add.out_id);
}

TEST_F(uapi, add_reserved)
{
	self->add.reserved = 1;
	EXPECT_EQ(-EINVAL, add(self->dev, &self->add));
}

TEST_F(uapi, add_no_fd)
{
	self->add.fd = -1;
	EXPECT_EQ(-EBADF, add(self->dev, &self->add));
	self->add.fd = 1000;
	EXPECT_EQ(-EBADF, add(self->dev, &self->add));
}

TEST_F(uapi, add_fd_not_for_reading)
{
	char name[] = "/tmp/hsunwind-test-XXXXXX";
	int fd = mkstemp(name);

	close(fd);
	self->add.fd = open(name, O_WRONLY);
	ASSERT_LE(0, self->add.fd);
	EXPECT_EQ(-EBADF, add(self->dev, &self->add));
	close(self->add.fd);
	unlink(name);

	self->add.fd = open(SELF, O_PATH);
	ASSERT_LE(0, self->add.fd);
	EXPECT_EQ(-EBADF, add(self->dev, &self->add));
	close(self->add.fd);
}

TEST_F(uapi, add_fd_not_a_file)
{
	self->add.fd = open("/", O_RDONLY);
	EXPECT_EQ(-EINVAL, add(self->dev, &self->add));
	close(self->add.fd);
	self->add.fd = open("/dev/null", O_RDONLY);
	EXPECT_EQ(-EINVAL, add(self->dev, &self->add));
	close(self->add.fd);
	self->add.fd = self->dev;
	EXPECT_EQ(-EINVAL, add(self->dev, &self->add));
}

TEST_F(uapi, add_length)
{
	self->add.len = 0;
	EXPECT_EQ(-EINVAL, add(self->dev, &self->add));
	self->add.len = HSUNWIND_MAX_IMAGE_SIZE + 1;
	EXPECT_EQ(-EFBIG, add(self->dev, &self->add));
	self->add.len = -1ull;
	EXPECT_EQ(-EFBIG, add(self->dev, &self->add));
}

TEST_F(uapi, add_data_pointer)
{
	self->add.data = 0;
	EXPECT_EQ(-EFAULT, add(self->dev, &self->add));
	self->add.data = -4096ull;
	EXPECT_EQ(-EFAULT, add(self->dev, &self->add));
	/* Not a byte of kernel memory gets in. */
	self->add.data = 0xffffffff81000000;
	EXPECT_EQ(-EFAULT, add(self->dev, &self->add));
}

TEST_F(uapi, add_vdso)
{
	self->add.flags = HSUNWIND_ADD_VDSO;
	EXPECT_EQ(-EINVAL, add(self->dev, &self->add));
	self->add.fd = -1;
	EXPECT_EQ(0, add(self->dev, &self->add));
	EXPECT_EQ(0, add(self->dev, &self->add));
	EXPECT_EQ(1, images(self->dev));
	self->add.flags = HSUNWIND_ADD_VDSO | HSUNWIND_ADD_PROGRAM;
	EXPECT_EQ(-EINVAL, add(self->dev, &self->add));
	/* One's own is beside that for everyone. */
	self->add.flags = HSUNWIND_ADD_VDSO | HSUNWIND_ADD_OWN;
	EXPECT_EQ(0, add(self->dev, &self->add));
	EXPECT_EQ(2, images(self->dev));
}

TEST_F(uapi, add_what_is_shown)
{
	struct hsunwind_image_info info;
	__u32 bit;

	for (bit = 0; bit < 32; bit++) {
		const __u32 flag = 1u << bit;

		self->add.flags = flag;
		if (flag == HSUNWIND_ADD_VDSO)
			continue;
		if (!(flag & (HSUNWIND_ADD_MASK | HSUNWIND_SHOW_MASK))) {
			EXPECT_EQ(-EINVAL, add(self->dev, &self->add));
			continue;
		}
		ASSERT_EQ(0, add(self->dev, &self->add));
		ASSERT_EQ(0, image_info(self->dev, self->add.out_id, &info));
		EXPECT_EQ(flag, info.flags);
	}
	/* The one with HSUNWIND_ADD_OWN replaces none of the others. */
	EXPECT_EQ(2, images(self->dev));
	self->add.flags = HSUNWIND_SHOW_MASK & ~HSUNWIND_GC_SHOW;
	EXPECT_EQ(0, add(self->dev, &self->add));
	self->add.flags = HSUNWIND_GC_SHOW | HSUNWIND_GC_DROP;
	EXPECT_EQ(-EINVAL, add(self->dev, &self->add));
	/* The vdso says nothing of it. */
	self->add.fd = -1;
	self->add.flags = HSUNWIND_ADD_VDSO | HSUNWIND_SHOW_RTS;
	EXPECT_EQ(-EINVAL, add(self->dev, &self->add));
}

TEST_F(uapi, add_replaces)
{
	__u64 first;

	ASSERT_EQ(0, add(self->dev, &self->add));
	first = self->add.out_id;
	ASSERT_EQ(0, add(self->dev, &self->add));
	EXPECT_LT(first, self->add.out_id);
	EXPECT_EQ(1, images(self->dev));
}

/* Somebody who has it open may write to it without a trace in its mtime. */
TEST_F(uapi, add_file_open_for_writing)
{
	char name[] = "/dev/shm/hsunwind-test-XXXXXX";
	int writer = mkstemp(name);

	ASSERT_LE(0, writer);
	self->add.fd = open(name, O_RDONLY);
	ASSERT_LE(0, self->add.fd);
	EXPECT_EQ(-ETXTBSY, add(self->dev, &self->add));
	close(writer);
	EXPECT_EQ(0, add(self->dev, &self->add));
	close(self->add.fd);
	unlink(name);
}

/* HSUNWIND_IOC_IMAGE_NEXT */

TEST_F(uapi, next_describes)
{
	struct hsunwind_image_info info;
	char exe[4096] = {}, path[4096];
	struct stat st;

	self->add.flags = HSUNWIND_ADD_PROGRAM;
	ASSERT_EQ(0, add(self->dev, &self->add));
	ASSERT_EQ(0, fstat(self->exe, &st));
	ASSERT_LT(0, readlink(SELF, exe, sizeof(exe) - 1));
	info = (struct hsunwind_image_info) {
		.size = sizeof(info),
		.path = (uintptr_t)path,
		.path_len = sizeof(path),
	};
	ASSERT_EQ(0, call(self->dev, HSUNWIND_IOC_IMAGE_NEXT, &info));
	EXPECT_EQ(self->add.out_id, info.id);
	EXPECT_EQ(HSUNWIND_ADD_PROGRAM, info.flags);
	EXPECT_STREQ(exe, path);
	EXPECT_EQ(strlen(exe) + 1, info.path_len);
	EXPECT_EQ(IMAGE_ROWS, info.nr_rows);
	EXPECT_EQ(sizeof(self->image), info.bytes);
	EXPECT_EQ(st.st_ino, info.ino);
	EXPECT_EQ(st.st_dev, makedev((info.dev >> 8) & 0xfff,
				     (info.dev & 0xff) |
				     ((info.dev >> 12) & 0xfff00)));
	info.id++;
	EXPECT_EQ(-ENOENT, call(self->dev, HSUNWIND_IOC_IMAGE_NEXT, &info));
}

TEST_F(uapi, next_path_too_long)
{
	char path[4096] = "untouched";
	struct hsunwind_image_info info = {
		.size = sizeof(info),
		.path = (uintptr_t)path,
		.path_len = 3,
	};
	__u32 need;

	ASSERT_EQ(0, add(self->dev, &self->add));
	EXPECT_EQ(-ENAMETOOLONG, call(self->dev, HSUNWIND_IOC_IMAGE_NEXT,
				      &info));
	need = info.path_len;
	EXPECT_LT(3, need);
	EXPECT_STREQ("untouched", path);
	EXPECT_EQ(0, call(self->dev, HSUNWIND_IOC_IMAGE_NEXT, &info));
	EXPECT_EQ(need, strlen(path) + 1);
}

TEST_F(uapi, next_no_path_wanted)
{
	struct hsunwind_image_info info = { .size = sizeof(info) };

	ASSERT_EQ(0, add(self->dev, &self->add));
	EXPECT_EQ(0, call(self->dev, HSUNWIND_IOC_IMAGE_NEXT, &info));
	EXPECT_LT(1, info.path_len);
}

TEST_F(uapi, next_bad_path_pointer)
{
	struct hsunwind_image_info info = {
		.size = sizeof(info),
		.path = 4096,
		.path_len = 4096,
	};

	ASSERT_EQ(0, add(self->dev, &self->add));
	EXPECT_EQ(-EFAULT, call(self->dev, HSUNWIND_IOC_IMAGE_NEXT, &info));
}

/* HSUNWIND_IOC_IMAGE_REMOVE */

TEST_F(uapi, remove)
{
	ASSERT_EQ(0, add(self->dev, &self->add));
	EXPECT_EQ(-ENOENT, image_remove(self->dev, self->add.out_id + 1));
	EXPECT_EQ(-ENOENT, image_remove(self->dev, self->add.out_id - 1));
	EXPECT_EQ(0, image_remove(self->dev, self->add.out_id));
	EXPECT_EQ(-ENOENT, image_remove(self->dev, self->add.out_id));
	EXPECT_EQ(0, images(self->dev));
}

TEST_F(uapi, remove_all_with_id)
{
	struct hsunwind_image_remove arg = {
		.size = sizeof(arg),
		.flags = HSUNWIND_REMOVE_ALL,
		.id = 1,
	};

	EXPECT_EQ(-EINVAL, call(self->dev, HSUNWIND_IOC_IMAGE_REMOVE, &arg));
}

/* HSUNWIND_IOC_PROCESS_* */

TEST_F(uapi, process_unknown)
{
	EXPECT_EQ(-ESRCH, process_add(self->dev, 0, NULL));
	EXPECT_EQ(-ESRCH, process_add(self->dev, -1, NULL));
	EXPECT_EQ(-ESRCH, process_add(self->dev, 0x7fffffff, NULL));
	EXPECT_EQ(-ESRCH, process_remove(self->dev, 0x7fffffff));
	/* A kernel thread. */
	EXPECT_EQ(-ESRCH, process_add(self->dev, 2, NULL));
	/* Nothing of it is registered. */
	EXPECT_EQ(-ENOENT, process_add(self->dev, getpid(), NULL));
	EXPECT_EQ(-ENOENT, process_remove(self->dev, getpid()));
	EXPECT_EQ(-ENOENT, process_next(self->dev, 0));
}

/* HSUNWIND_IOC_STATS */

TEST_F(uapi, stats)
{
	__u64 stop[HSUNWIND_STOP_NR + 1], count[HSUNWIND_COUNT_NR + 1];
	struct hsunwind_stats arg = {
		.size = sizeof(arg),
		.nr_stops = HSUNWIND_STOP_NR + 1,
		.nr_counters = HSUNWIND_COUNT_NR + 1,
		.stops = (uintptr_t)stop,
		.counters = (uintptr_t)count,
	};

	memset(stop, 0xff, sizeof(stop));
	memset(count, 0xff, sizeof(count));
	ASSERT_EQ(0, call(self->dev, HSUNWIND_IOC_STATS, &arg));
	EXPECT_EQ(HSUNWIND_STOP_NR, arg.nr_stops);
	EXPECT_EQ(HSUNWIND_COUNT_NR, arg.nr_counters);
	/* What the kernel does not know is left alone. */
	EXPECT_EQ(-1ull, stop[HSUNWIND_STOP_NR]);
	EXPECT_EQ(-1ull, count[HSUNWIND_COUNT_NR]);
	EXPECT_NE(-1ull, stop[0]);
	EXPECT_NE(-1ull, count[0]);

	arg.nr_stops = 1;
	arg.nr_counters = 0;
	arg.counters = 0;
	stop[1] = -1ull;
	ASSERT_EQ(0, call(self->dev, HSUNWIND_IOC_STATS, &arg));
	EXPECT_EQ(-1ull, stop[1]);
}

TEST_F(uapi, stats_bad_pointer)
{
	struct hsunwind_stats arg = {
		.size = sizeof(arg),
		.nr_stops = 1,
		.stops = 4096,
	};

	EXPECT_EQ(-EFAULT, call(self->dev, HSUNWIND_IOC_STATS, &arg));
}

TEST_HARNESS_MAIN
