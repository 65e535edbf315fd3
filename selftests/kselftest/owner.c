// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who may register what, and whose processes are unwound then. See
 * docs/security.md for the rules.
 *
 * The program under test is a copy of this one; see target.h. Each test is a
 * process of its own, and so may become somebody else.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chain.h"
#include "device.h"
#include "kselftest_harness.h"
#include "target.h"
#include "user.h"

#define PROGRAM	HSUNWIND_ADD_PROGRAM
#define OWN	(HSUNWIND_ADD_PROGRAM | HSUNWIND_ADD_OWN)

FIXTURE(owner)
{
	int dev;
	char dir[64];
	char exe[80];		/* a copy of this program */
	char other[80];		/* another */
	struct test_image image;
	struct target t;
};

FIXTURE_SETUP(owner)
{
	self->dev = open(DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->dev);
	ASSERT_EQ(0, remove_all(self->dev));
	write_file("/proc/sys/kernel/perf_event_paranoid", "-1");
	copies_make("/dev/shm", self->dir, self->exe, self->other,
		    &self->image);
	ASSERT_EQ(0, chmod(self->dir, 0755));
}

FIXTURE_TEARDOWN(owner)
{
	if (self->t.pid)
		target_stop(&self->t);
	close(self->dev);
}

/* The chain of a process of @id that runs @exe; @what as in target.h. */
static const char *chain_of(unsigned int id, const char *exe,
			    const char *other, char what)
{
	static char line[256];
	int fd[2];
	pid_t pid;
	ssize_t n;

	if (pipe(fd))
		err(1, "pipe");
	pid = fork();
	if (pid == 0) {
		const char *names;

		if (id)
			become(id);
		names = target_once(exe, other, what);
		n = write(fd[1], names, strlen(names));
		_exit(n < 0);
	}
	close(fd[1]);
	n = read(fd[0], line, sizeof(line) - 1);
	line[n > 0 ? n : 0] = 0;
	close(fd[0]);
	waitpid(pid, NULL, 0);
	return line;
}

/* Registering */

TEST_F_TIMEOUT(owner, everyone_needs_privilege, 120)
{
	EXPECT_EQ(-EPERM, AS(ALICE, add(self->exe, PROGRAM, &self->image,
					NULL)));
	EXPECT_EQ(-EPERM, AS(ALICE, add(self->exe, 0, &self->image, NULL)));
	EXPECT_EQ(0, AS(ALICE, add(self->exe, OWN, &self->image, NULL)));
	EXPECT_EQ(1, images(self->dev));
	/* An attacker's image, for what others run. */
	EXPECT_STREQ(BY_KERNEL, chain_of(BOB, self->exe, self->other, 's'));
	EXPECT_STREQ(BY_KERNEL, chain_of(0, self->exe, self->other, 's'));
	EXPECT_STREQ(BY_MODULE, chain_of(ALICE, self->exe, self->other, 's'));
}

TEST_F_TIMEOUT(owner, opened_by_root, 120)
{
	become(ALICE);
	EXPECT_EQ(-EPERM, image_add(self->dev, self->exe, PROGRAM, &self->image,
				    NULL));
	EXPECT_EQ(0, image_add(self->dev, self->exe, OWN, &self->image, NULL));
}

TEST_F_TIMEOUT(owner, file_must_be_readable, 120)
{
	ASSERT_EQ(0, chmod(self->exe, 0711));
	EXPECT_EQ(-EBADF, AS(ALICE, add(self->exe, OWN, &self->image, NULL)));
	/* Nor is a program that its user cannot read his own. */
	ASSERT_EQ(0, chmod(self->exe, 0755));
	ASSERT_EQ(0, AS(ALICE, add(self->exe, OWN, &self->image, NULL)));
	ASSERT_EQ(0, chmod(self->exe, 0711));
	EXPECT_STREQ(BY_KERNEL, chain_of(ALICE, self->exe, self->other, 's'));
	ASSERT_EQ(0, add(self->other, PROGRAM, &self->image, NULL));
	ASSERT_EQ(0, chmod(self->other, 0711));
	EXPECT_STREQ(BY_MODULE, chain_of(ALICE, self->other, self->exe, 's'));
}

