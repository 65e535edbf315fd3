// SPDX-License-Identifier: GPL-2.0-only
/*
 * Validation of images: a good one is taken, and each of these with a single
 * bad field, and everything else in order, is refused with EINVAL.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "chain.h"
#include "device.h"
#include "kselftest_harness.h"

#define SELF "/proc/self/exe"

static void make(struct test_image *image)
{
	__u32 from, to;

	chain_f2(&from, &to);
	test_image_init(image, SELF, from, to);
}

FIXTURE(image)
{
	int dev;
	struct test_image image;
};

FIXTURE_SETUP(image)
{
	self->dev = open(DEVICE, O_RDWR);
	ASSERT_LE(0, self->dev);
	ASSERT_EQ(0, remove_all(self->dev));
	make(&self->image);
}

FIXTURE_TEARDOWN(image)
{
	EXPECT_EQ(0, remove_all(self->dev));
	close(self->dev);
}

TEST_F(image, good)
{
	__u64 id;

	EXPECT_EQ(0, image_add(self->dev, SELF, 0, &self->image, &id));
	EXPECT_NE(0, id);
	EXPECT_EQ(1, images(self->dev));
}

TEST_F(image, truncated_anywhere)
{
	int fd = open(SELF, O_RDONLY);

	for (__u64 len = 0; len < sizeof(self->image); len++)
		EXPECT_EQ(-EINVAL, image_add_fd(self->dev, fd, 0, &self->image,
						len, NULL));
	close(fd);
}

TEST_F(image, longer_than_it_says)
{
	char buf[sizeof(self->image) + 8] = {};
	int fd = open(SELF, O_RDONLY);

	memcpy(buf, &self->image, sizeof(self->image));
	EXPECT_EQ(-EINVAL, image_add_fd(self->dev, fd, 0, buf, sizeof(buf),
					NULL));
	close(fd);
}

TEST_F_TIMEOUT(image, noise, 300)
{
	int fd = open(SELF, O_RDONLY);
	int taken = 0;

	/* Any answer will do, as long as there is one. */
	srandom(1);
	for (int i = 0; i < 20000; i++) {
		struct test_image bad = self->image;
		unsigned char *p = (unsigned char *)&bad;

		for (int n = 1 + random() % 3; n; n--)
			p[random() % sizeof(bad)] = random();
		if (!image_add_fd(self->dev, fd, 0, &bad, sizeof(bad), NULL))
			taken++;
	}
	close(fd);
	TH_LOG("%d of 20000 were still valid", taken);
	EXPECT_LT(taken, 20000);
}

FIXTURE(bad_image)
{
	int dev;
	struct test_image image;
};

FIXTURE_VARIANT(bad_image)
{
	size_t at;
	size_t size;
	__u64 value;
};

FIXTURE_SETUP(bad_image)
{
	self->dev = open(DEVICE, O_RDWR);
	ASSERT_LE(0, self->dev);
	make(&self->image);
}

FIXTURE_TEARDOWN(bad_image)
{
	close(self->dev);
}

#define FIELD_SIZE(field) sizeof(((struct test_image *)0)->field)

#define BAD(name, field, number)					\
	FIXTURE_VARIANT_ADD(bad_image, name)				\
	{								\
		.at = offsetof(struct test_image, field),		\
		.size = FIELD_SIZE(field),				\
		.value = (number),					\
	}

/* Header */
BAD(magic, h.magic, 0x31495349);
BAD(version_0, h.version, 0);
BAD(version_1, h.version, 1);
BAD(version_3, h.version, 3);
BAD(header_too_small, h.header_size, sizeof(struct hsunwind_image) - 8);
BAD(header_too_large, h.header_size, sizeof(struct hsunwind_image) + 8);
BAD(size_too_small, h.size, sizeof(struct test_image) - 8);
BAD(size_too_large, h.size, sizeof(struct test_image) + 8);
BAD(flags, h.flags, 1);
BAD(base_not_aligned, h.base, 2048);
BAD(base_not_user, h.base, 1ull << 47);
BAD(base_above_segs, h.base, 1ull << 46);

/* Arrays */
BAD(segs_none, h.nr_segs, 0);
BAD(segs_too_many, h.nr_segs, HSUNWIND_MAX_SEGS + 1);
BAD(segs_not_aligned, h.segs, offsetof(struct test_image, segs) + 4);
BAD(segs_in_header, h.segs, 8);
BAD(segs_outside, h.segs, sizeof(struct test_image) + 8);
BAD(segs_end_outside, h.segs, sizeof(struct test_image) - 8);
BAD(rules_none, h.nr_rules, 0);
BAD(rules_too_many, h.nr_rules, HSUNWIND_MAX_RULES + 1);
BAD(rules_not_aligned, h.rules, offsetof(struct test_image, rules) + 4);
BAD(rules_outside, h.rules, 0xfffffff8);
BAD(rules_end_outside, h.nr_rules, HSUNWIND_MAX_RULES);
BAD(rows_none, h.nr_rows, 0);
BAD(rows_too_many, h.nr_rows, HSUNWIND_MAX_ROWS + 1);
BAD(rows_end_outside, h.nr_rows, HSUNWIND_MAX_ROWS);
BAD(rows_wrap, h.nr_rows, 0x80000000);
BAD(pcs_not_aligned, h.pcs, offsetof(struct test_image, pcs) + 4);
BAD(pcs_outside, h.pcs, sizeof(struct test_image) + 8);
BAD(ids_not_aligned, h.ids, offsetof(struct test_image, ids) + 4);
BAD(ids_outside, h.ids, sizeof(struct test_image) + 8);

