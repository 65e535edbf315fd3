// SPDX-License-Identifier: GPL-2.0-only
/*
 * The encoding is the one of GHC.Utils.Encoding: letters and digits stand for
 * themselves, all else is written with z and Z.
 */
#include <stdio.h>
#include <string.h>

#include "hsu_env.h"
#include "zdecode.h"

struct text {
	char *p;
	size_t len;
	size_t cap;
	bool bad;
};

static void put(struct text *t, char c)
{
	if (t->len + 1 >= t->cap)
		t->bad = true;
	else
		t->p[t->len++] = c;
}

/* By letter behind 'z' and behind 'Z'; 0: it has no meaning. */
static const char lower[26] = {
	['a' - 'a'] = '&', ['b' - 'a'] = '|', ['c' - 'a'] = '^',
	['d' - 'a'] = '$', ['e' - 'a'] = '=', ['g' - 'a'] = '>',
	['h' - 'a'] = '#', ['i' - 'a'] = '.', ['l' - 'a'] = '<',
	['m' - 'a'] = '-', ['n' - 'a'] = '!', ['p' - 'a'] = '+',
	['q' - 'a'] = '\'', ['r' - 'a'] = '\\', ['s' - 'a'] = '/',
	['t' - 'a'] = '*', ['u' - 'a'] = '_', ['v' - 'a'] = '%',
	['z' - 'a'] = 'z',
};

static const char upper[26] = {
	['L' - 'A'] = '(', ['R' - 'A'] = ')', ['M' - 'A'] = '[',
	['N' - 'A'] = ']', ['C' - 'A'] = ':', ['Z' - 'A'] = 'Z',
};

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static void put_utf8(struct text *t, unsigned int c)
{
	if (c < 0x80) {
		put(t, (char)c);
		return;
	}
	if (c < 0x800) {
		put(t, (char)(0xc0 | c >> 6));
	} else {
		if (c < 0x10000) {
			put(t, (char)(0xe0 | c >> 12));
		} else {
			put(t, (char)(0xf0 | c >> 18));
			put(t, (char)(0x80 | (c >> 12 & 0x3f)));
		}
		put(t, (char)(0x80 | (c >> 6 & 0x3f)));
	}
	put(t, (char)(0x80 | (c & 0x3f)));
}

/* "z3bbU", with a 0 in front if it would begin with a letter; at the "3". */
static const char *unicode(struct text *t, const char *p, const char *end)
{
	unsigned int c = 0;

	for (; p < end && hex(*p) >= 0; p++) {
		c = c * 16 + (unsigned int)hex(*p);
		if (c > 0x10ffff)
			return NULL;
	}
	/* A control character would damage what the name is printed on. */
	if (p == end || *p != 'U' || c < 0x20 || (c >= 0x7f && c < 0xa0) ||
	    (c >= 0xd800 && c < 0xe000))
		return NULL;
	put_utf8(t, c);
	return p + 1;
}

/* "Z2T" is (,) and "Z2H" is (#,#); at the "2". */
static const char *tuple(struct text *t, const char *p, const char *end)
{
	unsigned int n = 0, i;

	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		n = n * 10 + (unsigned int)(*p - '0');
		if (n > 1000)
			return NULL;
	}
	if (p == end || (*p != 'T' && *p != 'H') || (n == 1 && *p == 'T'))
		return NULL;
	put(t, '(');
	if (*p == 'H')
		put(t, '#');
	if (n == 1)
		put(t, ' ');
	for (i = 1; i < n; i++)
		put(t, ',');
	if (*p == 'H')
		put(t, '#');
	put(t, ')');
	return p + 1;
}

/* One escape; @p is behind the z or Z. Returns NULL if it is malformed. */
static const char *escape(struct text *t, bool big, const char *p,
			  const char *end)
{
	char c = 0;

	if (p == end)
		return NULL;
	if (*p >= '0' && *p <= '9')
		return big ? tuple(t, p, end) : unicode(t, p, end);
	if (big && *p >= 'A' && *p <= 'Z')
		c = upper[*p - 'A'];
	if (!big && *p >= 'a' && *p <= 'z')
		c = lower[*p - 'a'];
	if (!c)
		return NULL;
	put(t, c);
	return p + 1;
}

size_t hsu_zdecode(const char *text, size_t len, char *out, size_t cap)
{
	const char *p = text, *end = text + len;
	struct text t = { .p = out, .cap = cap };

	if (!cap)
		return 0;
	while (p && p < end && !t.bad) {
		char c = *p++;

		if (c == 'z' || c == 'Z')
			p = escape(&t, c == 'Z', p, end);
		else
			put(&t, c);
	}
	if (!p || t.bad)
		t.len = 0;
	out[t.len] = 0;
	return t.len;
}

/* What GHC puts behind the name of something that has code. */
static const struct suffix {
	const char *text;
	bool constructor;
} suffixes[] = {
	{ "_con_info", true }, { "_con_entry", true }, { "_static_info", true },
	{ "_info", false }, { "_entry", false }, { "_slow", false },
	{ "_ret", false }, { "_fast", false }, { "_closure", false },
	{ "_bytes", false }, { "_closure_tbl", false },
};

