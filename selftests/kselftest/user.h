/* SPDX-License-Identifier: GPL-2.0-only */
/* To be somebody else. */
#ifndef USER_H
#define USER_H

#include <sys/wait.h>
#include <unistd.h>

#include "device.h"

#define ALICE	1001
#define BOB	1002

/* For good. Exits if it cannot. */
void become(unsigned int id);

/* Runs a function as somebody else, and returns what it does, 0 to -255. */
#define AS(id, expr)							\
	({								\
		pid_t _pid = fork();					\
		int _status;						\
									\
		if (_pid == 0) {					\
			if (id)						\
				become(id);				\
			_exit(-(expr));					\
		}							\
		waitpid(_pid, &_status, 0);				\
		WIFEXITED(_status) ? -WEXITSTATUS(_status) : -255;	\
	})

/* Writes a file under /proc or /sys. Exits if it cannot. */
void write_file(const char *name, const char *text);

/* As image_add(), with the device opened by whoever calls it. */
int add(const char *exe, __u32 flags, const struct test_image *image,
	__u64 *id);

#endif /* USER_H */
