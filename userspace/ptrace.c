// SPDX-License-Identifier: GPL-2.0-only
#include "ptrace.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#define PAGE		4096u
#define SPIN_TRIES	100u	/* before pauses of 0.2 ms */
#define STOP_TRIES	2500u	/* about 0.5 s */
#define CACHE_PAGES	256u	/* direct-mapped; a deep stack has as many */

struct cached_page {
	__u64 addr;
	bool valid;
	unsigned char data[PAGE];
};

struct hsu_memory {
	pid_t pid;
	struct cached_page page[CACHE_PAGES];
};

static bool have_thread(const struct hsu_stopped *s, pid_t tid)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		if (s->threads[i].tid == tid)
			return true;
	return false;
}

/* State letter of a process or thread, see proc(5); 0 if there is none. */
static char task_state(const char *path)
{
	const char *paren = NULL;
	char line[512];
	FILE *f;

	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fgets(line, sizeof(line), f))
		paren = strrchr(line, ')');
	fclose(f);
	return paren && paren[1] ? paren[2] : 0;
}

/* Also one that nobody has waited for yet. */
static bool thread_has_ended(pid_t pid, pid_t tid)
{
	char path[80], state;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", pid, tid);
	state = task_state(path);
	return !state || state == 'Z' || state == 'X';
}

/*
 * The parent in a vfork() does not stop before its child has executed or ended.
 * It is left alone then.
 */
static int wait_for_stop(pid_t tid, int *status)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	unsigned int tries;
	pid_t got;

	for (tries = 0; tries < STOP_TRIES; tries++) {
		got = waitpid(tid, status, __WALL | WNOHANG);
		if (got == tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -ESRCH;
		if (tries > SPIN_TRIES)
			nanosleep(&pause, NULL);
	}
	return -ETIMEDOUT;
}

/* A thread that ends meanwhile is no error: it has no stack any more. */
static int stop_thread(struct hsu_stopped *s, pid_t tid)
{
	struct hsu_thread *grown, *t;
	int status, ret;

	grown = realloc(s->threads, (s->nr + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	s->threads = grown;
	t = &grown[s->nr];
	memset(t, 0, sizeof(*t));
	t->tid = tid;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		ret = -errno;
		return thread_has_ended(s->pid, tid) ? -ESRCH : ret;
	}
	if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL))
		return -ESRCH;
	ret = wait_for_stop(tid, &status);
	if (ret)
		return ret;
	/*
	 * Not the stop that was asked for but the delivery of a signal: the
	 * thread must get the signal when it goes on.
	 */
	if (status >> 16 != PTRACE_EVENT_STOP)
		t->signal = WSTOPSIG(status);
	if (ptrace(PTRACE_GETREGS, tid, NULL, &t->regs)) {
		ptrace(PTRACE_DETACH, tid, NULL, (void *)(long)t->signal);
		return -ESRCH;
	}
	s->nr++;
	return 0;
}

static int stop_new_threads(struct hsu_stopped *s, DIR *dir, bool *any)
{
	struct dirent *e;
	int ret;

	*any = false;
	rewinddir(dir);
	while ((e = readdir(dir))) {
		pid_t tid = atoi(e->d_name);

		if (!isdigit((unsigned char)e->d_name[0]) ||
		    have_thread(s, tid))
			continue;
		ret = stop_thread(s, tid);
		if (ret == -ESRCH)
			continue;
		if (ret)
			return ret;
		*any = true;
	}
	return 0;
}

static void explain(struct hsu_error *err, pid_t pid, int ret)
{
	switch (-ret) {
	case ESRCH:
	case ENOENT:
		hsu_fail(err, "process %d does not exist or has ended", pid);
		break;
	case EPERM:
	case EACCES:
		hsu_fail(err,
			 "may not trace process %d: run as its user or as root, and see kernel.yama.ptrace_scope; a process can have only one tracer",
			 pid);
		break;
	case ETIMEDOUT:
		hsu_fail(err,
			 "process %d does not stop: it waits for a child in vfork(), or in the kernel; try again later",
			 pid);
		break;
	default:
		hsu_fail(err, "cannot stop process %d: %s", pid,
			 strerror(-ret));
	}
}

int hsu_stop_process(pid_t pid, struct hsu_stopped *s, struct hsu_error *err)
{
	char path[64];
	bool any = true;
	int ret = 0;
	DIR *dir;

	memset(s, 0, sizeof(*s));
	s->pid = pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	if (!dir) {
		ret = errno == ENOENT ? -ESRCH : -errno;
		explain(err, pid, ret);
		return ret;
	}
	/* Until a pass finds no thread that was not there before. */
	while (any && !ret)
		ret = stop_new_threads(s, dir, &any);
	closedir(dir);
	if ((!ret && !s->nr) || (ret == -EPERM && thread_has_ended(pid, pid)))
		ret = -ESRCH;
	if (ret) {
		hsu_resume_process(s);
		explain(err, pid, ret);
	}
	return ret;
}

void hsu_resume_process(struct hsu_stopped *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++)
		ptrace(PTRACE_DETACH, s->threads[i].tid, NULL,
		       (void *)(long)s->threads[i].signal);
	free(s->threads);
	s->threads = NULL;
	s->nr = 0;
}

void hsu_dwarf_regs(const struct user_regs_struct *r, __u64 *regs)
{
	const __u64 values[] = {
		r->rax, r->rdx, r->rcx, r->rbx, r->rsi, r->rdi, r->rbp, r->rsp,
		r->r8, r->r9, r->r10, r->r11, r->r12, r->r13, r->r14, r->r15,
	};

	memcpy(regs, values, sizeof(values));
}

struct hsu_memory *hsu_memory_create(pid_t pid)
{
	struct hsu_memory *mem = calloc(1, sizeof(*mem));

	if (mem)
		mem->pid = pid;
	return mem;
}

void hsu_memory_destroy(struct hsu_memory *mem)
{
	free(mem);
}

void hsu_memory_forget(struct hsu_memory *mem)
{
	size_t i;

	for (i = 0; i < CACHE_PAGES; i++)
		mem->page[i].valid = false;
}

static const unsigned char *get_page(struct hsu_memory *mem, __u64 addr)
{
	struct cached_page *p = &mem->page[addr / PAGE % CACHE_PAGES];
	struct iovec local = { p->data, PAGE };
	struct iovec remote = { (void *)(unsigned long)addr, PAGE };

	if (p->valid && p->addr == addr)
		return p->data;
	p->valid = process_vm_readv(mem->pid, &local, 1, &remote, 1, 0) == PAGE;
	p->addr = addr;
	return p->valid ? p->data : NULL;
}

bool hsu_memory_read(void *ctx, __u64 addr, void *dst, __u32 len)
{
	unsigned char *out = dst;

	while (len) {
		__u64 offset = addr % PAGE;
		__u32 part = PAGE - offset < len ? PAGE - offset : len;
		const unsigned char *page = get_page(ctx, addr - offset);

		if (!page)
			return false;
		memcpy(out, page + offset, part);
		out += part;
		addr += part;
		len -= part;
	}
	return true;
}
