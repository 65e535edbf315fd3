// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzes hsunwind-register as a whole: its arguments, and all that it is told by
 * others, in parts that a line "%%" ends:
 *
 *	arguments, one a line
 *	what the dynamic linker lists; an "x" in front of it: and fails
 *	/proc/PID/maps
 *	what the module answers, see answer()
 *	the program; "ELF": $HSUNWIND_FUZZ_FILE
 *
 * Nothing but the program can be opened, whatever its folder is called.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hsu_core.h"
#include "json_check.h"
#include "check.h"

#define MAX_ARGS	32
#define MAX_LISTED	32768	/* a pipe holds that */
#define DEVICE_FD	1000000

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const u8 *data, size_t len);
int register_main(int argc, char **argv);

int __real_open(const char *path, int flags, ...);
int __real_ioctl(int fd, unsigned long cmd, ...);
int __real_close(int fd);
int __real_pipe2(int fds[2], int flags);
FILE *__real_fopen(const char *path, const char *mode);
int __wrap_open(const char *path, int flags, ...);
int __wrap_ioctl(int fd, unsigned long cmd, ...);
int __wrap_close(int fd);
int __wrap_pipe2(int fds[2], int flags);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_posix_spawn(pid_t *pid, const char *path,
		       const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[],
		       char *const envp[]);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);

struct part {
	const u8 *p;
	size_t len;
};

static struct part listed, maps, answers, program;
static bool linker_fails;
static int pipe_end;
static char folder[] = "/tmp/hsunwind-fuzz.XXXXXX";
static u8 *good;
static size_t good_len;

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

int __wrap_open(const char *path, int flags, ...)
{
	if (!strcmp(path, "/dev/hsunwind"))
		return DEVICE_FD;
	if (!strcmp(base_name(path), "prog"))
		return __real_open("prog", flags, 0);
	errno = ENOENT;
	return -1;
}

int __wrap_close(int fd)
{
	return fd == DEVICE_FD ? 0 : __real_close(fd);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (strncmp(path, "/proc/", 6) || strcmp(base_name(path), "maps"))
		return __real_fopen(path, mode);
	if (maps.len)
		return fmemopen((void *)maps.p, maps.len, "r");
	errno = ENOENT;
	return NULL;
}

int __wrap_pipe2(int fds[2], int flags)
{
	int ret = __real_pipe2(fds, flags);

	pipe_end = ret ? -1 : fds[1];
	return ret;
}

int __wrap_posix_spawn(pid_t *pid, const char *path,
		       const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[],
		       char *const envp[])
{
	size_t len = listed.len < MAX_LISTED ? listed.len : MAX_LISTED;

	(void)actions;
	(void)attr;
	(void)envp;
	check(!strcmp(path, argv[0]) && !strncmp(path, "/lib64/", 7),
	      "only the dynamic linker is run");
	check(write(pipe_end, listed.p, len) == (ssize_t)len,
	      "a pipe can be written");
	*pid = 1;
	return 0;
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
	(void)options;
	*status = linker_fails ? 127 << 8 : 0;
	return pid;
}

/* Takes bytes of the answers; what is not there is zero. */
static u64 take(size_t bytes)
{
	u64 v = 0;

	if (bytes > answers.len)
		bytes = answers.len;
	memcpy(&v, answers.p, bytes);
	answers.p += bytes;
	answers.len -= bytes;
	return v;
}

static void take_path(struct hsunwind_image_info *arg)
{
	char *path = (char *)(unsigned long)arg->path;
	u32 i, len = (u32)take(1);

	if (len >= arg->path_len)
		len = arg->path_len - 1;
	for (i = 0; i < len; i++) {
		path[i] = (char)take(1);
		if (!path[i])
			break;
	}
	path[i] = 0;
	arg->path_len = i + 1;
}

static void take_stats(struct hsunwind_stats *arg)
{
	u64 *stops = (u64 *)(unsigned long)arg->stops;
	u64 *counters = (u64 *)(unsigned long)arg->counters;
	u32 i;

	for (i = 0; i < arg->nr_stops; i++)
		stops[i] = take(1) << (i % 57);
	for (i = 0; i < arg->nr_counters; i++)
		counters[i] = take(1) << (i % 57);
	arg->nr_stops = (u32)take(1);
	arg->nr_counters = (u32)take(1);
}

