// SPDX-License-Identifier: GPL-2.0-only
/*
 * A judge of JSON that shares nothing with its writer.
 */
#include <ctype.h>
#include <string.h>

#include "json_check.h"

#define MAX_DEPTH	32

static const char *value(const char *p, unsigned int depth);

static const char *space(const char *p)
{
	return p + strspn(p, " \t\r\n");
}

static const char *string(const char *p)
{
	if (*p++ != '"')
		return NULL;
	for (; *p != '"'; p++) {
		if ((unsigned char)*p < ' ')
			return NULL;
		if (*p != '\\')
			continue;
		p++;
		if (*p == 'u' && strspn(p + 1, "0123456789abcdefABCDEF") >= 4)
			p += 4;
		else if (!*p || !strchr("\"\\/bfnrt", *p))
			return NULL;
	}
	return p + 1;
}

static const char *number(const char *p)
{
	size_t n;

	p += *p == '-';
	n = strspn(p, "0123456789");
	if (!n || (*p == '0' && n > 1))
		return NULL;
	p += n;
	if (*p == '.') {
		n = strspn(p + 1, "0123456789");
		if (!n)
			return NULL;
		p += 1 + n;
	}
	return p;
}

/* An array, or an object, whose members have names. */
static const char *members(const char *p, bool named, unsigned int depth)
{
	char end = named ? '}' : ']';

	p = space(p + 1);
	if (*p == end)
		return p + 1;
	for (;;) {
		if (named) {
			p = string(space(p));
			if (!p)
				return NULL;
			p = space(p);
			if (*p++ != ':')
				return NULL;
		}
		p = value(space(p), depth + 1);
		if (!p)
			return NULL;
		p = space(p);
		if (*p == end)
			return p + 1;
		if (*p++ != ',')
			return NULL;
	}
}

static const char *value(const char *p, unsigned int depth)
{
	static const char *const words[] = { "true", "false", "null", NULL };
	size_t i;

	if (depth == MAX_DEPTH)
		return NULL;
	if (*p == '{' || *p == '[')
		return members(p, *p == '{', depth);
	if (*p == '"')
		return string(p);
	for (i = 0; words[i]; i++)
		if (!strncmp(p, words[i], strlen(words[i])))
			return p + strlen(words[i]);
	return number(p);
}

bool json_check(const char *text, size_t len)
{
	const char *p = value(space(text), 0);

	return p && space(p) == text + len;
}
