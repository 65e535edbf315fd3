// SPDX-License-Identifier: GPL-2.0-only
/*
 * What can be registered is bounded: in total, for what all users register for
 * themselves, and for each of them. One test for each parameter of the module.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chain.h"
#include "device.h"
#include "kselftest_harness.h"
#include "target.h"
#include "user.h"

#define OWN	(HSUNWIND_ADD_PROGRAM | HSUNWIND_ADD_OWN)

static unsigned long parameter(const char *name)
{
	char path[80], text[32] = {};
	int fd;

	snprintf(path, sizeof(path), "/sys/module/hsunwind/parameters/%s", name);
	fd = open(path, O_RDONLY);
	if (read(fd, text, sizeof(text) - 1) < 1)
		text[0] = 0;
	close(fd);
	return strtoul(text, NULL, 0);
}

static void set_parameter(const char *name, unsigned long value)
{
	char path[80], text[32];

	snprintf(path, sizeof(path), "/sys/module/hsunwind/parameters/%s", name);
	snprintf(text, sizeof(text), "%lu", value);
	write_file(path, text);
}

static const char *const names[] = {
	"max_images", "max_bytes", "max_processes",
	"max_user_images", "max_user_bytes", "max_user_processes",
};

#define NR_NAMES (sizeof(names) / sizeof(*names))

FIXTURE(bounds)
{
	int dev;
	char dir[64];
	char exe[2][80];	/* copies of this program */
	struct test_image image;
	struct target t[2];
	unsigned long saved[NR_NAMES];
};

FIXTURE_SETUP(bounds)
{
	__u32 from, to;

	for (size_t i = 0; i < NR_NAMES; i++) {
		self->saved[i] = parameter(names[i]);
		ASSERT_LT(0, self->saved[i]);
	}
	self->dev = open(DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->dev);
	ASSERT_EQ(0, remove_all(self->dev));
	snprintf(self->dir, sizeof(self->dir), "/dev/shm/hsunwind-XXXXXX");
	ASSERT_NE(NULL, mkdtemp(self->dir));
	ASSERT_EQ(0, chmod(self->dir, 0755));
	for (int i = 0; i < 2; i++) {
		snprintf(self->exe[i], sizeof(self->exe[i]), "%s/exe%d",
			 self->dir, i);
		copy_self(self->exe[i]);
	}
	chain_f2(&from, &to);
	test_image_init(&self->image, self->exe[0], from, to);
}

FIXTURE_TEARDOWN(bounds)
{
	for (int i = 0; i < 2; i++)
		if (self->t[i].pid)
			target_stop(&self->t[i]);
	for (size_t i = 0; i < NR_NAMES; i++)
		set_parameter(names[i], self->saved[i]);
	EXPECT_EQ(0, remove_all(self->dev));
	close(self->dev);
	for (int i = 0; i < 2; i++)
		unlink(self->exe[i]);
	rmdir(self->dir);
}

TEST_F(bounds, images)
{
	set_parameter("max_images", 1);
	EXPECT_EQ(0, add(self->exe[0], 0, &self->image, NULL));
	EXPECT_EQ(-ENOSPC, add(self->exe[1], 0, &self->image, NULL));
	/* One takes the place of its predecessor. */
	EXPECT_EQ(0, add(self->exe[0], 0, &self->image, NULL));
	EXPECT_EQ(1, images(self->dev));
}

TEST_F(bounds, bytes)
{
	set_parameter("max_bytes", 2 * sizeof(self->image) - 1);
	EXPECT_EQ(0, add(self->exe[0], 0, &self->image, NULL));
	EXPECT_EQ(-ENOSPC, add(self->exe[1], 0, &self->image, NULL));
	EXPECT_EQ(0, add(self->exe[0], 0, &self->image, NULL));
	set_parameter("max_bytes", 2 * sizeof(self->image));
	EXPECT_EQ(0, add(self->exe[1], 0, &self->image, NULL));
}