TEST_F_TIMEOUT(owner, ones_own_comes_first, 120)
{
	struct test_image image = self->image;

	/* In this one f3 is at the bottom. */
	image.pcs[1] -= 1;
	image.ids[0] = RULE_BOTTOM;
	ASSERT_EQ(0, AS(ALICE, add(self->exe, OWN, &image, NULL)));
	ASSERT_EQ(0, add(self->exe, PROGRAM, &self->image, NULL));
	EXPECT_EQ(2, images(self->dev));
	EXPECT_STREQ(BY_MODULE, chain_of(BOB, self->exe, self->other, 's'));
	EXPECT_STRNE(BY_MODULE, chain_of(ALICE, self->exe, self->other, 's'));
	EXPECT_STRNE(BY_KERNEL, chain_of(ALICE, self->exe, self->other, 's'));
}

/* Seeing and removing */

TEST_F_TIMEOUT(owner, only_ones_own_is_seen, 120)
{
	struct hsunwind_image_info info;
	__u64 alice, everyone;

	ASSERT_EQ(0, image_add(self->dev, self->other, PROGRAM, &self->image,
			       &everyone));
	ASSERT_EQ(0, AS(ALICE, add(self->exe, OWN, &self->image, NULL)));
	ASSERT_EQ(0, image_info(self->dev, everyone, &info));
	EXPECT_EQ(0, info.uid);
	ASSERT_EQ(0, image_info(self->dev, everyone + 1, &info));
	EXPECT_EQ(ALICE, info.uid);
	EXPECT_EQ(OWN, info.flags);
	alice = info.id;

	EXPECT_EQ(-1, AS(ALICE, -(int)images(self->dev)));
	EXPECT_EQ(0, AS(BOB, -(int)images(self->dev)));
	EXPECT_EQ(-ENOENT, AS(BOB, image_remove(self->dev, alice)));
	EXPECT_EQ(-ENOENT, AS(ALICE, image_remove(self->dev, everyone)));
	EXPECT_EQ(0, AS(BOB, remove_all(self->dev)));
	EXPECT_EQ(2, images(self->dev));
	EXPECT_EQ(0, AS(ALICE, image_remove(self->dev, alice)));
	EXPECT_EQ(1, images(self->dev));
	ASSERT_EQ(0, AS(ALICE, add(self->exe, OWN, &self->image, NULL)));
	EXPECT_EQ(0, AS(ALICE, remove_all(self->dev)));
	EXPECT_EQ(1, images(self->dev));
}

/* What one user removes last does not take the others' libraries with it. */
TEST_F_TIMEOUT(owner, libraries_stay, 120)
{
	ASSERT_EQ(0, add(self->exe, 0, &self->image, NULL));
	ASSERT_EQ(0, AS(ALICE, add(self->exe, HSUNWIND_ADD_OWN, &self->image,
				   NULL)));
	ASSERT_EQ(0, AS(BOB, add(self->exe, OWN, &self->image, NULL)));
	EXPECT_EQ(3, images(self->dev));
	EXPECT_EQ(0, AS(BOB, remove_all(self->dev)));
	EXPECT_EQ(2, images(self->dev));
}

static int all_counters(int dev)
{
	struct hsunwind_stats arg = { .size = sizeof(arg) };

	return ioctl(dev, HSUNWIND_IOC_STATS, &arg) ? -errno : 0;
}

TEST_F_TIMEOUT(owner, counters_need_privilege, 120)
{
	EXPECT_EQ(0, all_counters(self->dev));
	EXPECT_EQ(-EPERM, AS(ALICE, all_counters(self->dev)));
}

/* What a process becomes */

