// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs that turn out to be scripts around the real program.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "script.h"

#define MAX_SCRIPT	(1u << 14)
#define MAX_VARS	32

struct var {
	char name[64];
	char value[1024];
};

struct shell {
	struct var vars[MAX_VARS];
	size_t nr;
};

static const char *lookup(const struct shell *sh, const char *name, size_t len)
{
	size_t i;

	for (i = sh->nr; i-- > 0;)
		if (strlen(sh->vars[i].name) == len &&
		    !memcmp(sh->vars[i].name, name, len))
			return sh->vars[i].value;
	return NULL;
}

static size_t name_len(const char *p)
{
	size_t n = 0;

	while (isalnum((unsigned char)p[n]) || p[n] == '_')
		n++;
	return n;
}

/* Expands one shell word; false if it is not as simple as we can follow. */
static bool expand(const struct shell *sh, const char *p, char *out, size_t cap)
{
	size_t n = 0, len;
	const char *value;
	char quote = 0;

	for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
		if (*p == quote) {
			quote = 0;
			continue;
		}
		if (!quote && (*p == '"' || *p == '\'')) {
			quote = *p;
			continue;
		}
		if (*p == '`' || *p == '\\' || (!quote && strchr(";&|()<>", *p)))
			return false;
		if (*p != '$' || quote == '\'') {
			if (n + 1 >= cap)
				return false;
			out[n++] = *p;
			continue;
		}
		p += p[1] == '{' ? 2 : 1;
		len = name_len(p);
		value = lookup(sh, p, len);
		if (!len || !value || n + strlen(value) >= cap)
			return false;
		memcpy(out + n, value, strlen(value));
		n += strlen(value);
		if (p[-1] == '{' && p[len] != '}')
			return false;
		p += p[-1] == '{' ? len : len - 1;
	}
	out[n] = 0;
	return n > 0 && !quote;
}

static void run_line(struct shell *sh, const char *line, char *target,
		     size_t cap)
{
	size_t len;
	struct var *v;

	while (isspace((unsigned char)*line))
		line++;
	if (!strncmp(line, "exec ", 5)) {
		line += 5;
		while (isspace((unsigned char)*line))
			line++;
		if (!expand(sh, line, target, cap) || target[0] != '/' ||
		    access(target, F_OK))
			target[0] = 0;
		return;
	}
	len = name_len(line);
	if (!len || line[len] != '=' || sh->nr == MAX_VARS ||
	    len >= sizeof(sh->vars[0].name))
		return;
	v = &sh->vars[sh->nr];
	memcpy(v->name, line, len);
	v->name[len] = 0;
	if (expand(sh, line + len + 1, v->value, sizeof(v->value)))
		sh->nr++;
}

bool hsu_script_read(int fd, struct hsu_script *script)
{
	static struct shell sh;
	char text[MAX_SCRIPT];
	char *line, *next;
	ssize_t n;
	size_t len;

	memset(script, 0, sizeof(*script));
	n = pread(fd, text, sizeof(text) - 1, 0);
	if (n < 3 || text[0] != '#' || text[1] != '!')
		return false;
	text[n] = 0;
	line = text + 2 + strspn(text + 2, " \t");
	len = strcspn(line, " \t\r\n");
	snprintf(script->interpreter, sizeof(script->interpreter), "%.*s",
		 (int)len, line);

	sh.nr = 0;
	for (line = text; line && !script->target[0]; line = next) {
		next = strchr(line, '\n');
		if (next)
			*next++ = 0;
		run_line(&sh, line, script->target, sizeof(script->target));
	}
	return true;
}
