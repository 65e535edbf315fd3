// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another owner of perf_callchain_user(), by ftrace: it may change where the
 * function goes on, and does not.
 */
#include <linux/ftrace.h>
#include <linux/module.h>
#include <linux/string.h>

static notrace void on_call(unsigned long ip, unsigned long parent_ip,
			    struct ftrace_ops *ops, struct ftrace_regs *fregs)
{
}

static struct ftrace_ops test_ops = {
	.func = on_call,
	.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_RECURSION |
		 FTRACE_OPS_FL_SAVE_REGS,
};

static int __init test_init(void)
{
	static unsigned char name[] = "perf_callchain_user";
	int err;

	err = ftrace_set_filter(&test_ops, name, strlen(name), 1);
	if (!err)
		err = register_ftrace_function(&test_ops);
	if (err)
		ftrace_free_filter(&test_ops);
	return err;
}

static void __exit test_exit(void)
{
	unregister_ftrace_function(&test_ops);
	ftrace_free_filter(&test_ops);
}

module_init(test_init);
module_exit(test_exit);

MODULE_DESCRIPTION("Test of hsunwind: an ftrace owner of perf_callchain_user");
MODULE_LICENSE("GPL");
MODULE_INFO(test, "Y");