TEST_F_TIMEOUT(owner, set_user_id, 120)
{
	ASSERT_EQ(0, chmod(self->other, 04755));
	ASSERT_EQ(0, AS(ALICE, add(self->exe, OWN, &self->image, NULL)));
	ASSERT_EQ(0, AS(ALICE, add(self->other, OWN, &self->image, NULL)));
	EXPECT_STREQ(BY_KERNEL, chain_of(ALICE, self->exe, self->other, 'v'));
	EXPECT_STREQ(BY_MODULE, chain_of(ALICE, self->exe, self->other, 's'));
	/* It is the bit that makes the difference. */
	ASSERT_EQ(0, chmod(self->other, 0755));
	EXPECT_STREQ(BY_MODULE, chain_of(ALICE, self->exe, self->other, 'v'));
	/* Set-group-ID is the same. */
	ASSERT_EQ(0, chmod(self->other, 02755));
	EXPECT_STREQ(BY_KERNEL, chain_of(ALICE, self->exe, self->other, 'v'));
	/* Root may. */
	ASSERT_EQ(0, add(self->other, PROGRAM, &self->image, NULL));
	EXPECT_STREQ(BY_MODULE, chain_of(ALICE, self->exe, self->other, 'v'));
}

TEST_F_TIMEOUT(owner, not_dumpable, 120)
{
	become(ALICE);
	ASSERT_EQ(0, image_add(self->dev, self->exe, OWN, &self->image, NULL));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	EXPECT_TRUE(EVENTUALLY(known(self->dev, self->t.pid)));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	for (int i = 0; i < 20; i++)
		EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 'd'));
	EXPECT_FALSE(known(self->dev, self->t.pid));
	EXPECT_TRUE(EVENTUALLY(!strcmp(BY_MODULE, target_ask(&self->t, 'D'))));
}

TEST_F_TIMEOUT(owner, target_in_user_namespace, 120)
{
	become(ALICE);
	ASSERT_EQ(0, image_add(self->dev, self->exe, OWN, &self->image, NULL));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 'n'));
	for (int i = 0; i < 20; i++)
		EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
}

/* Root in a user namespace is not root, and has no word outside of it. */
static int add_in_namespace(const char *exe, __u32 flags,
			    const struct test_image *image)
{
	return unshare(CLONE_NEWUSER) ? -EINVAL : add(exe, flags, image, NULL);
}

TEST_F_TIMEOUT(owner, caller_in_user_namespace, 120)
{
	EXPECT_EQ(-EPERM, AS(ALICE, add_in_namespace(self->exe, PROGRAM,
						     &self->image)));
	EXPECT_EQ(-EPERM, AS(0, add_in_namespace(self->exe, PROGRAM,
						 &self->image)));
	EXPECT_EQ(0, AS(ALICE, add_in_namespace(self->exe, OWN, &self->image)));
	EXPECT_EQ(1, images(self->dev));
	EXPECT_STREQ(BY_KERNEL, chain_of(ALICE, self->exe, self->other, 's'));

	/* Nor is it seen from outside without privilege. */
	EXPECT_EQ(0, AS(ALICE, -(int)images(self->dev)));

	become(ALICE);
	ASSERT_EQ(0, unshare(CLONE_NEWUSER));
	ASSERT_EQ(0, image_add(self->dev, self->exe, OWN, &self->image, NULL));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
}

/* Processes by number */

