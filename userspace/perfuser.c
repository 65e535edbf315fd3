// SPDX-License-Identifier: GPL-2.0-only
/*
 * For whom perf is to show names, and where his perf looks for them:
 * "buildid.dir" of his configuration, or else ~/.debug. Under sudo it is the
 * user who has called it: he will call perf report.
 */
#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "perfuser.h"

static struct passwd *sudo_user(void)
{
	const char *uid = getenv("SUDO_UID");
	char *end;
	unsigned long v;

	if (geteuid() || !uid || *uid < '0' || *uid > '9')
		return NULL;
	errno = 0;
	v = strtoul(uid, &end, 10);
	if (errno || *end || v >= (uid_t)-1)
		return NULL;
	return getpwuid((uid_t)v);
}

/* A line "dir = /some/where" of section [buildid]; comments begin with # or ;. */
static void read_line(char *line, bool *section, char *dir, size_t cap)
{
	char *p = line + strspn(line, " \t"), *end, *value;

	p[strcspn(p, "\r\n")] = 0;
	if (*p == '[') {
		end = strchr(p, ']');
		*section = end && end - p == 8 && !strncasecmp(p + 1, "buildid", 7);
		return;
	}
	value = strchr(p, '=');
	if (!*section || *p == '#' || *p == ';' || !value)
		return;
	for (end = value; end > p && isspace((unsigned char)end[-1]); end--)
		;
	if (end - p != 3 || strncasecmp(p, "dir", 3))
		return;
	value += 1 + strspn(value + 1, " \t");
	if (*value == '"') {
		value++;
		value[strcspn(value, "\"")] = 0;
	} else {
		value[strcspn(value, "#;")] = 0;
		for (end = value + strlen(value);
		     end > value && isspace((unsigned char)end[-1]); end--)
			end[-1] = 0;
	}
	snprintf(dir, cap, "%s", value);
}

/* The last one to say something wins, as with perf. */
static void read_config(const char *path, char *dir, size_t cap)
{
	FILE *f = fopen(path, "re");
	bool section = false;
	struct stat st;
	char *line = NULL;
	size_t len = 0;

	if (!f)
		return;
	if (!fstat(fileno(f), &st) && S_ISREG(st.st_mode) &&
	    st.st_size < 1 << 20)
		while (getline(&line, &len, f) > 0)
			read_line(line, &section, dir, cap);
	free(line);
	fclose(f);
}

static int find_cache(struct hsu_perfuser *user, const char *home,
		      struct hsu_error *err)
{
	char path[4096], dir[sizeof(user->cache)] = "";
	const char *config = getenv("PERF_CONFIG");

	if (hsu_perfuser_enter(user, err))
		return -1;
	if (config) {
		read_config(config, dir, sizeof(dir));
	} else {
		read_config("/etc/perfconfig", dir, sizeof(dir));
		if (snprintf(path, sizeof(path), "%s/.perfconfig", home) <
		    (int)sizeof(path))
			read_config(path, dir, sizeof(dir));
	}
	hsu_perfuser_leave(user);
	if (*dir && *dir != '/')
		return hsu_fail(err,
				"buildid.dir of perf's configuration (%s) is no absolute path: perf would take it from wherever it runs",
				dir);
	if (*dir)
		snprintf(user->cache, sizeof(user->cache), "%s", dir);
	else if (snprintf(user->cache, sizeof(user->cache), "%s/.debug", home) >=
		 (int)sizeof(user->cache))
		return hsu_fail(err, "the home of %s has too long a name",
				user->name);
	return 0;
}

int hsu_perfuser_find(struct hsu_perfuser *user, struct hsu_error *err)
{
	struct passwd *pw = sudo_user();
	const char *home = pw ? pw->pw_dir : getenv("HOME");
	struct stat st;

	/* su and others may leave the user's. */
	if (!pw && !geteuid() && home && !stat(home, &st) && st.st_uid)
		pw = getpwuid(st.st_uid);
	if (!pw) {
		pw = getpwuid(geteuid());
		if (!home && pw)
			home = pw->pw_dir;
	}
	if (!home || *home != '/')
		return hsu_fail(err,
				"there is no home folder to keep symbols for perf in: set HOME");
	user->uid = pw ? pw->pw_uid : geteuid();
	user->gid = pw ? pw->pw_gid : getegid();
	snprintf(user->name, sizeof(user->name), "%s", pw ? pw->pw_name : "?");
	return find_cache(user, home, err);
}

int hsu_perfuser_enter(const struct hsu_perfuser *user, struct hsu_error *err)
{
	if (geteuid() || !user->uid)
		return 0;
	if (!initgroups(user->name, user->gid) && !setegid(user->gid) &&
	    !seteuid(user->uid))
		return 0;
	hsu_fail(err, "cannot act as user %s: %m", user->name);
	hsu_perfuser_leave(user);
	return -1;
}

void hsu_perfuser_leave(const struct hsu_perfuser *user)
{
	if (getuid() || !user->uid)
		return;
	/* Root has been left with seteuid() only, and may come back. */
	if (seteuid(0) || setegid(0) || setgroups(0, NULL))
		abort();
}