/* Segments */
BAD(seg_empty, segs[0].size, 0);
BAD(seg_below_base, segs[0].vaddr, -4096ull);
BAD(seg_wraps, segs[0].size, -1ull);
BAD(seg_beyond_4g, segs[0].size, 1ull << 33);
BAD(seg_offset_wraps, segs[0].offset, -16ull);
BAD(seg_overlap, h.nr_segs, 2);

/* Rules */
BAD(rule_kind, rules[RULE_FP].kind, HSUNWIND_RULE_NR);
BAD(rule_class, rules[RULE_FP].cls, HSUNWIND_CLASS_NR);
BAD(rule_class_haskell, rules[RULE_FP].cls, HSUNWIND_CLASS_HS);
BAD(rule_class_c, rules[RULE_HS].cls, HSUNWIND_CLASS_C);
BAD(rule_register, rules[RULE_FP].cfa_reg, 16);
BAD(rule_slots, rules[RULE_FP].slots, HSUNWIND_SLOTS_NR);
BAD(rule_cfa_off_high, rules[RULE_FP].cfa_off, (1 << 28) + 1);
BAD(rule_cfa_off_low, rules[RULE_FP].cfa_off, -(1 << 28) - 1);
BAD(rule_hs_cfa_off, rules[RULE_HS].cfa_off, 4);
BAD(rule_hs_arg, rules[RULE_HS].arg, 4);
BAD(rule_scan_cfa_off, rules[RULE_SCAN].cfa_off, 4);
BAD(rule_scan_arg, rules[RULE_SCAN].arg, 16);
BAD(rule_ra_reg_high, rules[RULE_RA_REG].arg, 16);
BAD(rule_ra_reg_low, rules[RULE_RA_REG].arg, -1);

/* Rows */
BAD(pcs_equal, pcs[1], 0xffffffff);
BAD(pcs_decreasing, pcs[3], 0);
BAD(id_unknown, ids[0], IMAGE_RULES);
BAD(id_last_not_none, ids[IMAGE_ROWS - 1], RULE_FP);

/* StgRun */
BAD(has_stgrun_2, h.has_stgrun, 2);
BAD(stgrun_rule_kind, h.has_stgrun, 1);
BAD(stgrun_rets, h.nr_stgrun_rets, HSUNWIND_MAX_STGRUN_RETS + 1);

/* What stands for other frames */
BAD(gc_frame_unknown, h.gc_frame, 0xffffffff);
BAD(gc_frame_class, h.gc_frame, 0x1100);
BAD(gap_frame_unknown, h.gap_frame, 0xffffffff);
BAD(gap_frame_class, h.gap_frame, 0x1100);

/* Layout of the run-time system */
BAD(ghc_header, h.ghc.header, 4096);
BAD(ghc_not_aligned, h.ghc.reg_tso, 2);
BAD(ghc_tso, h.ghc.reg_tso, 4096);
BAD(ghc_stackobj, h.ghc.tso_stackobj, 4096);
BAD(ghc_stack_size, h.ghc.stack_size, 4096);
BAD(ghc_stack_sp, h.ghc.stack_sp, 4096);
BAD(ghc_stack_stack, h.ghc.stack_stack, 4096);
BAD(ghc_bitmap, h.ghc.bco_bitmap, 4096);
BAD(ghc_incall_0, h.ghc.task_incall[0], 4096);
BAD(ghc_incall_1, h.ghc.task_incall[1], 4096);
BAD(ghc_suspended, h.ghc.incall_suspended, 4096);
BAD(ghc_task, h.ghc.incall_task, 4096);
BAD(ghc_prev, h.ghc.incall_prev, 4096);
BAD(ghc_task_cap, h.ghc.task_cap, 2);
BAD(ghc_cap_reg, h.ghc.cap_reg, 4096);
BAD(ghc_reg_task, h.ghc.reg_task, 4096);

TEST_F(bad_image, refused)
{
	unsigned int before = images(self->dev);

	memcpy((char *)&self->image + variant->at, &variant->value,
	       variant->size);
	EXPECT_EQ(-EINVAL, image_add(self->dev, SELF, 0, &self->image, NULL));
	EXPECT_EQ(before, images(self->dev));
}

TEST_HARNESS_MAIN
