// SPDX-License-Identifier: GPL-2.0-only
/*
 * The libraries that a program will be linked with when it is started.
 *
 * Only the dynamic linker knows all its rules. It is asked by its own name:
 * "ldd" would run the program's interpreter, which anybody may have written.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libs.h"

#define LD_SO	"/lib64/ld-linux-x86-64.so.2"

/*
 * "	libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f...)"
 * "	/lib64/ld-linux-x86-64.so.2 (0x00007f...)"
 * "	linux-vdso.so.1 (0x00007ff...)"
 */
static void parse_line(char *line, void (*found)(void *ctx, const char *path),
		       void *ctx)
{
	char *path = line + strspn(line, " \t"), *arrow, *end;

	arrow = strstr(path, " => ");
	if (arrow)
		path = arrow + 4;
	end = strrchr(path, '(');
	if (*path != '/' || !end || end == path || end[-1] != ' ')
		return;
	end[-1] = 0;
	found(ctx, path);
}

/* "PATH: error while loading shared libraries: libfoo.so: cannot open ..." */
static bool parse_missing(const char *line, char *name, size_t cap)
{
	static const char what[] = "error while loading shared libraries: ";
	const char *p = strstr(line, what), *end;

	if (!p)
		return false;
	p += sizeof(what) - 1;
	end = strstr(p, ": cannot open shared object file");
	if (!end)
		return false;
	snprintf(name, cap, "%.*s", (int)(end - p), p);
	return true;
}

static int spawn(const char *path, pid_t *pid, int *fd, struct hsu_error *err)
{
	char *argv[4] = { LD_SO, "--list", (char *)path, NULL };
	char *env[3] = { "LC_ALL=C", NULL, NULL };
	const char *lib_path = getenv("LD_LIBRARY_PATH");
	posix_spawn_file_actions_t fa;
	int p[2], ret;

	/* Nothing else: LD_AUDIT and others would run code here. */
	if (lib_path && asprintf(&env[1], "LD_LIBRARY_PATH=%s", lib_path) < 0)
		return hsu_fail(err, "out of memory");
	if (pipe2(p, O_CLOEXEC)) {
		free(env[1]);
		return hsu_fail(err, "no pipe could be made: %m");
	}
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, p[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&fa, p[1], STDERR_FILENO);
	posix_spawn_file_actions_addopen(&fa, STDIN_FILENO, "/dev/null",
					 O_RDONLY, 0);
	ret = posix_spawn(pid, LD_SO, &fa, NULL, argv, env);
	free(env[1]);
	posix_spawn_file_actions_destroy(&fa);
	close(p[1]);
	if (ret) {
		close(p[0]);
		errno = ret;
		return hsu_fail(err, "%s cannot be run to list libraries: %m",
				LD_SO);
	}
	*fd = p[0];
	return 0;
}

int hsu_libs_list(const char *path, void (*found)(void *ctx, const char *path),
		  void *ctx, struct hsu_error *err)
{
	char *line = NULL, missing[256] = "";
	size_t cap = 0;
	int fd = -1, status;
	pid_t pid;
	FILE *f;

	if (spawn(path, &pid, &fd, err))
		return -1;
	f = fdopen(fd, "r");
	if (!f) {
		close(fd);
	} else {
		while (getline(&line, &cap, f) > 0)
			if (!parse_missing(line, missing, sizeof(missing)))
				parse_line(line, found, ctx);
		fclose(f);
		free(line);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return hsu_fail(err, "waiting for %s failed: %m", LD_SO);
	if (missing[0]) {
		hsu_fail(err,
			 "library %s of %s is not found: install it, or set LD_LIBRARY_PATH as the program will have it",
			 missing, path);
		return 1;
	}
	if (!f || !WIFEXITED(status) || WEXITSTATUS(status))
		return hsu_fail(err,
				"the libraries of %s could not be listed by %s: start it and register it with -p PID",
				path, LD_SO);
	return 0;
}
