// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stand-in for /dev/hsunwind, linked into hsunwind-register by its tests
 * (ld --wrap). It keeps what is registered in the file $FAKE_STATE, checks
 * arguments as the module does, and fails as $FAKE_OPEN and $FAKE_IOCTL say:
 * an errno, and "<name of the ioctl> <errno>". $FAKE_TOUCH is a file that changes
 * right before something is registered.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hsu_core.h"

int __real_open(const char *path, int flags, ...);
int __real_ioctl(int fd, unsigned long cmd, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long cmd, ...);

#define MAX_ENTRIES	256

struct entry {
	__u64 id;		/* 0: free, or a process */
	__u32 flags;
	__s32 pid;		/* 0: an image */
	__u64 dev, ino, bytes;
	__u32 rows;
	char path[512];
};

struct state {
	__u64 last_id;
	struct entry v[MAX_ENTRIES];
};

static int device = -1;

int __wrap_open(const char *path, int flags, ...)
{
	const char *error = getenv("FAKE_OPEN");

	if (strcmp(path, "/dev/hsunwind"))
		return __real_open(path, flags, 0);
	if (error) {
		errno = atoi(error);
		return -1;
	}
	device = __real_open("/dev/null", flags, 0);
	return device;
}

static void load(struct state *s)
{
	int fd = __real_open(getenv("FAKE_STATE"), O_RDONLY, 0);

	memset(s, 0, sizeof(*s));
	if (fd < 0)
		return;
	if (read(fd, s, sizeof(*s)) != sizeof(*s))
		abort();
	close(fd);
}

static void store(const struct state *s)
{
	int fd = __real_open(getenv("FAKE_STATE"), O_WRONLY | O_CREAT, 0600);

	if (fd < 0 || write(fd, s, sizeof(*s)) != sizeof(*s))
		abort();
	close(fd);
}

static struct entry *free_entry(struct state *s)
{
	int i;

	for (i = 0; i < MAX_ENTRIES; i++)
		if (!s->v[i].id && !s->v[i].pid)
			return &s->v[i];
	abort();
}

static int fail(int error)
{
	errno = error;
	return -1;
}

static int image_add(struct state *s, struct hsunwind_image_add *arg)
{
	struct hsu_image img;
	char link[64];
	struct entry *e = NULL;
	struct stat st = { 0 };
	ssize_t n;
	int i;

	if (arg->size != sizeof(*arg) || arg->reserved ||
	    hsu_image_init(&img, (void *)(unsigned long)arg->data, arg->len))
		return fail(EINVAL);
	if ((arg->flags & HSUNWIND_ADD_VDSO) != 0 ? arg->fd != -1
						 : fstat(arg->fd, &st))
		return fail(EBADF);
	for (i = 0; i < MAX_ENTRIES; i++)
		if (s->v[i].id && s->v[i].dev == st.st_dev &&
		    s->v[i].ino == st.st_ino &&
		    !((s->v[i].flags ^ arg->flags) & HSUNWIND_ADD_OWN))
			e = &s->v[i];
	if (!e)
		e = free_entry(s);
	memset(e, 0, sizeof(*e));
	e->id = ++s->last_id;
	e->flags = arg->flags;
	e->dev = st.st_dev;
	e->ino = st.st_ino;
	e->bytes = arg->len;
	e->rows = img.hdr->nr_rows;
	strcpy(e->path, "[vdso]");
	if (arg->fd >= 0) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", arg->fd);
		n = readlink(link, e->path, sizeof(e->path) - 1);
		e->path[n > 0 ? n : 0] = 0;
	}
	arg->out_id = e->id;
	return 0;
}

static int image_next(const struct state *s, struct hsunwind_image_info *arg)
{
	const struct entry *best = NULL;
	int i;

	for (i = 0; i < MAX_ENTRIES; i++)
		if (s->v[i].id >= arg->id && s->v[i].id &&
		    (!best || s->v[i].id < best->id))
			best = &s->v[i];
	if (!best)
		return fail(ENOENT);
	arg->id = best->id;
	arg->flags = best->flags;
	arg->uid = best->flags & HSUNWIND_ADD_OWN ? getuid() : 0;
	arg->dev = best->dev;
	arg->ino = best->ino;
	arg->bytes = best->bytes;
	arg->nr_rows = best->rows;
	if (strlen(best->path) >= arg->path_len)
		return fail(ENAMETOOLONG);
	strcpy((char *)(unsigned long)arg->path, best->path);
	return 0;
}

