// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>

#include "check.h"

void check(bool ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "fuzz: not so: %s\n", what);
	abort();
}
