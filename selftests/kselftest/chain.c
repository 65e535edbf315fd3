// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "chain.h"

/*
 * Each function in a section of its own, so that the linker says where it is.
 * They use nothing but their arguments and each other, so that a copy of the
 * segment works anywhere. The second write keeps the call from being the last.
 */
#define LINK(name, body)						\
	static __attribute__((noinline, noclone, section("link_" #name)))\
	void name(volatile char *page)					\
	{								\
		body;							\
		page[1] = 1;						\
	}								\
	extern const char __start_link_##name[], __stop_link_##name[]

/* It needs its frame for this, so it makes it before. */
LINK(leaf, page[0] = (unsigned long)__builtin_frame_address(0));
LINK(f3, leaf(page));
LINK(f2, f3(page));
LINK(f1, f2(page));
extern const char __start_link_main[] __attribute__((weak));
extern const char __stop_link_main[] __attribute__((weak));

static const struct {
	const char *name, *start, *stop;
} parts[] = {
	{ "leaf", __start_link_leaf, __stop_link_leaf },
	{ "f3", __start_link_f3, __stop_link_f3 },
	{ "f2", __start_link_f2, __stop_link_f2 },
	{ "f1", __start_link_f1, __stop_link_f1 },
	{ "main", __start_link_main, __stop_link_main },
};

#define RING_PAGES 16

static int event_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_PAGE_FAULTS,
		.size = sizeof(attr),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_callchain_kernel = 1,
	};
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1,
			 PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		err(1, "perf_event_open");
	return fd;
}

/* Takes the sample of leaf out of the ring; returns false if there is none. */
static bool chain_read(struct chain *chain, const void *ring, long shift)
{
	const struct perf_event_mmap_page *meta = ring;
	const char *data = (const char *)ring + meta->data_offset;
	__u64 at = 0;

	chain->n = 0;
	while (at < meta->data_head) {
		const struct perf_event_header *h = (const void *)(data + at);
		const __u64 *sample = (const void *)(h + 1);
		__u64 ip = sample[0] - shift;
		__u64 nr = sample[1];

		at += h->size;
		if (h->type != PERF_RECORD_SAMPLE ||
		    ip < (unsigned long)__start_link_leaf ||
		    ip >= (unsigned long)__stop_link_leaf)
			continue;
		for (__u64 i = 0; i < nr && chain->n < CHAIN_MAX; i++)
			if (sample[2 + i] < PERF_CONTEXT_MAX)
				chain->ip[chain->n++] = sample[2 + i];
		return true;
	}
	return false;
}

void chain_sample_at(struct chain *chain, long shift)
{
	void (*run)(volatile char *page) =
		(void *)((unsigned long)f1 + shift);
	size_t len = (1 + RING_PAGES) * 4096;
	int fd = event_open();
	void *ring = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ring == MAP_FAILED || page == MAP_FAILED)
		err(1, "mmap");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	run(page);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (!chain_read(chain, ring, shift))
		errx(1, "the page fault was not sampled");
	munmap(page, 4096);
	munmap(ring, len);
	close(fd);
}

void chain_sample(struct chain *chain)
{
	chain_sample_at(chain, 0);
}

static const char *part_of(__u64 ip)
{
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (ip >= (unsigned long)parts[i].start &&
		    ip < (unsigned long)parts[i].stop)
			return parts[i].name;
	return NULL;
}

const char *chain_names(const struct chain *chain, long shift)
{
	static char names[256];
	const char *last = "";
	size_t len = 0;

	names[0] = 0;
	for (unsigned int i = 0; i < chain->n; i++) {
		const char *name = part_of(chain->ip[i] - shift);

		/* Between f1 and main there are helpers. */
		if (!name || !strcmp(name, last))
			continue;
		last = name;
		len += snprintf(names + len, sizeof(names) - len, "%s%s",
				len ? " " : "", name);
		if (len >= sizeof(names))
			errx(1, "a chain too long");
	}
	return names;
}

void chain_f2(__u32 *from, __u32 *to)
{
	*from = __start_link_f2 - __ehdr_start;
	*to = __stop_link_f2 - __ehdr_start;
}
