// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another owner of perf_callchain_user(): a live patch that leaves user stacks
 * empty.
 */
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/perf_event.h>

static void no_callchain(struct perf_callchain_entry_ctx *ctx,
			 struct pt_regs *regs)
{
}

static struct klp_func funcs[] = {
	{
		.old_name = "perf_callchain_user",
		.new_func = no_callchain,
	},
	{ }
};

static struct klp_object objs[] = {
	{ .funcs = funcs },	/* of the kernel itself */
	{ }
};

static struct klp_patch patch = {
	.mod = THIS_MODULE,
	.objs = objs,
};

static int __init test_init(void)
{
	return klp_enable_patch(&patch);
}

static void __exit test_exit(void)
{
}

module_init(test_init);
module_exit(test_exit);

MODULE_DESCRIPTION("Test of hsunwind: a live patch of perf_callchain_user");
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
MODULE_INFO(test, "Y");