static bool is_capital(char c)
{
	return (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

/* "Data.Map"; the main module of a program calls itself ":Main". */
static bool is_module(const char *name)
{
	const char *p = name + (*name == ':');
	char last = '.';

	for (; *p; last = *p++)
		if (last == '.' ? !is_capital(*p)
		    : (*p == '-' || *p == '+' || *p == '$' || *p == ':'))
			return false;
	return last != '.';
}

static bool is_constructor(const char *name)
{
	return is_capital(*name) || *name == ':' || *name == '(' ||
	       *name == '[' || *name == '$';	/* $c...: of a data family */
}

/* The first @len bytes of a symbol: package_Module_name or Module_name. */
static size_t split(const char *symbol, size_t len, char *out, size_t cap,
		    bool constructor)
{
	const char *first = memchr(symbol, '_', len);
	const char *last = memrchr(symbol, '_', len);
	size_t module, n;

	if (!first)
		return 0;
	if (first != last &&
	    memchr(first + 1, '_', (size_t)(last - first - 1)))
		return 0;
	first = first == last ? symbol : first + 1;
	module = hsu_zdecode(first, (size_t)(last - first), out, cap);
	if (!module || !is_module(out) || module + 1 >= cap)
		return 0;
	out[module] = '.';
	last++;
	n = hsu_zdecode(last, (size_t)(symbol + len - last), out + module + 1,
			cap - module - 1);
	if (!n || (constructor && !is_constructor(out + module + 1)))
		return 0;
	return module;
}

/*
 * A label in Cmm is what its author has written. Only the '#' of a primitive
 * operation cannot be, so that the names of those alone are z-encoded.
 */
static bool cmm_name(const char *symbol, size_t len, char *out, size_t cap)
{
	return ((len > 2 && !strncmp(symbol + len - 2, "zh", 2)) ||
		memmem(symbol, len, "zh_", 3)) &&
	       hsu_zdecode(symbol, len, out, cap);
}

size_t hsu_name_of_symbol(const char *symbol, char *out, size_t cap)
{
	size_t len = strlen(symbol), i, n, module;

	for (i = 0; i < ARRAY_SIZE(suffixes); i++) {
		n = strlen(suffixes[i].text);
		if (len <= n || strcmp(symbol + len - n, suffixes[i].text))
			continue;
		module = split(symbol, len - n, out, cap,
			       suffixes[i].constructor);
		if (module)
			return module;
	}
	if (len > 5 && !strcmp(symbol + len - 5, "_info"))
		len -= 5;
	if (!cmm_name(symbol, len, out, cap))
		snprintf(out, cap, "%s", symbol);
	return 0;
}

/* "main$Main$Main_callback", as moduleStableString and the CLabel printer say. */
static bool wrapper_name(const char *text, char *out, size_t cap)
{
	const char *module = strchr(text, '$'), *name;
	char inner[HSU_MAX_NAME];

	name = module ? strchr(module + 1, '$') : NULL;
	if (!name)
		return false;
	/* The name is z-encoded itself, with its module. */
	snprintf(inner, sizeof(inner), "%s_info", name + 1);
	if (!hsu_name_of_symbol(inner, out, cap))
		return false;
	snprintf(out + strlen(out), cap - strlen(out), " (wrapper)");
	return true;
}

/* "0:main:Main:sin": number, package, module, function of C. */
static bool capi_name(const char *text, char *out, size_t cap)
{
	const char *package = strchr(text, ':'), *module, *name;

	module = package ? strchr(package + 1, ':') : NULL;
	name = module ? strchr(module + 1, ':') : NULL;
	if (!name)
		return false;
	snprintf(out, cap, "%.*s.%s (capi)", (int)(name - module - 1),
		 module + 1, name + 1);
	return true;
}

bool hsu_name_of_stub(const char *symbol, char *out, size_t cap)
{
	static const char capi[] = "ghc_wrapper:";
	char text[HSU_MAX_NAME];

	if (strncmp(symbol, "zd", 2) && strncmp(symbol, "ghczuwrapperZC", 14))
		return false;
	if (!hsu_zdecode(symbol, strlen(symbol), text, sizeof(text)))
		return false;
	if (*text == '$')
		return wrapper_name(text + 1, out, cap);
	return !strncmp(text, capi, strlen(capi)) &&
	       capi_name(text + strlen(capi), out, cap);
}

void hsu_name_of_rts(const char *symbol, char *out, size_t cap)
{
	size_t len = strlen(symbol);
	char text[HSU_MAX_NAME];

	if (len > 5 && !strcmp(symbol + len - 5, "_info"))
		len -= 5;
	if (cmm_name(symbol, len, text, sizeof(text)))
		snprintf(out, cap, HSU_RTS_NAME " %s", text);
	else
		snprintf(out, cap, HSU_RTS_NAME " %.*s", (int)len, symbol);
}