static int image_remove(struct state *s, const struct hsunwind_image_remove *arg)
{
	int i;

	if (arg->flags & HSUNWIND_REMOVE_ALL) {
		memset(s->v, 0, sizeof(s->v));
		return 0;
	}
	for (i = 0; i < MAX_ENTRIES; i++)
		if (s->v[i].id && s->v[i].id == arg->id) {
			memset(&s->v[i], 0, sizeof(s->v[i]));
			return 0;
		}
	return fail(ENOENT);
}

static int process(struct state *s, unsigned long cmd,
		   struct hsunwind_process *arg)
{
	struct entry *best = NULL;
	int i;

	for (i = 0; i < MAX_ENTRIES; i++) {
		struct entry *e = &s->v[i];

		if (e->pid && e->pid >= arg->pid && (!best || e->pid < best->pid))
			best = e;
	}
	if (cmd == HSUNWIND_IOC_PROCESS_ADD) {
		best = free_entry(s);
		best->pid = arg->pid;
		arg->nr_maps = 7;
		return 0;
	}
	if (cmd == HSUNWIND_IOC_PROCESS_NEXT) {
		if (!best)
			return fail(ENOENT);
		arg->pid = best->pid;
		arg->nr_maps = 7;
		return 0;
	}
	if (!best || best->pid != arg->pid)
		return fail(ESRCH);
	memset(best, 0, sizeof(*best));
	return 0;
}

static int stats(struct hsunwind_stats *arg)
{
	__u64 *stops = (__u64 *)(unsigned long)arg->stops;
	__u64 *counters = (__u64 *)(unsigned long)arg->counters;

	stops[HSUNWIND_STOP_COMPLETE] = 9995;
	stops[HSUNWIND_STOP_NO_CODE] = 5;
	counters[HSUNWIND_COUNT_SAMPLES] = 10000;
	return 0;
}

static const struct {
	const char *name;
	unsigned long cmd;
} names[] = {
	{ "image_add", HSUNWIND_IOC_IMAGE_ADD },
	{ "image_next", HSUNWIND_IOC_IMAGE_NEXT },
	{ "image_remove", HSUNWIND_IOC_IMAGE_REMOVE },
	{ "process_add", HSUNWIND_IOC_PROCESS_ADD },
	{ "process_remove", HSUNWIND_IOC_PROCESS_REMOVE },
	{ "process_next", HSUNWIND_IOC_PROCESS_NEXT },
	{ "stats", HSUNWIND_IOC_STATS },
};

/* The errno that $FAKE_IOCTL has for this ioctl, or 0. */
static int wanted_error(unsigned long cmd)
{
	const char *want = getenv("FAKE_IOCTL");
	size_t i, len;

	for (i = 0; want && i < ARRAY_SIZE(names); i++) {
		len = strlen(names[i].name);
		if (names[i].cmd == cmd && !strncmp(want, names[i].name, len) &&
		    want[len] == ' ')
			return atoi(want + len + 1);
	}
	return 0;
}

int __wrap_ioctl(int fd, unsigned long cmd, ...)
{
	static struct state s;
	void *arg;
	va_list ap;
	int ret;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd != device)
		return __real_ioctl(fd, cmd, arg);
	ret = wanted_error(cmd);
	if (ret)
		return fail(ret);
	load(&s);
	switch (cmd) {
	case HSUNWIND_IOC_IMAGE_ADD:
		if (getenv("FAKE_TOUCH"))
			utimensat(AT_FDCWD, getenv("FAKE_TOUCH"), NULL, 0);
		ret = image_add(&s, arg);
		break;
	case HSUNWIND_IOC_IMAGE_NEXT:
		ret = image_next(&s, arg);
		break;
	case HSUNWIND_IOC_IMAGE_REMOVE:
		ret = image_remove(&s, arg);
		break;
	case HSUNWIND_IOC_STATS:
		ret = stats(arg);
		break;
	default:
		ret = process(&s, cmd, arg);
	}
	if (!ret)
		store(&s);
	return ret;
}
