// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which processes are unwound, and with which image, as they come and go.
 *
 * The program under test is a copy of this one; see target.h.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "chain.h"
#include "device.h"
#include "kselftest_harness.h"
#include "target.h"

static unsigned int images_of_device(void)
{
	int dev = open(DEVICE, O_RDWR);
	unsigned int n = images(dev);

	close(dev);
	return n;
}

FIXTURE(process)
{
	int dev;
	char dir[64];
	char exe[80];		/* a copy of this program */
	char other[80];		/* another */
	struct test_image image;
	struct target t;
};

FIXTURE_VARIANT(process)
{
	const char *dir;
};

/* The root of the test machine is an overlay; this one is not. */
FIXTURE_VARIANT_ADD(process, overlay) { .dir = "/var/tmp" };
FIXTURE_VARIANT_ADD(process, tmpfs) { .dir = "/dev/shm" };

FIXTURE_SETUP(process)
{
	self->dev = open(DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->dev);
	ASSERT_EQ(0, remove_all(self->dev));
	copies_make(variant->dir, self->dir, self->exe, self->other,
		    &self->image);
}

FIXTURE_TEARDOWN(process)
{
	if (self->t.pid)
		target_stop(&self->t);
	EXPECT_EQ(0, remove_all(self->dev));
	close(self->dev);
	unlink(self->exe);
	unlink(self->other);
	rmdir(self->dir);
}

static int add_program(int dev, const char *exe, const struct test_image *image)
{
	return image_add(dev, exe, HSUNWIND_ADD_PROGRAM, image, NULL);
}

TEST_F(process, not_registered)
{
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
}

TEST_F(process, program_before_exec)
{
	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	EXPECT_TRUE(EVENTUALLY(known(self->dev, self->t.pid)));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
}

/* From the very first sample on, before and after its table is made. */
TEST_F_TIMEOUT(process, first_samples, 300)
{
	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	for (int i = 0; i < 50; i++) {
		target_start(&self->t, self->exe, self->other);
		EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
		EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
		target_stop(&self->t);
	}
	TH_LOG("%llu samples before the table was there",
	       counter(self->dev, HSUNWIND_COUNT_PROVISIONAL));
}

/* As if all code were the C library's, and f2 did nothing but collect. */
static void make_collector(struct test_image *image)
{
	struct hsunwind_rule *r = image->rules;

	r[RULE_FP].cls = HSUNWIND_CLASS_LIBC;
	r[RULE_BOTTOM] = r[RULE_FP];
	r[RULE_BOTTOM].cls = HSUNWIND_CLASS_GC;
	image->h.gc_frame = image->pcs[1] + 1;
}

TEST_F(process, collector)
{
	const __u32 program = HSUNWIND_ADD_PROGRAM;
	const char *names;

	make_collector(&self->image);
	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ("f2", target_ask(&self->t, 's'));
	EXPECT_TRUE(EVENTUALLY(known(self->dev, self->t.pid)));
	EXPECT_STREQ("f2", target_ask(&self->t, 's'));
	EXPECT_LE(2, counter(self->dev, HSUNWIND_COUNT_COLLECTING));

	/* What is to be shown may change at any time. */
	ASSERT_EQ(0, image_add(self->dev, self->exe, program | HSUNWIND_GC_DROP,
			       &self->image, NULL));
	EXPECT_STREQ("", target_ask(&self->t, 's'));
	ASSERT_EQ(0, image_add(self->dev, self->exe, program | HSUNWIND_GC_SHOW,
			       &self->image, NULL));
	names = target_ask(&self->t, 's');
	EXPECT_EQ(names, strstr(names, BY_KERNEL));
	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	EXPECT_STREQ("f2", target_ask(&self->t, 's'));
}

/* Before its table is made, too. */
TEST_F(process, collector_from_the_first_sample)
{
	make_collector(&self->image);
	ASSERT_EQ(0, image_add(self->dev, self->exe,
			       HSUNWIND_ADD_PROGRAM | HSUNWIND_GC_DROP,
			       &self->image, NULL));
	for (int i = 0; i < 10; i++) {
		target_start(&self->t, self->exe, self->other);
		EXPECT_STREQ("", target_ask(&self->t, 's'));
		target_stop(&self->t);
	}
}

