// SPDX-License-Identifier: GPL-2.0-only
/*
 * Usage: unchanged [register FILE]
 *
 * Prints the chains of 100 samples of itself, which are the same in every run:
 * ./run compares them bit for bit with and without the module.
 *
 * With "register", registers FILE as a program instead.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "chain.h"
#include "device.h"

static int register_program(const char *file)
{
	struct test_image image;
	int dev = open(DEVICE, O_RDWR);
	__u32 from, to;
	int ret;

	if (dev < 0)
		err(1, DEVICE);
	chain_f2(&from, &to);
	test_image_init(&image, file, from, to);
	ret = image_add(dev, file, HSUNWIND_ADD_PROGRAM, &image, NULL);
	if (ret)
		errx(1, "%s: error %d", file, ret);
	return 0;
}

CHAIN_MAIN int main(int argc, char **argv)
{
	struct chain chain;

	if (argc == 3 && !strcmp(argv[1], "register"))
		return register_program(argv[2]);
	/* Addresses must be the same in the next run. */
	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) {
		personality(ADDR_NO_RANDOMIZE);
		execv("/proc/self/exe", argv);
		err(1, "execv");
	}
	for (int i = 0; i < 100; i++) {
		chain_sample(&chain);
		for (unsigned int k = 0; k < chain.n; k++)
			printf("%llx ", chain.ip[k]);
		printf("# %s\n", chain_names(&chain, 0));
	}
	return 0;
}
