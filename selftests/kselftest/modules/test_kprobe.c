// SPDX-License-Identifier: GPL-2.0-only
/*
 * A kprobe on perf_callchain_user(). One with a post handler cannot be moved to
 * other instructions and so owns the function; one without shares it.
 */
#include <linux/kprobes.h>
#include <linux/module.h>

static bool post;
module_param(post, bool, 0444);
MODULE_PARM_DESC(post, "have a post handler (N)");

static int on_entry(struct kprobe *kp, struct pt_regs *regs)
{
	return 0;
}

static void after_entry(struct kprobe *kp, struct pt_regs *regs,
			unsigned long flags)
{
}

static struct kprobe probe = {
	.symbol_name = "perf_callchain_user",
	.pre_handler = on_entry,
};

static int __init test_init(void)
{
	if (post)
		probe.post_handler = after_entry;
	return register_kprobe(&probe);
}

static void __exit test_exit(void)
{
	unregister_kprobe(&probe);
}

module_init(test_init);
module_exit(test_exit);

MODULE_DESCRIPTION("Test of hsunwind: a kprobe on perf_callchain_user");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
