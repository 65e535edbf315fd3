// SPDX-License-Identifier: GPL-2.0-only
/*
 * Separate files with debugging information.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "debugfile.h"
#include "elf_priv.h"

#define DEBUG_ROOT	"/usr/lib/debug"

static bool try_open(struct hsu_debugfile *d, const u8 *id, size_t id_len)
{
	u8 other[32];

	d->fd = open(d->path, O_RDONLY | O_CLOEXEC);
	if (d->fd < 0)
		return false;
	d->elf = hsu_elf_open_flags(d->fd, NULL, 0, d->path, true, NULL);
	if (d->elf && hsu_elf_build_id(d->elf, other, sizeof(other)) == id_len &&
	    !memcmp(id, other, id_len))
		return true;
	hsu_debugfile_close(d);
	return false;
}

void hsu_debugfile_open(struct hsu_elf *elf, struct hsu_debugfile *d)
{
	const char *name = hsu_elf_name(elf), *slash = strrchr(name, '/');
	static const char *const forms[] = {
		"%.*s/%s", "%.*s/.debug/%s", DEBUG_ROOT "%.*s/%s",
	};
	char hex[2 * 32 + 1];
	const char *link;
	size_t len, i;
	u8 id[32];
	int n;

	memset(d, 0, sizeof(*d));
	d->fd = -1;
	len = hsu_elf_build_id(elf, id, sizeof(id));
	if (len < 2)
		return;
	hsu_build_id_text(id, len, hex);
	n = snprintf(d->path, sizeof(d->path),
		     DEBUG_ROOT "/.build-id/%.2s/%s.debug", hex, hex + 2);
	if (n < (int)sizeof(d->path) && try_open(d, id, len))
		return;
	link = hsu_elf_debuglink(elf);
	if (!link || !slash)
		return;
	for (i = 0; i < ARRAY_SIZE(forms); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		n = snprintf(d->path, sizeof(d->path), forms[i],
			     (int)(slash - name), name, link);
#pragma GCC diagnostic pop
		if (n < (int)sizeof(d->path) && try_open(d, id, len))
			return;
	}
}

void hsu_debugfile_close(struct hsu_debugfile *d)
{
	hsu_elf_close(d->elf);
	if (d->fd >= 0)
		close(d->fd);
	memset(d, 0, sizeof(*d));
	d->fd = -1;
}
