// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls of /dev/hsunwind, with sentences for their errors.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "device.h"

#define DEVICE	"/dev/hsunwind"

int hsu_device_open(struct hsu_error *err)
{
	int dev = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (dev >= 0)
		return dev;
	switch (errno) {
	case ENOENT:
	case ENODEV:
	case ENXIO:
		return hsu_fail(err,
				"the kernel module is not loaded (no %s): run 'modprobe hsunwind' first",
				DEVICE);
	case EACCES:
	case EPERM:
		return hsu_fail(err, "%s may not be opened: run as root or with CAP_PERFMON",
				DEVICE);
	default:
		return hsu_fail(err, "%s cannot be opened: %m", DEVICE);
	}
}

void hsu_device_close(int dev)
{
	close(dev);
}

/* What can happen to every ioctl; @what names the structure. */
static int fail(const char *what, struct hsu_error *err)
{
	switch (errno) {
	case ENOTTY:
		return hsu_fail(err,
				"the kernel module does not know %s: load the module of the same version as this tool",
				what);
	case E2BIG:
		return hsu_fail(err,
				"the kernel module does not know all of %s.size: load the module of the same version as this tool",
				what);
	case EINVAL:
		return hsu_fail(err,
				"the kernel module refuses a field of %s: load the module of the same version as this tool",
				what);
	case EPERM:
	case EACCES:
		return hsu_fail(err, "%s is not permitted: run as root or with CAP_PERFMON",
				what);
	case ENOMEM:
		return hsu_fail(err,
				"the kernel has no memory left for %s: free some, or remove images with --remove",
				what);
	default:
		return hsu_fail(err, "%s failed: %m", what);
	}
}

int hsu_device_image_add(int dev, u32 flags, int fd, const void *data,
			 size_t len, const char *name, u64 *id,
			 struct hsu_error *err)
{
	struct hsunwind_image_add arg = {
		.size = sizeof(arg),
		.flags = flags,
		.fd = fd,
		.data = (u64)(unsigned long)data,
		.len = len,
	};

	if (!ioctl(dev, HSUNWIND_IOC_IMAGE_ADD, &arg)) {
		*id = arg.out_id;
		return 0;
	}
	switch (errno) {
	case EINVAL:
		return hsu_fail(err,
				"the kernel module refuses the image of %s (hsunwind_image_add.data): load the module of the same version as this tool",
				name);
	case EFBIG:
		return hsu_fail(err,
				"the image of %s is too large for the kernel (hsunwind_image_add.len is %zu): split the program into libraries",
				name, len);
	case EBADF:
		return hsu_fail(err,
				"the kernel does not accept %s as an open file (hsunwind_image_add.fd): give a regular file",
				name);
	case EPERM:
		return hsu_fail(err,
				"registering %s for the processes of all users is not permitted: run as root or with CAP_PERFMON, or give --own",
				name);
	case ETXTBSY:
		return hsu_fail(err,
				"%s is open for writing (hsunwind_image_add.fd): try again when it is complete",
				name);
	case ENOSPC:
		return hsu_fail(err,
				"no room for the image of %s: remove others with --remove, or raise max_images or max_bytes in /sys/module/hsunwind/parameters",
				name);
	case EDQUOT:
		return hsu_fail(err,
				"no room of yours is left for the image of %s: remove others with --remove, or let root raise max_user_images or max_user_bytes in /sys/module/hsunwind/parameters",
				name);
	default:
		return fail("hsunwind_image_add", err);
	}
}

int hsu_device_image_next(int dev, u64 id, struct hsu_image_entry *entry,
			  struct hsu_error *err)
{
	struct hsunwind_image_info *info = &entry->info;

	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	info->id = id;
	info->path = (u64)(unsigned long)entry->path;
	info->path_len = sizeof(entry->path);
	entry->path[0] = 0;
	if (!ioctl(dev, HSUNWIND_IOC_IMAGE_NEXT, info)) {
		entry->path[sizeof(entry->path) - 1] = 0;
		return 1;
	}
	if (errno == ENOENT)
		return 0;
	return fail("hsunwind_image_info", err);
}

