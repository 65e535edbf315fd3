// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "user.h"

void become(unsigned int id)
{
	if (setgroups(0, NULL) || setresgid(id, id, id) ||
	    setresuid(id, id, id) || prctl(PR_SET_DUMPABLE, 1))
		err(1, "cannot become user %u", id);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void write_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		err(1, "%s", name);
	close(fd);
}

int add(const char *exe, __u32 flags, const struct test_image *image,
	__u64 *id)
{
	int dev = open(DEVICE, O_RDWR | O_CLOEXEC);
	int ret = dev < 0 ? -errno : image_add(dev, exe, flags, image, id);

	close(dev);
	return ret;
}
