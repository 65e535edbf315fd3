// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each ioctl with its n-th allocation or copy failing, for every n: it fails with
 * ENOMEM (EFAULT for a copy) and leaves the registry as it was, or it does
 * without. The sweep ends when n is beyond the last one. Needs a kernel with fault
 * injection; kmemleak tells what such a failure has left behind.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chain.h"
#include "device.h"
#include "kselftest_harness.h"

#define SELF "/proc/self/exe"
#define MAX_FAULTS 1000

/* What user space sees of the registry; without padding, to be compared. */
struct state {
	__u64 nr_images;
	__u64 nr_processes;
	__u64 ids;
	__u64 pids;
};

static struct state state_of(int dev)
{
	struct hsunwind_image_info info = { .id = 0 };
	struct state s = {};
	int pid = 0;

	for (; !image_info(dev, info.id, &info); info.id++) {
		s.nr_images++;
		s.ids = s.ids * 31 + info.id;
	}
	for (; (pid = process_next(dev, pid)) >= 0; pid++) {
		s.nr_processes++;
		s.pids = s.pids * 31 + pid;
	}
	return s;
}

static bool same(const struct state *a, const struct state *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static void set_debugfs(const char *path, const char *value)
{
	int fd = open(path, O_WRONLY);

	/* Not every kind of fault has every file. */
	if (fd < 0)
		return;
	if (write(fd, value, strlen(value)) < 0)
		perror(path);
	close(fd);
}

FIXTURE(fail)
{
	int dev;
	int nth;		/* /proc/self/fail-nth */
	int fd;			/* this program */
	pid_t child;
	unsigned int failed;	/* faults that made the ioctl fail */
	unsigned int survived;	/* faults that it did without */
	struct test_image image;
};

FIXTURE_SETUP(fail)
{
	static const char * const kinds[] = {
		"failslab", "fail_page_alloc", "fail_usercopy",
	};
	char path[128];
	__u32 from, to;

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/%s/verbose",
			 kinds[i]);
		set_debugfs(path, "0");
		snprintf(path, sizeof(path),
			 "/sys/kernel/debug/%s/ignore-gfp-wait", kinds[i]);
		set_debugfs(path, "N");
	}
	set_debugfs("/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N");
	set_debugfs("/sys/kernel/debug/fail_page_alloc/min-order", "0");

	self->dev = open(DEVICE, O_RDWR);
	ASSERT_LE(0, self->dev);
	self->nth = open("/proc/thread-self/fail-nth", O_RDWR);
	ASSERT_LE(0, self->nth);
	self->fd = open(SELF, O_RDONLY);
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, remove_all(self->dev));
	chain_f2(&from, &to);
	test_image_init(&self->image, SELF, from, to);
	self->child = fork();
	if (!self->child)
		for (;;)
			pause();
}

FIXTURE_TEARDOWN(fail)
{
	TH_LOG("%u faults failed the call, %u did not", self->failed,
	       self->survived);
	kill(self->child, SIGKILL);
	waitpid(self->child, NULL, 0);
	EXPECT_EQ(0, remove_all(self->dev));
	close(self->fd);
	close(self->nth);
	close(self->dev);
}

/*
 * Lets the @n-th fault happen in @call; returns whether there was one. What is
 * left is counted down by reading and writing the file, too, and may hit these.
 */
static bool with_fault(int nth, int n, int *ret, int (*call)(void *), void *arg)
{
	char buf[16] = "";
	int len = snprintf(buf, sizeof(buf), "%d", n);
	bool hit;

	if (pwrite(nth, buf, len, 0) != len)
		exit(1);
	*ret = call(arg);
	memset(buf, 0, sizeof(buf));
	hit = pread(nth, buf, sizeof(buf) - 1, 0) > 0 && atoi(buf) == 0;
	while (pwrite(nth, "0", 1, 0) != 1)
		if (errno != EFAULT)
			exit(1);
	return hit;
}

/*
 * Sweeps @call. @prepare makes the state that it starts from, which is only done
 * again when the call has changed it. It may do so and fail only with the very last
 * copy, that of its answer.
 */