TEST_F(bounds, images_of_a_user)
{
	set_parameter("max_user_images", 1);
	EXPECT_EQ(0, AS(ALICE, add(self->exe[0], OWN, &self->image, NULL)));
	EXPECT_EQ(-EDQUOT, AS(ALICE, add(self->exe[1], OWN, &self->image,
					 NULL)));
	EXPECT_EQ(0, AS(ALICE, add(self->exe[0], OWN, &self->image, NULL)));
	/* That is each user's own bound, and not that of what is for all. */
	EXPECT_EQ(0, AS(BOB, add(self->exe[0], OWN, &self->image, NULL)));
	EXPECT_EQ(0, add(self->exe[0], 0, &self->image, NULL));
	EXPECT_EQ(0, add(self->exe[1], 0, &self->image, NULL));
}

TEST_F(bounds, bytes_of_a_user)
{
	set_parameter("max_user_bytes", 2 * sizeof(self->image) - 1);
	EXPECT_EQ(0, AS(ALICE, add(self->exe[0], OWN, &self->image, NULL)));
	EXPECT_EQ(-EDQUOT, AS(ALICE, add(self->exe[1], OWN, &self->image,
					 NULL)));
	EXPECT_EQ(0, AS(BOB, add(self->exe[1], OWN, &self->image, NULL)));
	set_parameter("max_user_bytes", 2 * sizeof(self->image));
	EXPECT_EQ(0, AS(ALICE, add(self->exe[1], OWN, &self->image, NULL)));
}

/* Another user namespace is another owner, but the same account. */
static int add_in_namespace(const char *exe, const struct test_image *image)
{
	return unshare(CLONE_NEWUSER) ? -EINVAL : add(exe, OWN, image, NULL);
}

TEST_F(bounds, user_namespaces_do_not_help)
{
	set_parameter("max_user_images", 1);
	EXPECT_EQ(0, AS(ALICE, add(self->exe[0], OWN, &self->image, NULL)));
	EXPECT_EQ(-EDQUOT, AS(ALICE, add_in_namespace(self->exe[0],
						      &self->image)));
	EXPECT_EQ(0, AS(BOB, add_in_namespace(self->exe[0], &self->image)));
	EXPECT_EQ(-EDQUOT, AS(BOB, add_in_namespace(self->exe[0],
						    &self->image)));
}

/* However many users there are, half is left for what is for all. */
TEST_F(bounds, all_users_together)
{
	set_parameter("max_images", 4);
	EXPECT_EQ(0, AS(ALICE, add(self->exe[0], OWN, &self->image, NULL)));
	EXPECT_EQ(0, AS(BOB, add(self->exe[0], OWN, &self->image, NULL)));
	EXPECT_EQ(-ENOSPC, AS(BOB + 1, add(self->exe[0], OWN, &self->image,
					   NULL)));
	EXPECT_EQ(0, add(self->exe[0], 0, &self->image, NULL));
	EXPECT_EQ(0, add(self->exe[1], 0, &self->image, NULL));
}

static int add_target(int dev, struct target *t, const char *exe)
{
	target_start(t, exe, exe);
	return process_add(dev, t->pid, NULL);
}

TEST_F(bounds, processes)
{
	ASSERT_EQ(0, add(self->exe[0], 0, &self->image, NULL));
	set_parameter("max_processes", 1);
	EXPECT_EQ(0, add_target(self->dev, &self->t[0], self->exe[0]));
	EXPECT_EQ(-ENOSPC, add_target(self->dev, &self->t[1], self->exe[0]));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t[0], 's'));
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t[1], 's'));
}

static int two_processes(int dev, const char *exe)
{
	struct target t[2];
	int ret = add_target(dev, &t[0], exe);

	return ret ? ret : add_target(dev, &t[1], exe);
}

TEST_F(bounds, processes_of_a_user)
{
	ASSERT_EQ(0, add(self->exe[0], 0, &self->image, NULL));
	set_parameter("max_user_processes", 1);
	EXPECT_EQ(-EDQUOT, AS(ALICE, two_processes(self->dev, self->exe[0])));
	/* There is no such bound for root. */
	EXPECT_EQ(0, AS(0, two_processes(self->dev, self->exe[0])));
}

CHAIN_MAIN int main(int argc, char **argv)
{
	if (argc == 3)
		return target_main(argv);
	return test_harness_run(argc, argv);
}