TEST_F(process, program_already_running)
{
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
}

TEST_F(process, library_is_no_program)
{
	ASSERT_EQ(0, image_add(self->dev, self->exe, 0, &self->image, NULL));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
	EXPECT_FALSE(known(self->dev, self->t.pid));
}

TEST_F(process, fork_of_program)
{
	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 'f'));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
}

TEST_F(process, exec_starts_over)
{
	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 'v'));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	target_stop(&self->t);

	target_start(&self->t, self->other, self->exe);
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 'v'));
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
}

TEST_F(process, add_by_pid)
{
	__u32 nr_maps = 0;

	ASSERT_EQ(0, image_add(self->dev, self->exe, 0, &self->image, NULL));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
	ASSERT_EQ(0, process_add(self->dev, self->t.pid, &nr_maps));
	EXPECT_EQ(1, nr_maps);
	EXPECT_TRUE(known(self->dev, self->t.pid));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	/* Again is the same. */
	ASSERT_EQ(0, process_add(self->dev, self->t.pid, &nr_maps));
	EXPECT_EQ(1, nr_maps);

	ASSERT_EQ(0, process_remove(self->dev, self->t.pid));
	EXPECT_EQ(-ENOENT, process_remove(self->dev, self->t.pid));
	EXPECT_FALSE(known(self->dev, self->t.pid));
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
	/* Nobody is left who could use it. */
	EXPECT_EQ(0, images(self->dev));
}

TEST_F_TIMEOUT(process, children_of_added, 300)
{
	int ours = 0;

	ASSERT_EQ(0, image_add(self->dev, self->exe, 0, &self->image, NULL));
	target_start(&self->t, self->exe, self->other);
	ASSERT_EQ(0, process_add(self->dev, self->t.pid, NULL));
	/* The table of a child takes a moment. */
	for (int i = 0; i < 50; i++)
		ours += !strcmp(BY_MODULE, target_ask(&self->t, 'f'));
	TH_LOG("%d of 50 children were known at their first sample", ours);
	EXPECT_LT(0, ours);
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 'v'));
}

TEST_F(process, remove_running_program)
{
	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	ASSERT_TRUE(EVENTUALLY(known(self->dev, self->t.pid)));
	/* It would come back with its next sample, and must not. */
	ASSERT_EQ(0, process_remove(self->dev, self->t.pid));
	EXPECT_FALSE(known(self->dev, self->t.pid));
	for (int i = 0; i < 20; i++)
		EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
	ASSERT_EQ(0, process_add(self->dev, self->t.pid, NULL));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
}

TEST_F(process, remove_image)
{
	struct hsunwind_image_info info;
	struct test_image image = self->image;
	__u64 id;

	image.ids[1] = RULE_FP;
	ASSERT_EQ(0, add_program(self->dev, self->other, &image));
	ASSERT_EQ(0, image_add(self->dev, self->exe, HSUNWIND_ADD_PROGRAM,
			       &self->image, &id));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	ASSERT_TRUE(EVENTUALLY(known(self->dev, self->t.pid)));
	ASSERT_EQ(0, image_info(self->dev, id, &info));
	EXPECT_EQ(1, info.nr_procs);
	ASSERT_EQ(0, image_remove(self->dev, id));
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
	EXPECT_FALSE(known(self->dev, self->t.pid));
	EXPECT_EQ(1, images(self->dev));
}

TEST_F(process, replace_image)
{
	struct test_image image = self->image;

	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	ASSERT_TRUE(EVENTUALLY(known(self->dev, self->t.pid)));
	/* In the new one f3 is at the bottom. */
	image.pcs[1] -= 1;
	image.ids[0] = RULE_BOTTOM;
	ASSERT_EQ(0, add_program(self->dev, self->exe, &image));
	EXPECT_EQ(1, images(self->dev));
	EXPECT_TRUE(EVENTUALLY(strcmp(BY_MODULE, target_ask(&self->t, 's'))));
	EXPECT_TRUE(known(self->dev, self->t.pid));
}