#define SWEEP(prepare, call)						\
	do {								\
		struct state _before, _after;				\
		int _n, _ret, _changed = 0;				\
		bool _hit = true;					\
		(prepare);						\
		for (_n = 1; _n < MAX_FAULTS; _n++) {			\
			_before = state_of(self->dev);			\
			_hit = with_fault(self->nth, _n, &_ret, call,	\
					  _metadata_arg);		\
			if (!_hit)					\
				break;					\
			if (_ret) {					\
				self->failed++;				\
				EXPECT_TRUE(_ret == -ENOMEM ||		\
					    _ret == -EFAULT)		\
					TH_LOG("fault %d: error %d",	\
					       _n, _ret);		\
				_after = state_of(self->dev);		\
				if (same(&_before, &_after))		\
					continue;			\
				EXPECT_EQ(-EFAULT, _ret)		\
					TH_LOG("fault %d: changed", _n); \
				EXPECT_EQ(0, _changed);			\
				_changed = _n;				\
				(prepare);				\
			} else {					\
				self->survived++;			\
				(prepare);				\
			}						\
		}							\
		EXPECT_FALSE(_hit);					\
		EXPECT_TRUE(!_changed || _changed == _n - 1);		\
		EXPECT_EQ(0, _ret);					\
		EXPECT_LT(0, self->failed + self->survived);		\
	} while (0)

/* An ioctl for with_fault(): of the fixture. */
#define CALL(name, body)						\
	static int call_##name(void *data)				\
	{								\
		FIXTURE_DATA(fail) *self = data;			\
									\
		return body;						\
	}

CALL(add, image_add_fd(self->dev, self->fd, HSUNWIND_ADD_PROGRAM, &self->image,
		       sizeof(self->image), NULL))
CALL(add_vdso, image_add_fd(self->dev, -1, HSUNWIND_ADD_VDSO, &self->image,
			    sizeof(self->image), NULL))
CALL(remove_all, remove_all(self->dev))
CALL(process_add, process_add(self->dev, self->child, NULL))
CALL(process_remove, process_remove(self->dev, self->child))

static int call_process_next(void *data)
{
	FIXTURE_DATA(fail) *self = data;
	int ret = process_next(self->dev, self->child);

	return ret == self->child ? 0 : ret < 0 ? ret : -ESRCH;
}

static int call_image_next(void *data)
{
	FIXTURE_DATA(fail) *self = data;
	char path[4096];
	struct hsunwind_image_info info = {
		.size = sizeof(info),
		.path = (__u64)(unsigned long)path,
		.path_len = sizeof(path),
	};

	return ioctl(self->dev, HSUNWIND_IOC_IMAGE_NEXT, &info) ? -errno : 0;
}

static int call_stats(void *data)
{
	FIXTURE_DATA(fail) *self = data;
	__u64 stops[HSUNWIND_STOP_NR], counters[HSUNWIND_COUNT_NR];
	struct hsunwind_stats arg = {
		.size = sizeof(arg),
		.nr_stops = HSUNWIND_STOP_NR,
		.nr_counters = HSUNWIND_COUNT_NR,
		.stops = (__u64)(unsigned long)stops,
		.counters = (__u64)(unsigned long)counters,
	};

	return ioctl(self->dev, HSUNWIND_IOC_STATS, &arg) ? -errno : 0;
}

#define _metadata_arg self

TEST_F(fail, image_add)
{
	SWEEP(remove_all(self->dev), call_add);
}

TEST_F(fail, image_replace)
{
	SWEEP(call_add(self), call_add);
}

TEST_F(fail, vdso_add)
{
	SWEEP(remove_all(self->dev), call_add_vdso);
}

TEST_F(fail, image_next)
{
	SWEEP(call_add(self), call_image_next);
}

TEST_F(fail, image_remove)
{
	SWEEP(call_add(self), call_remove_all);
}

TEST_F(fail, process_add)
{
	SWEEP((call_add(self), process_remove(self->dev, self->child)),
	      call_process_add);
}

TEST_F(fail, process_remove)
{
	SWEEP((call_add(self), call_process_add(self)), call_process_remove);
}

TEST_F(fail, process_next)
{
	SWEEP((call_add(self), call_process_add(self)), call_process_next);
}

TEST_F(fail, stats)
{
	SWEEP((void)0, call_stats);
}

TEST_HARNESS_MAIN
