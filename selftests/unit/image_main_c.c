// SPDX-License-Identifier: GPL-2.0-only
/* The C half of image_main.hs. */

int call_back(int (*fn)(int), int x);
int burn(int x);

int call_back(int (*fn)(int), int x)
{
	return fn(x) + 1;
}

__attribute__((noinline)) int burn(int x)
{
	volatile int sum = 0;
	int i;

	for (i = 0; i < 1000 * x; i++)
		sum += i;
	return sum;
}
