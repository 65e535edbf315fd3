// SPDX-License-Identifier: GPL-2.0-only
/* The C half of image_main.hs. */

/* What is found by this number may be put in its place. */
extern const volatile unsigned long image_number;
const volatile unsigned long image_number = 0x1122334455667788;

int call_back(int (*fn)(int), int x);
int burn(int x);

int call_back(int (*fn)(int), int x)
{
	return fn(x) + 1;
}

__attribute__((noinline)) int burn(int x)
{
	volatile int sum = (int)image_number;
	int i;

	for (i = 0; i < 1000 * x; i++)
		sum += i;
	return sum;
}
