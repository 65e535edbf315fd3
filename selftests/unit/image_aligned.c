// SPDX-License-Identifier: GPL-2.0-only
/*
 * A function that aligns its stack: the distance from what it has saved to its
 * CFA is known only when it runs.
 */
#include <alloca.h>
#include <stdio.h>

long aligned(long a, long b, long c, long d, long e, long f, long g);
void use(volatile void *first, volatile void *second);

__attribute__((noinline)) void use(volatile void *first, volatile void *second)
{
	__asm__ volatile("" : : "r"(first), "r"(second) : "memory");
}

__attribute__((noinline)) long aligned(long a, long b, long c, long d, long e,
				       long f, long g)
{
	volatile long words[4] __attribute__((aligned(32)));

	use(words, alloca(a));
	return words[0] + b + c + d + e + f + g;
}

int main(int argc, char **argv)
{
	(void)argv;
	printf("%ld\n", aligned(argc, 2, 3, 4, 5, 6, 7));
	return 0;
}
