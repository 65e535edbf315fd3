// SPDX-License-Identifier: GPL-2.0-only
/* The C library of the demo: sorts with a comparison that the caller gives. */
#include <stdlib.h>

typedef int (*compare_fn)(int, int);

static _Thread_local compare_fn compare;

static int compare_elements(const void *a, const void *b)
{
	return compare(*(const int *)a, *(const int *)b);
}

void sort_with(int *values, size_t nr, compare_fn fn);
int checksum(const int *values, size_t nr);

void sort_with(int *values, size_t nr, compare_fn fn)
{
	compare = fn;
	qsort(values, nr, sizeof(*values), compare_elements);
}

int checksum(const int *values, size_t nr)
{
	unsigned int sum = 0;
	size_t i;
	int round;

	for (round = 0; round < 2000; round++)
		for (i = 0; i < nr; i++)
			sum = sum * 31 + (unsigned int)values[i];
	return (int)sum;
}