/* The module: an errno, unless it is 0 or there are no answers left, then data. */
static int answer(unsigned long cmd, void *arg)
{
	struct hsunwind_image_info *info = arg;
	struct hsunwind_process *process = arg;

	if (!answers.len) {
		errno = ENOENT;
		return -1;
	}
	errno = (int)take(1) % 134;
	if (errno)
		return -1;
	switch (cmd) {
	case HSUNWIND_IOC_IMAGE_NEXT:
		info->flags = (u32)take(4);
		info->id += take(1);
		info->nr_rows = (u32)take(4);
		info->bytes = take(8);
		info->dev = take(8);
		info->ino = take(8);
		info->nr_procs = (u32)take(4);
		take_path(info);
		break;
	case HSUNWIND_IOC_PROCESS_ADD:
	case HSUNWIND_IOC_PROCESS_NEXT:
		process->pid = (s32)((u32)process->pid + (u32)take(1));
		process->nr_maps = (u32)take(4);
		break;
	case HSUNWIND_IOC_STATS:
		take_stats(arg);
		break;
	}
	return 0;
}

int __wrap_ioctl(int fd, unsigned long cmd, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	return fd == DEVICE_FD ? answer(cmd, arg) : __real_ioctl(fd, cmd, arg);
}

static void clean_up(void)
{
	char path[sizeof(folder) + 8];

	snprintf(path, sizeof(path), "%s/prog", folder);
	unlink(path);
	rmdir(folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	const char *path = getenv("HSUNWIND_FUZZ_FILE");
	FILE *f = path ? __real_fopen(path, "rb") : NULL;
	struct stat st;

	(void)argc;
	(void)argv;
	check(f && !fstat(fileno(f), &st),
	      "HSUNWIND_FUZZ_FILE names a good file");
	good_len = (size_t)st.st_size;
	good = malloc(good_len);
	check(good && fread(good, 1, good_len, f) == good_len,
	      "it can be read");
	fclose(f);
	check(mkdtemp(folder), "there is a folder");
	atexit(clean_up);
	return 0;
}

static struct part next_part(struct part *rest)
{
	static const char end[] = "%%\n";
	struct part part = *rest;
	const u8 *p = memmem(rest->p, rest->len, end, sizeof(end) - 1);

	if (p) {
		part.len = (size_t)(p - rest->p);
		rest->p = p + sizeof(end) - 1;
		rest->len -= part.len + sizeof(end) - 1;
	} else {
		rest->p += rest->len;
		rest->len = 0;
	}
	return part;
}

static void write_program(void)
{
	bool elf = program.len == 3 && !memcmp(program.p, "ELF", 3);
	const u8 *p = elf ? good : program.p;
	size_t len = elf ? good_len : program.len;
	int fd = __real_open("prog", O_WRONLY | O_CREAT | O_TRUNC, 0700);

	check(fd >= 0 && write(fd, p, len) == (ssize_t)len,
	      "the program can be written");
	__real_close(fd);
}

/* The arguments as main() gets them, in @text. */
static int split(char *text, char **argv)
{
	char *line;
	int argc = 0;

	argv[argc++] = (char *)"hsunwind-register";
	while ((line = strsep(&text, "\n")) && argc < MAX_ARGS)
		if (*line)
			argv[argc++] = line;
	argv[argc] = NULL;
	return argc;
}

static bool given(char **argv, const char *what)
{
	for (; *argv; argv++)
		if (!strcmp(*argv, what))
			return true;
	return false;
}

static void run(struct part args)
{
	FILE *old_out = stdout, *old_err = stderr;
	char *text, *out = NULL, *err = NULL;
	size_t out_len = 0, err_len = 0;
	char *argv[MAX_ARGS + 1];
	bool json;
	int argc, ret;

	text = strndup((const char *)args.p, args.len);
	check(text, "there is memory");
	argc = split(text, argv);
	json = given(argv, "--json") && !given(argv, "--help") &&
	       !given(argv, "--version");
	stdout = open_memstream(&out, &out_len);
	stderr = open_memstream(&err, &err_len);
	optind = 0;
	ret = register_main(argc, argv);
	fclose(stdout);
	fclose(stderr);
	stdout = old_out;
	stderr = old_err;
	check(ret >= 0 && ret <= 2, "the exit status is a known one");
	check(!ret || err_len, "a failure is told");
	if (json && !ret && out_len)
		check(json_check(out, out_len), "JSON is valid");
	free(out);
	free(err);
	free(text);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t len)
{
	struct part rest = { data, len }, args;
	int cwd = __real_open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);

	args = next_part(&rest);
	listed = next_part(&rest);
	linker_fails = listed.len && *listed.p == 'x';
	maps = next_part(&rest);
	answers = next_part(&rest);
	program = rest;
	check(!chdir(folder), "the folder is there");
	write_program();
	run(args);
	check(!fchdir(cwd), "the folder before is there");
	__real_close(cwd);
	return 0;
}
