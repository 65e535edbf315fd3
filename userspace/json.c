// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writing JSON to standard output.
 */
#include <stdio.h>

#include "json.h"

static bool first = true;
static int depth;

static void put_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

static void begin(const char *key)
{
	if (!first)
		putchar(',');
	if (depth)
		printf("\n%*s", 2 * depth, "");
	first = false;
	if (key) {
		put_string(key);
		printf(": ");
	}
}

void hsu_json_open(const char *key, char bracket)
{
	begin(key);
	putchar(bracket);
	depth++;
	first = true;
}

void hsu_json_close(char bracket)
{
	depth--;
	if (!first)
		printf("\n%*s", 2 * depth, "");
	first = false;
	putchar(bracket);
	if (!depth) {
		putchar('\n');
		first = true;
	}
}

void hsu_json_string(const char *key, const char *value)
{
	begin(key);
	put_string(value);
}

void hsu_json_number(const char *key, u64 value)
{
	begin(key);
	printf("%llu", (unsigned long long)value);
}

void hsu_json_signed(const char *key, s64 value)
{
	begin(key);
	printf("%lld", (long long)value);
}

void hsu_json_bool(const char *key, bool value)
{
	begin(key);
	printf(value ? "true" : "false");
}
