// SPDX-License-Identifier: GPL-2.0-only
/*
 * hsunwind-register --list and --status.
 */
#include <stdio.h>

#include "device.h"
#include "json.h"
#include "show.h"

const char *hsu_show_bytes(u64 bytes, char *buf)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double v = (double)bytes;
	size_t i = 0;

	while (v >= 1024 && i + 1 < ARRAY_SIZE(units)) {
		v /= 1024;
		i++;
	}
	snprintf(buf, 16, i ? "%.1f %s" : "%.0f %s", v, units[i]);
	return buf;
}

static const char *kind_name(u32 flags)
{
	if (flags & HSUNWIND_ADD_PROGRAM)
		return "program";
	if (flags & HSUNWIND_ADD_VDSO)
		return "vdso";
	return "library";
}

/* The options of registration. */
static const struct {
	u32 flag;
	const char *option;
} show_options[] = {
	{ HSUNWIND_SHOW_INTERNAL, "--show-internal" },
	{ HSUNWIND_SHOW_RTS, "--show-rts" },
	{ HSUNWIND_GC_SHOW, "--gc=show" },
	{ HSUNWIND_GC_DROP, "--gc=drop" },
	{ HSUNWIND_FOLD_RECURSION, "--fold-recursion" },
	{ HSUNWIND_ADD_OWN, "--own" },
};

static void each_option(u32 flags, void (*fn)(const char *option))
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(show_options); i++)
		if (flags & show_options[i].flag)
			fn(show_options[i].option);
}

static void print_option(const char *option)
{
	printf("  %s", option);
}

static void json_option(const char *option)
{
	hsu_json_string(NULL, option);
}

static void show_entry(const struct hsu_image_entry *e,
		       const struct hsu_show *how)
{
	char buf[16];

	if (!how->json) {
		printf("%5llu  %-7s  %8u  %9s  %5u  %s",
		       (unsigned long long)e->info.id, kind_name(e->info.flags),
		       e->info.nr_rows, hsu_show_bytes(e->info.bytes, buf),
		       e->info.nr_procs, e->path);
		each_option(e->info.flags, print_option);
		if (e->info.flags & HSUNWIND_ADD_OWN)
			printf(" (user %u)", e->info.uid);
		putchar('\n');
		return;
	}
	hsu_json_open(NULL, '{');
	hsu_json_number("id", e->info.id);
	hsu_json_string("kind", kind_name(e->info.flags));
	hsu_json_number("rows", e->info.nr_rows);
	hsu_json_number("bytes", e->info.bytes);
	hsu_json_number("processes", e->info.nr_procs);
	hsu_json_number("dev", e->info.dev);
	hsu_json_number("ino", e->info.ino);
	hsu_json_string("path", e->path);
	if (e->info.flags & HSUNWIND_ADD_OWN)
		hsu_json_number("uid", e->info.uid);
	hsu_json_open("options", '[');
	each_option(e->info.flags, json_option);
	hsu_json_close(']');
	hsu_json_close('}');
}

static int list_images(int dev, const struct hsu_show *how,
		       struct hsu_error *err)
{
	struct hsu_image_entry e;
	u64 id = 0;
	int ret;

	while ((ret = hsu_device_image_next(dev, id, &e, err)) > 0) {
		if (!id && !how->json)
			printf("   ID  KIND         ROWS       SIZE  PROCS  FILE\n");
		show_entry(&e, how);
		id = e.info.id + 1;
	}
	if (!ret && !id && !how->json)
		printf("no files are registered\n");
	return ret;
}

static int list_processes(int dev, const struct hsu_show *how,
			  struct hsu_error *err)
{
	struct hsunwind_process p;
	int pid = 1, ret;

	while ((ret = hsu_device_process_next(dev, pid, &p, err)) > 0) {
		if (how->json) {
			hsu_json_open(NULL, '{');
			hsu_json_signed("pid", p.pid);
			hsu_json_number("mappings", p.nr_maps);
			hsu_json_close('}');
		} else {
			if (pid == 1)
				printf("\n    PID  MAPPINGS\n");
			printf("%7d  %8u\n", p.pid, p.nr_maps);
		}
		if (p.pid == __INT_MAX__)
			return 0;
		pid = p.pid + 1;
	}
	return ret;
}

int hsu_show_list(int dev, const struct hsu_show *how, struct hsu_error *err)
{
	int ret;

	if (!how->json) {
		ret = list_images(dev, how, err);
		return ret ? ret : list_processes(dev, how, err);
	}
	hsu_json_open(NULL, '{');
	hsu_json_open("files", '[');
	ret = list_images(dev, how, err);
	hsu_json_close(']');
	hsu_json_open("processes", '[');
	if (!ret)
		ret = list_processes(dev, how, err);
	hsu_json_close(']');
	hsu_json_close('}');
	return ret;
}

struct named {
	const char *name;
	const char *text;
};

#define NAMED(nr, sym, name, text)	[nr] = { name, text },
static const struct named stop_names[] = { HSUNWIND_STOP_REASONS(NAMED) };
static const struct named counter_names[] = { HSUNWIND_COUNTERS(NAMED) };
#undef NAMED

static void status_json(const u64 *stops, const u64 *counters)
{
	size_t i;

	hsu_json_open(NULL, '{');
	hsu_json_open("counters", '{');
	for (i = 0; i < ARRAY_SIZE(counter_names); i++)
		hsu_json_number(counter_names[i].name, counters[i]);
	hsu_json_close('}');
	hsu_json_open("stops", '{');
	for (i = 0; i < ARRAY_SIZE(stop_names); i++)
		hsu_json_number(stop_names[i].name, stops[i]);
	hsu_json_close('}');
	hsu_json_close('}');
}

static void status_text(const u64 *stops, const u64 *counters, bool all)
{
	u64 sum = 0;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(counter_names); i++)
		if (all || counters[i] || i == HSUNWIND_COUNT_SAMPLES)
			printf("%-12s %14llu            %s\n",
			       counter_names[i].name,
			       (unsigned long long)counters[i],
			       counter_names[i].text);
	for (i = 0; i < ARRAY_SIZE(stop_names); i++)
		sum += stops[i];
	if (!sum && !all)
		return;
	printf("\nwhy walks ended, and their share:\n");
	for (i = 0; i < ARRAY_SIZE(stop_names); i++)
		if (all || stops[i])
			printf("%-12s %14llu  %7.3f %%  %s\n", stop_names[i].name,
			       (unsigned long long)stops[i],
			       sum ? 100.0 * (double)stops[i] / (double)sum : 0,
			       stop_names[i].text);
}

int hsu_show_status(int dev, const struct hsu_show *how, struct hsu_error *err)
{
	u64 stops[HSUNWIND_STOP_NR], counters[HSUNWIND_COUNT_NR];

	if (hsu_device_stats(dev, stops, counters, err))
		return -1;
	if (how->json)
		status_json(stops, counters);
	else
		status_text(stops, counters, how->verbose);
	return 0;
}