TEST_F_TIMEOUT(owner, process_of_ones_own, 120)
{
	ASSERT_EQ(0, AS(ALICE, add(self->exe, HSUNWIND_ADD_OWN, &self->image,
				   NULL)));
	target_start(&self->t, self->exe, self->other);
	EXPECT_EQ(-EPERM, AS(ALICE, process_add(self->dev, self->t.pid, NULL)));
	/* It is root's, and the image is not for it. */
	EXPECT_EQ(-ENOENT, process_add(self->dev, self->t.pid, NULL));
	EXPECT_EQ(-EPERM, AS(ALICE, process_add(self->dev, 1, NULL)));
	EXPECT_EQ(-ESRCH, AS(ALICE, process_add(self->dev, 2, NULL)));
	target_stop(&self->t);

	become(ALICE);
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
	ASSERT_EQ(0, process_add(self->dev, self->t.pid, NULL));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	EXPECT_TRUE(known(self->dev, self->t.pid));
	EXPECT_TRUE(EVENTUALLY(!strcmp(BY_MODULE, target_ask(&self->t, 'f'))));
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 'v'));
	ASSERT_EQ(0, process_remove(self->dev, self->t.pid));
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
	/* Once its child is forgotten, too. */
	EXPECT_TRUE(EVENTUALLY(!images(self->dev)));
	/* What may not be traced any more may not be added. */
	ASSERT_EQ(0, image_add(self->dev, self->exe, HSUNWIND_ADD_OWN,
			       &self->image, NULL));
	ASSERT_EQ(0, process_add(self->dev, self->t.pid, NULL));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 'd'));
	EXPECT_EQ(-EPERM, process_add(self->dev, self->t.pid, NULL));
	EXPECT_EQ(-EPERM, process_remove(self->dev, self->t.pid));
}

TEST_F_TIMEOUT(owner, process_of_somebody_else, 120)
{
	ASSERT_EQ(0, add(self->exe, PROGRAM, &self->image, NULL));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	ASSERT_TRUE(EVENTUALLY(known(self->dev, self->t.pid)));
	EXPECT_EQ(-ENOENT, AS(ALICE, process_next(self->dev, 0)));
	EXPECT_EQ(-EPERM, AS(ALICE, process_remove(self->dev, self->t.pid)));
	EXPECT_EQ(0, AS(ALICE, remove_all(self->dev)));
	EXPECT_TRUE(known(self->dev, self->t.pid));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
}

/* The next process with the same number is another one. */
TEST_F_TIMEOUT(owner, pid_reused, 120)
{
	char last[16];
	pid_t pid;

	ASSERT_EQ(0, image_add(self->dev, self->exe, 0, &self->image, NULL));
	for (int i = 0; i < 20; i++) {
		target_start(&self->t, self->exe, self->other);
		ASSERT_EQ(0, process_add(self->dev, self->t.pid, NULL));
		EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
		pid = self->t.pid;
		target_stop(&self->t);
		snprintf(last, sizeof(last), "%d", pid - 1);
		write_file("/proc/sys/kernel/ns_last_pid", last);
		target_start(&self->t, self->exe, self->other);
		EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
		EXPECT_FALSE(known(self->dev, self->t.pid));
		if (self->t.pid == pid)
			return;
		target_stop(&self->t);
	}
	EXPECT_EQ(pid, self->t.pid);
}

/* Numbers are those of the caller's pid namespace. */
static int in_pid_namespace(int dev, const char *exe)
{
	struct target t;
	int ret;

	target_start(&t, exe, exe);
	ret = t.pid != 2 ? -1 :
	      process_add(dev, 2, NULL) ? -2 :
	      process_next(dev, 0) != 2 ? -3 :
	      process_next(dev, 3) != -ENOENT ? -4 :
	      strcmp(BY_MODULE, target_ask(&t, 's')) ? -5 :
	      process_add(dev, getppid() + 1000, NULL) != -ESRCH ? -6 : 0;
	target_stop(&t);
	return ret;
}

TEST_F_TIMEOUT(owner, pid_namespace, 120)
{
	ASSERT_EQ(0, image_add(self->dev, self->exe, 0, &self->image, NULL));
	target_start(&self->t, self->exe, self->other);
	ASSERT_EQ(0, unshare(CLONE_NEWPID));
	EXPECT_EQ(0, AS(0, in_pid_namespace(self->dev, self->exe)));
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
}

CHAIN_MAIN int main(int argc, char **argv)
{
	if (argc == 3)
		return target_main(argv);
	return test_harness_run(argc, argv);
}