TEST_F(process, changed_file_is_another)
{
	struct timespec times[2] = { { 1, 0 }, { 1, 0 } };

	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	ASSERT_EQ(0, utimensat(AT_FDCWD, self->exe, times, 0));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
	target_stop(&self->t);

	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	EXPECT_EQ(1, images(self->dev));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	target_stop(&self->t);

	ASSERT_EQ(0, unlink(self->exe));
	copy_self(self->exe);
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_KERNEL, target_ask(&self->t, 's'));
}

/* A hard link, as perf makes for its build-id cache, is the same file. */
TEST_F(process, linked_file_is_the_same)
{
	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	ASSERT_EQ(0, unlink(self->other));
	ASSERT_EQ(0, link(self->exe, self->other));
	target_start(&self->t, self->other, self->exe);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
}

TEST_F(process, library_mapped_later)
{
	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	ASSERT_EQ(0, image_add(self->dev, self->other, 0, &self->image, NULL));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	EXPECT_TRUE(EVENTUALLY(!strcmp(BY_MODULE, target_ask(&self->t, 'm'))));
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
}

TEST_F(process, library_registered_later)
{
	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	target_start(&self->t, self->exe, self->other);
	ASSERT_TRUE(EVENTUALLY(known(self->dev, self->t.pid)));
	/* Not a byte is read through code that is not known. */
	EXPECT_STREQ("leaf", target_ask(&self->t, 'm'));
	ASSERT_EQ(0, image_add(self->dev, self->other, 0, &self->image, NULL));
	EXPECT_TRUE(EVENTUALLY(!strcmp(BY_MODULE, target_ask(&self->t, 'm'))));
}

/* An address that will never be known leads to few scans. */
TEST_F_TIMEOUT(process, scans_back_off, 300)
{
	__u64 before;

	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	target_start(&self->t, self->exe, self->other);
	ASSERT_TRUE(EVENTUALLY(known(self->dev, self->t.pid)));
	before = counter(self->dev, HSUNWIND_COUNT_TABLES);
	for (int i = 0; i < 500; i++)
		EXPECT_STREQ("leaf", target_ask(&self->t, 'm'));
	EXPECT_GE(before + 2, counter(self->dev, HSUNWIND_COUNT_TABLES));
}

TEST_F(process, ended_is_forgotten)
{
	pid_t pid;

	ASSERT_EQ(0, add_program(self->dev, self->exe, &self->image));
	target_start(&self->t, self->exe, self->other);
	EXPECT_STREQ(BY_MODULE, target_ask(&self->t, 's'));
	ASSERT_TRUE(EVENTUALLY(known(self->dev, self->t.pid)));
	pid = self->t.pid;
	target_stop(&self->t);
	EXPECT_TRUE(EVENTUALLY(process_next(self->dev, 0) == -ENOENT));
	EXPECT_FALSE(known(self->dev, pid));
	/* The program stays. */
	EXPECT_EQ(1, images(self->dev));
}

TEST_F(process, libraries_go_with_the_last_process)
{
	ASSERT_EQ(0, image_add(self->dev, self->exe, 0, &self->image, NULL));
	target_start(&self->t, self->exe, self->other);
	ASSERT_EQ(0, process_add(self->dev, self->t.pid, NULL));
	target_stop(&self->t);
	EXPECT_TRUE(EVENTUALLY(process_next(self->dev, 0) == -ENOENT));
	/* Not while we may be about to add another process. */
	pause_ms(200);
	EXPECT_EQ(1, images(self->dev));
	close(self->dev);
	self->dev = -1;
	EXPECT_TRUE(EVENTUALLY(images_of_device() == 0));
	self->dev = open(DEVICE, O_RDWR | O_CLOEXEC);
	ASSERT_LE(0, self->dev);
}

TEST_F(process, libraries_go_with_the_last_program)
{
	__u64 id;

	ASSERT_EQ(0, image_add(self->dev, self->other, 0, &self->image, NULL));
	ASSERT_EQ(0, image_add(self->dev, self->exe, HSUNWIND_ADD_PROGRAM,
			       &self->image, &id));
	EXPECT_EQ(2, images(self->dev));
	ASSERT_EQ(0, image_remove(self->dev, id));
	EXPECT_EQ(0, images(self->dev));
}

CHAIN_MAIN int main(int argc, char **argv)
{
	if (argc == 3)
		return target_main(argv);
	return test_harness_run(argc, argv);
}
