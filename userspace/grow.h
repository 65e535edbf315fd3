/* SPDX-License-Identifier: GPL-2.0-only */
/* Arrays that grow. */
#ifndef HSU_GROW_H
#define HSU_GROW_H

#include <stdlib.h>

/**
 * hsu_grow() - room for one element more at the end of an array
 * @array: from an earlier call, or NULL.
 * @nr: elements in use.
 * @cap: room, in elements; doubled if all of it is in use.
 * @size: bytes of an element.
 *
 * Return: the array, which may have moved; NULL if memory has run out: then the old
 * one and @cap are as they were.
 */
static inline void *hsu_grow(void *array, size_t nr, size_t *cap, size_t size)
{
	size_t more = *cap ? 2 * *cap : 256;

	if (nr < *cap)
		return array;
	array = reallocarray(array, more, size);
	if (array)
		*cap = more;
	return array;
}

#endif /* HSU_GROW_H */