static int image_remove(int dev, u32 flags, u64 id)
{
	struct hsunwind_image_remove arg = {
		.size = sizeof(arg),
		.flags = flags,
		.id = id,
	};

	return ioctl(dev, HSUNWIND_IOC_IMAGE_REMOVE, &arg);
}

int hsu_device_image_remove(int dev, u64 id, const char *name,
			    struct hsu_error *err)
{
	if (!image_remove(dev, 0, id))
		return 0;
	if (errno == ENOENT)
		return hsu_fail(err, "%s is not registered any more", name);
	return fail("hsunwind_image_remove", err);
}

int hsu_device_remove_all(int dev, struct hsu_error *err)
{
	if (!image_remove(dev, HSUNWIND_REMOVE_ALL, 0))
		return 0;
	return fail("hsunwind_image_remove", err);
}

static int process(int dev, unsigned long cmd, int pid,
		   struct hsunwind_process *arg)
{
	memset(arg, 0, sizeof(*arg));
	arg->size = sizeof(*arg);
	arg->pid = pid;
	return ioctl(dev, cmd, arg);
}

int hsu_device_process_add(int dev, int pid, u32 *nr_maps,
			   struct hsu_error *err)
{
	struct hsunwind_process arg;

	if (!process(dev, HSUNWIND_IOC_PROCESS_ADD, pid, &arg)) {
		*nr_maps = arg.nr_maps;
		return 0;
	}
	if (errno == ESRCH)
		return hsu_fail(err, "process %d has ended (hsunwind_process.pid)",
				pid);
	if (errno == ENOENT)
		return hsu_fail(err,
				"process %d maps none of the registered files (hsunwind_process.pid): is it still the same program?",
				pid);
	if (errno == EPERM || errno == EACCES)
		return hsu_fail(err,
				"process %d is none that you may trace (hsunwind_process.pid): run as its user, as root or with CAP_PERFMON",
				pid);
	if (errno == EBUSY)
		return hsu_fail(err,
				"the mappings of process %d stay locked (hsunwind_process.pid): try again",
				pid);
	if (errno == ENOSPC)
		return hsu_fail(err,
				"no room for process %d: remove others with --remove, or raise max_processes in /sys/module/hsunwind/parameters",
				pid);
	if (errno == EDQUOT)
		return hsu_fail(err,
				"the user of process %d has too many known processes: end some, or let root raise max_user_processes in /sys/module/hsunwind/parameters",
				pid);
	return fail("hsunwind_process", err);
}

int hsu_device_process_remove(int dev, int pid, struct hsu_error *err)
{
	struct hsunwind_process arg;

	if (!process(dev, HSUNWIND_IOC_PROCESS_REMOVE, pid, &arg))
		return 0;
	if (errno == ESRCH || errno == ENOENT)
		return hsu_fail(err, "process %d is not registered: --list shows what is",
				pid);
	if (errno == EPERM)
		return hsu_fail(err,
				"process %d is none that you may trace (hsunwind_process.pid): run as its user, as root or with CAP_PERFMON",
				pid);
	return fail("hsunwind_process", err);
}

int hsu_device_process_next(int dev, int pid, struct hsunwind_process *proc,
			    struct hsu_error *err)
{
	if (!process(dev, HSUNWIND_IOC_PROCESS_NEXT, pid, proc))
		return 1;
	if (errno == ENOENT || errno == ESRCH)
		return 0;
	return fail("hsunwind_process", err);
}

int hsu_device_stats(int dev, u64 *stops, u64 *counters, struct hsu_error *err)
{
	struct hsunwind_stats arg = {
		.size = sizeof(arg),
		.nr_stops = HSUNWIND_STOP_NR,
		.nr_counters = HSUNWIND_COUNT_NR,
		.stops = (u64)(unsigned long)stops,
		.counters = (u64)(unsigned long)counters,
	};

	memset(stops, 0, HSUNWIND_STOP_NR * sizeof(*stops));
	memset(counters, 0, HSUNWIND_COUNT_NR * sizeof(*counters));
	if (!ioctl(dev, HSUNWIND_IOC_STATS, &arg))
		return 0;
	return fail("hsunwind_stats", err);
}
