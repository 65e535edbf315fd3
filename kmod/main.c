// SPDX-License-Identifier: GPL-2.0-only
/*
 * hsunwind: call chains of Haskell programs for perf.
 *
 * Loading and unloading, and the parameters; nothing else. What is attached to
 * the kernel last is detached first, so that no sample, probe or ioctl finds
 * anything that is not there yet or not there any more.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/module.h>

#include "chardev.h"
#include "hook.h"
#include "hsu_core.h"
#include "params.h"
#include "probes.h"
#include "registry.h"
#include "requests.h"

struct hsu_params hsu_params = {
	.max_images = 4096,
	.max_bytes = 1UL << 30,
	.max_processes = 65536,
	.max_user_images = 256,
	.max_user_bytes = 128UL << 20,
	.max_user_processes = 4096,
	.max_steps = 16384,
};

module_param_named(max_images, hsu_params.max_images, uint, 0644);
MODULE_PARM_DESC(max_images, "images that may be registered (4096)");
module_param_named(max_bytes, hsu_params.max_bytes, ulong, 0644);
MODULE_PARM_DESC(max_bytes, "bytes of memory that images may take (1 GiB)");
module_param_named(max_processes, hsu_params.max_processes, uint, 0644);
MODULE_PARM_DESC(max_processes, "processes that may be known at a time (65536)");
module_param_named(max_user_images, hsu_params.max_user_images, uint, 0644);
MODULE_PARM_DESC(max_user_images, "images that one user may register (256)");
module_param_named(max_user_bytes, hsu_params.max_user_bytes, ulong, 0644);
MODULE_PARM_DESC(max_user_bytes, "bytes of memory that they may take (128 MiB)");
module_param_named(max_user_processes, hsu_params.max_user_processes, uint, 0644);
MODULE_PARM_DESC(max_user_processes, "processes of one user that may be known at a time (4096)");
module_param_named(max_steps, hsu_params.max_steps, uint, 0644);
MODULE_PARM_DESC(max_steps, "physical frames that one sample may visit (16384)");
module_param_named(show_internal, hsu_params.show_internal, bool, 0644);
MODULE_PARM_DESC(show_internal, "show frames of the run-time system's own Haskell code (N)");
module_param_named(show_rts, hsu_params.show_rts, bool, 0644);
MODULE_PARM_DESC(show_rts, "show C frames of the run-time system below a Haskell stack (N)");

/* For the kernel's command line: hsunwind.off=1 */
static bool hsu_off;
module_param_named(off, hsu_off, bool, 0444);
MODULE_PARM_DESC(off, "do not load (N)");

static int __init hsu_init(void)
{
	int err;

	if (hsu_off) {
		pr_info("not loaded, as the parameter off says\n");
		return -ENODEV;
	}
	err = hsu_requests_init();
	if (err)
		return err;
	err = hsu_hook_init();
	if (err)
		goto err_requests;
	err = hsu_probes_init();
	if (err)
		goto err_hook;
	err = hsu_chardev_init();
	if (err)
		goto err_probes;
	return 0;

err_probes:
	hsu_probes_exit();
err_hook:
	hsu_hook_exit();
err_requests:
	hsu_requests_exit();
	hsu_registry_exit();
	return err;
}

static void __exit hsu_exit(void)
{
	hsu_chardev_exit();
	hsu_probes_exit();
	hsu_hook_exit();
	hsu_requests_exit();
	hsu_registry_exit();
}

module_init(hsu_init);
module_exit(hsu_exit);

MODULE_DESCRIPTION("Call chains of Haskell programs for perf");
MODULE_AUTHOR("The hsunwind authors");
MODULE_VERSION(HSU_VERSION);
MODULE_LICENSE("GPL");
