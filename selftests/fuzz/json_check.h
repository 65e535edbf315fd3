/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef JSON_CHECK_H
#define JSON_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/**
 * json_check() - is this one value of RFC 8259?
 * @text: the text, followed by a zero.
 * @len: its length.
 *
 * Does not look at the encoding: strings are bytes.
 */
bool json_check(const char *text, size_t len);

#endif /* JSON_CHECK_H */
