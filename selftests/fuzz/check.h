/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CHECK_H
#define CHECK_H

#include <stdbool.h>

/**
 * check() - end the process if a condition does not hold
 * @ok: the condition.
 * @what: what should be so.
 *
 * The fuzzer takes that for a crash, and keeps the input.
 */
void check(bool ok, const char *what);

#endif /* CHECK_H */
