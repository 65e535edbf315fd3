// SPDX-License-Identifier: GPL-2.0-only
/*
 * /dev/hsunwind: the ioctls of include/uapi/hsunwind.h, which is the
 * specification. This file takes arguments apart and checks them; registry.c
 * does what they ask for.
 */
#include <linux/capability.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "chardev.h"
#include "hsunwind.h"
#include "registry.h"
#include "stats.h"

/* An argument in kernel memory. */
union hsu_arg {
	u32 size;
	struct hsunwind_image_add image_add;
	struct hsunwind_image_info image_info;
	struct hsunwind_image_remove image_remove;
	struct hsunwind_process process;
	struct hsunwind_stats stats;
};

static int hsu_copy_image(const struct hsunwind_image_add *arg, void **data)
{
	void *buf;

	if (!arg->len)
		return -EINVAL;
	if (arg->len > HSUNWIND_MAX_IMAGE_SIZE)
		return -EFBIG;
	buf = kvmalloc(arg->len, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
	if (!buf)
		return -ENOMEM;
	if (copy_from_user(buf, u64_to_user_ptr(arg->data), arg->len)) {
		kvfree(buf);
		return -EFAULT;
	}
	*data = buf;
	return 0;
}

static int hsu_image_add_file(struct hsunwind_image_add *arg, struct file *file)
{
	void *data;
	int err;

	err = hsu_copy_image(arg, &data);
	if (err)
		return err;
	err = hsu_registry_image_add(file, arg->flags, data, arg->len,
				     &arg->out_id);
	if (err)
		kvfree(data);
	return err;
}

static int hsu_ioctl_image_add(union hsu_arg *u)
{
	struct hsunwind_image_add *arg = &u->image_add;
	struct file *file;
	int err;

	if (arg->reserved ||
	    arg->flags & ~(HSUNWIND_ADD_MASK | HSUNWIND_SHOW_MASK))
		return -EINVAL;
	if (arg->flags & HSUNWIND_GC_SHOW && arg->flags & HSUNWIND_GC_DROP)
		return -EINVAL;
	if (arg->flags & HSUNWIND_ADD_VDSO) {
		const u32 known = HSUNWIND_ADD_VDSO | HSUNWIND_ADD_OWN;

		if (arg->fd != -1 || arg->flags & ~known)
			return -EINVAL;
	}
	if (!(arg->flags & HSUNWIND_ADD_OWN) && !perfmon_capable())
		return -EPERM;
	if (arg->flags & HSUNWIND_ADD_VDSO)
		return hsu_image_add_file(arg, NULL);

	file = fget(arg->fd);
	if (!file)
		return -EBADF;
	if (!(file->f_mode & FMODE_READ))
		err = -EBADF;
	else if (!S_ISREG(file_inode(file)->i_mode))
		err = -EINVAL;
	else
		err = hsu_image_add_file(arg, file);
	fput(file);
	return err;
}

static int hsu_ioctl_image_next(union hsu_arg *u)
{
	struct hsunwind_image_info *arg = &u->image_info;
	u32 room = arg->path_len;
	char *path = NULL;
	int err;

	err = hsu_registry_image_next(arg, &path);
	if (err)
		return err;
	arg->path_len = strlen(path) + 1;
	if (arg->path && arg->path_len > room)
		err = -ENAMETOOLONG;
	else if (arg->path && copy_to_user(u64_to_user_ptr(arg->path), path,
					   arg->path_len))
		err = -EFAULT;
	kfree(path);
	return err;
}

static int hsu_ioctl_image_remove(union hsu_arg *u)
{
	const struct hsunwind_image_remove *arg = &u->image_remove;

	if (arg->flags & ~HSUNWIND_REMOVE_ALL)
		return -EINVAL;
	if (!(arg->flags & HSUNWIND_REMOVE_ALL))
		return hsu_registry_image_remove(arg->id);
	if (arg->id)
		return -EINVAL;
	return hsu_registry_remove_all();
}

static int hsu_ioctl_process_add(union hsu_arg *u)
{
	struct hsunwind_process *arg = &u->process;

	if (arg->flags)
		return -EINVAL;
	return hsu_registry_process_add(arg->pid, &arg->nr_maps);
}

static int hsu_ioctl_process_remove(union hsu_arg *u)
{
	const struct hsunwind_process *arg = &u->process;

	if (arg->flags)
		return -EINVAL;
	return hsu_registry_process_remove(arg->pid);
}

static int hsu_ioctl_process_next(union hsu_arg *u)
{
	struct hsunwind_process *arg = &u->process;

	if (arg->flags)
		return -EINVAL;
	return hsu_registry_process_next(arg);
}

static int hsu_ioctl_stats(union hsu_arg *u)
{
	struct hsunwind_stats *arg = &u->stats;
	u32 nr_counters = min_t(u32, arg->nr_counters, HSUNWIND_COUNT_NR);
	u32 nr_stops = min_t(u32, arg->nr_stops, HSUNWIND_STOP_NR);
	struct hsu_stats sum;

	if (arg->flags)
		return -EINVAL;
	/* They tell what the processes of others do. */
	if (!hsu_privileged())
		return -EPERM;
	hsu_stats_sum(&sum);
	if (copy_to_user(u64_to_user_ptr(arg->stops), sum.stops,
			 nr_stops * sizeof(*sum.stops)) ||
	    copy_to_user(u64_to_user_ptr(arg->counters), sum.counters,
			 nr_counters * sizeof(*sum.counters)))
		return -EFAULT;
	arg->nr_stops = HSUNWIND_STOP_NR;
	arg->nr_counters = HSUNWIND_COUNT_NR;
	return 0;
}

/**
 * struct hsu_ioctl - one command
 * @cmd: command with the size of the first version; only its number counts.
 * @min_size: bytes of the argument in its first version.
 * @size: bytes of the argument that this module knows.
 * @run: does it; what it leaves in the argument is for the caller.
 */
struct hsu_ioctl {
	unsigned int cmd;
	u32 min_size;
	u32 size;
	int (*run)(union hsu_arg *arg);
};

#define HSU_IOCTL(_cmd, _run, _type, _last)				\
	{								\
		.cmd = (_cmd),						\
		.min_size = offsetofend(_type, _last),			\
		.size = sizeof(_type),					\
		.run = (_run),						\
	}

static const struct hsu_ioctl hsu_ioctls[] = {
	HSU_IOCTL(HSUNWIND_IOC_IMAGE_ADD, hsu_ioctl_image_add,
		  struct hsunwind_image_add, out_id),
	HSU_IOCTL(HSUNWIND_IOC_IMAGE_NEXT, hsu_ioctl_image_next,
		  struct hsunwind_image_info, uid),
	HSU_IOCTL(HSUNWIND_IOC_IMAGE_REMOVE, hsu_ioctl_image_remove,
		  struct hsunwind_image_remove, id),
	HSU_IOCTL(HSUNWIND_IOC_PROCESS_ADD, hsu_ioctl_process_add,
		  struct hsunwind_process, nr_maps),
	HSU_IOCTL(HSUNWIND_IOC_PROCESS_REMOVE, hsu_ioctl_process_remove,
		  struct hsunwind_process, nr_maps),
	HSU_IOCTL(HSUNWIND_IOC_PROCESS_NEXT, hsu_ioctl_process_next,
		  struct hsunwind_process, nr_maps),
	HSU_IOCTL(HSUNWIND_IOC_STATS, hsu_ioctl_stats,
		  struct hsunwind_stats, counters),
};

static const struct hsu_ioctl *hsu_ioctl_find(unsigned int cmd)
{
	unsigned int i;

	if (_IOC_TYPE(cmd) != HSUNWIND_IOC_MAGIC)
		return NULL;
	for (i = 0; i < ARRAY_SIZE(hsu_ioctls); i++)
		if (_IOC_NR(hsu_ioctls[i].cmd) == _IOC_NR(cmd))
			return &hsu_ioctls[i];
	return NULL;
}

static long hsu_ioctl(struct file *file, unsigned int cmd, unsigned long uarg)
{
	void __user *uptr = (void __user *)uarg;
	const struct hsu_ioctl *ioctl;
	union hsu_arg arg = {};
	u32 size;
	int err;

	ioctl = hsu_ioctl_find(cmd);
	if (!ioctl)
		return -ENOTTY;
	if (get_user(size, (u32 __user *)uptr))
		return -EFAULT;
	if (size < ioctl->min_size)
		return -EINVAL;
	if (size > PAGE_SIZE)
		return -E2BIG;
	err = copy_struct_from_user(&arg, ioctl->size, uptr, size);
	if (err)
		return err;
	/* It may have been changed since it was checked. */
	arg.size = size;

	err = ioctl->run(&arg);
	/* With this one the caller learns how much room is needed. */
	if (err && err != -ENAMETOOLONG)
		return err;
	if (_IOC_DIR(ioctl->cmd) & _IOC_READ &&
	    copy_to_user(uptr, &arg, min(size, ioctl->size)))
		return -EFAULT;
	return err;
}

static int hsu_open(struct inode *inode, struct file *file)
{
	file->private_data = hsu_registry_open();
	return file->private_data ? 0 : -ENOMEM;
}

static int hsu_release(struct inode *inode, struct file *file)
{
	hsu_registry_release(file->private_data);
	return 0;
}

static const struct file_operations hsu_fops = {
	.owner = THIS_MODULE,
	.open = hsu_open,
	.release = hsu_release,
	.unlocked_ioctl = hsu_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

static struct miscdevice hsu_miscdev = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = KBUILD_MODNAME,
	/* Each ioctl looks at who calls it, which need not be who has opened it. */
	.mode = 0666,
	.fops = &hsu_fops,
};

int hsu_chardev_init(void)
{
	return misc_register(&hsu_miscdev);
}

void hsu_chardev_exit(void)
{
	misc_deregister(&hsu_miscdev);
}
