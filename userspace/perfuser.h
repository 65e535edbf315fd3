/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For whom perf is to show names, and where his perf looks for them.
 */
#ifndef HSU_PERFUSER_H
#define HSU_PERFUSER_H

#include <sys/types.h>

#include "error.h"

/**
 * struct hsu_perfuser - the user
 * @uid: his number; who has called sudo, not root.
 * @gid: his group.
 * @name: his name, for messages.
 * @cache: perf's cache of files by build-id; absolute path.
 */
struct hsu_perfuser {
	uid_t uid;
	gid_t gid;
	char name[64];
	char cache[4096];
};

/**
 * hsu_perfuser_find() - find out who it is
 * @user: filled in on success.
 * @err: filled in on failure.
 *
 * Return: 0, or -1 with @err set.
 */
int hsu_perfuser_find(struct hsu_perfuser *user, struct hsu_error *err);

/**
 * hsu_perfuser_enter() - become the user, as far as files are concerned
 * @user: the user.
 * @err: filled in on failure.
 *
 * His folders are his: as root we would follow any link that he plants.
 *
 * Return: 0, or -1 with @err set.
 */
int hsu_perfuser_enter(const struct hsu_perfuser *user, struct hsu_error *err);
/* Become who we were. */
void hsu_perfuser_leave(const struct hsu_perfuser *user);

#endif /* HSU_PERFUSER_H */
