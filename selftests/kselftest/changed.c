// SPDX-License-Identifier: GPL-2.0-only
/*
 * A registered file that changes never gets the old image, and one that does not
 * is found however it is reached.
 *
 * The program under test is a copy of this one; see target.h. The content that
 * is written is the old one, so that the program still runs: if the image were
 * used, it would show.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chain.h"
#include "device.h"
#include "kselftest_harness.h"
#include "target.h"

FIXTURE(changed)
{
	int dev;
	char dir[64];
	char exe[80];		/* a copy of this program, registered */
	char other[80];		/* another */
	struct test_image image;
	struct target t;
};

FIXTURE_VARIANT(changed)
{
	const char *dir;
};

/* The root of the test machine is an overlay; this one is not. */
FIXTURE_VARIANT_ADD(changed, overlay) { .dir = "/var/tmp" };
FIXTURE_VARIANT_ADD(changed, tmpfs) { .dir = "/dev/shm" };

static const char *chain_of(const char *exe)
{
	return target_once(exe, exe, 's');
}

FIXTURE_SETUP(changed)
{
	/* Mounts of a test are its own. */
	ASSERT_EQ(0, unshare(CLONE_NEWNS));
	ASSERT_EQ(0, mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	self->dev = open(DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->dev);
	ASSERT_EQ(0, remove_all(self->dev));
	copies_make(variant->dir, self->dir, self->exe, self->other,
		    &self->image);
	/* Its mtime is one that the next write does not have. */
	pause_ms(20);
	ASSERT_EQ(0, image_add(self->dev, self->exe, HSUNWIND_ADD_PROGRAM,
			       &self->image, NULL));
	ASSERT_STREQ(BY_MODULE, chain_of(self->exe));
}

FIXTURE_TEARDOWN(changed)
{
	char cmd[128];

	if (self->t.pid)
		target_stop(&self->t);
	EXPECT_EQ(0, remove_all(self->dev));
	close(self->dev);
	snprintf(cmd, sizeof(cmd), "rm -r %s", self->dir);
	EXPECT_EQ(0, system(cmd));
}

/* Overwrites the first bytes with what they are. */
static void rewrite(const char *name)
{
	int fd = open(name, O_RDWR);
	char page[4096];

	if (fd < 0 || pread(fd, page, sizeof(page), 0) != sizeof(page) ||
	    pwrite(fd, page, sizeof(page), 0) != sizeof(page))
		err(1, "%s", name);
	close(fd);
}

TEST_F_TIMEOUT(changed, written_in_place, 120)
{
	rewrite(self->exe);
	EXPECT_STREQ(BY_KERNEL, chain_of(self->exe));
}

TEST_F_TIMEOUT(changed, truncated_and_written, 120)
{
	char cmd[256];

	snprintf(cmd, sizeof(cmd), "cat %s >%s", self->other, self->exe);
	ASSERT_EQ(0, system(cmd));
	EXPECT_STREQ(BY_KERNEL, chain_of(self->exe));
}

TEST_F_TIMEOUT(changed, appended_to, 120)
{
	int fd = open(self->exe, O_WRONLY | O_APPEND);

	ASSERT_EQ(1, write(fd, "", 1));
	close(fd);
	EXPECT_STREQ(BY_KERNEL, chain_of(self->exe));
}

TEST_F_TIMEOUT(changed, another_in_its_place, 120)
{
	ASSERT_EQ(0, rename(self->other, self->exe));
	EXPECT_STREQ(BY_KERNEL, chain_of(self->exe));
}

/* The inode number may be used again, but then the generation or mtime is new. */
TEST_F_TIMEOUT(changed, removed_and_made_again, 120)
{
	for (int i = 0; i < 5; i++) {
		ASSERT_EQ(0, unlink(self->exe));
		copy_self(self->exe);
		EXPECT_STREQ(BY_KERNEL, chain_of(self->exe));
	}
}

TEST_F_TIMEOUT(changed, not_while_it_runs, 120)
{
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	EXPECT_EQ(-1, open(self->exe, O_WRONLY));
	EXPECT_EQ(ETXTBSY, errno);
	EXPECT_EQ(-1, truncate(self->exe, 0));
	EXPECT_EQ(ETXTBSY, errno);
	/* Another file in its place is none of the business of this process. */
	ASSERT_EQ(0, rename(self->other, self->exe));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	EXPECT_STREQ(BY_KERNEL, chain_of(self->exe));
}

/* Who writes by way of a mapping that is older than the image, cannot. */
TEST_F_TIMEOUT(changed, registered_while_written, 120)
{
	int fd = open(self->exe, O_RDWR);

	ASSERT_LE(0, fd);
	EXPECT_EQ(-ETXTBSY, image_add(self->dev, self->exe,
				      HSUNWIND_ADD_PROGRAM, &self->image,
				      NULL));
	close(fd);
}

TEST_F_TIMEOUT(changed, by_way_of_a_bind_mount, 120)
{
	ASSERT_EQ(0, mount(self->exe, self->other, NULL, MS_BIND, NULL));
	EXPECT_STREQ(BY_MODULE, chain_of(self->other));
	rewrite(self->other);
	EXPECT_STREQ(BY_KERNEL, chain_of(self->other));
	EXPECT_STREQ(BY_KERNEL, chain_of(self->exe));
	ASSERT_EQ(0, umount(self->other));
}

TEST_F_TIMEOUT(changed, by_way_of_a_hard_link, 120)
{
	ASSERT_EQ(0, unlink(self->other));
	ASSERT_EQ(0, link(self->exe, self->other));
	EXPECT_STREQ(BY_MODULE, chain_of(self->other));
	rewrite(self->other);
	EXPECT_STREQ(BY_KERNEL, chain_of(self->exe));
}

/* An overlay over the folder: the file beneath, and then a copy of it. */
TEST_F_TIMEOUT(changed, by_way_of_an_overlay, 120)
{
	char upper[160], options[512];

	ASSERT_EQ(0, mount("tmpfs", "/mnt", "tmpfs", 0, NULL));
	ASSERT_EQ(0, mkdir("/mnt/upper", 0755));
	ASSERT_EQ(0, mkdir("/mnt/work", 0755));
	ASSERT_EQ(0, mkdir("/mnt/all", 0755));
	snprintf(options, sizeof(options),
		 "lowerdir=%s,upperdir=/mnt/upper,workdir=/mnt/work", self->dir);
	ASSERT_EQ(0, mount("overlay", "/mnt/all", "overlay", 0, options));
	snprintf(upper, sizeof(upper), "/mnt/all/exe");
	rewrite(upper);
	EXPECT_STREQ(BY_KERNEL, chain_of(upper));
	EXPECT_STREQ(BY_MODULE, chain_of(self->exe));
	ASSERT_EQ(0, umount("/mnt/all"));
	ASSERT_EQ(0, umount("/mnt"));
}

CHAIN_MAIN int main(int argc, char **argv)
{
	if (argc == 3)
		return target_main(argv);
	return test_harness_run(argc, argv);
}
