// SPDX-License-Identifier: GPL-2.0-only
/*
 * The one helper that writes error messages.
 */
#include <stdarg.h>
#include <stdio.h>

#include "error.h"

int hsu_fail(struct hsu_error *err, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return -1;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	return -1;
}
