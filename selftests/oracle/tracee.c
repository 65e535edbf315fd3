// SPDX-License-Identifier: GPL-2.0-only
#include "tracee.h"

#include <dirent.h>
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE		4096u
#define NR_PAGES	4096u	/* cached, direct-mapped */
#define MAX_KEPT	256u	/* ranges of memory that never change */
#define MAX_HELD	16u	/* threads */
#define MAX_ALARMS	3	/* seconds that a thread may sleep */
#define KEPT_TICKS	64u	/* one of so many */
#define INT3		0xcc
#define RED_ZONE	128	/* bytes */

struct page {
	u64 addr;
	u64 step;		/* that it was read at, ~0: good for ever */
	unsigned char data[PAGE];
};

struct tracee_memory {
	struct page page[NR_PAGES];
	struct {
		u64 start, end;
	} kept[MAX_KEPT];
	unsigned int nr_kept;
	u64 step;
	unsigned int ticks;	/* seen */
	int fd;			/* of /proc/PID/mem */
	pid_t held[MAX_HELD];
	unsigned int nr_held;
};

static u64 auxv(pid_t pid, u64 type)
{
	Elf64_auxv_t aux;
	char path[64];
	u64 value = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/auxv", pid);
	f = fopen(path, "re");
	while (f && fread(&aux, sizeof(aux), 1, f) == 1)
		if (aux.a_type == type)
			value = aux.a_un.a_val;
	if (f)
		fclose(f);
	return value;
}

/* Works whether a thread is stopped or not. */
static unsigned char poke(struct tracee *t, u64 addr, unsigned char byte)
{
	unsigned char old;
	ssize_t n;

	/* The alarm may come at any moment. */
	do
		n = pread(t->memory->fd, &old, 1, (off_t)addr);
	while (n < 0 && errno == EINTR);
	while (n == 1) {
		n = pwrite(t->memory->fd, &byte, 1, (off_t)addr);
		if (n >= 0 || errno != EINTR)
			break;
		n = 1;
	}
	if (n != 1)
		err(1, "cannot set a breakpoint at %#llx", addr);
	t->memory->page[addr / PAGE % NR_PAGES].addr = 0;
	return old;
}

static bool is_held(const struct tracee *t, pid_t tid)
{
	unsigned int i;

	for (i = 0; i < t->memory->nr_held; i++)
		if (t->memory->held[i] == tid)
			return true;
	return false;
}

static void cont(pid_t tid, int signal)
{
	ptrace(PTRACE_CONT, tid, NULL, (void *)(long)signal);
}

/* A thread that is not stepped has stopped: it goes on, if it may. */
static void other_stopped(struct tracee *t, pid_t tid, int status)
{
	int sig = WSTOPSIG(status);

	if (!WIFSTOPPED(status) || is_held(t, tid))
		return;
	/* The first stop of a new thread, and events, are ptrace's own. */
	if (sig == SIGSTOP || sig == SIGTRAP)
		sig = 0;
	cont(tid, sig);
}

/* Only there to interrupt waitpid(). */
static void on_alarm(int sig)
{
	(void)sig;
}

/*
 * Waits for one thread, or for any (0) that runs into a breakpoint, and serves
 * the others meanwhile. Returns 0 if that ends, or sleeps.
 */
static pid_t wait_for(struct tracee *t, pid_t tid, int *status)
{
	unsigned int alarms = 0;
	pid_t got;

	for (;;) {
		got = waitpid(-1, status, __WALL);
		if (got < 0) {
			t->exited = errno != EINTR;
			if (t->exited || ++alarms == MAX_ALARMS)
				return 0;
			continue;
		}
		if (got == t->pid && !WIFSTOPPED(*status)) {
			t->exited = true;
			return 0;
		}
		if (got == tid)
			return WIFSTOPPED(*status) ? got : 0;
		if (!tid && WIFSTOPPED(*status) &&
		    WSTOPSIG(*status) == SIGTRAP && !(*status >> 16))
			return got;
		other_stopped(t, got, *status);
	}
}

static void get_regs(struct tracee *t, pid_t tid)
{
	if (ptrace(PTRACE_GETREGS, tid, NULL, &t->regs))
		err(1, "cannot read registers");
}

static void set_ip(struct tracee *t, pid_t tid, u64 ip)
{
	t->regs.rip = ip;
	if (ptrace(PTRACE_SETREGS, tid, NULL, &t->regs))
		err(1, "cannot set registers");
}

bool tracee_run_to(struct tracee *t, u64 addr, unsigned long passes)
{
	unsigned char byte = poke(t, addr, INT3);
	int status;
	pid_t tid;

	for (;;) {
		if (t->tid)
			cont(t->tid, t->signal);
		t->tid = 0;
		tid = wait_for(t, 0, &status);
		if (!tid) {
			if (!t->exited)
				poke(t, addr, byte);
			return false;
		}
		t->tid = tid;
		t->signal = 0;
		get_regs(t, tid);
		if (t->regs.rip != addr + 1)
			continue;
		set_ip(t, tid, addr);
		poke(t, addr, byte);
		t->memory->step++;
		if (!passes--)
			return true;
		if (!tracee_step(t))
			return false;
		poke(t, addr, INT3);
	}
}

void tracee_start(struct tracee *t, char **argv)
{
	const struct itimerval every = { { 1, 0 }, { 1, 0 } };
	struct sigaction sa = { .sa_handler = on_alarm };
	char path[64];
	u64 entry;
	int status;

	memset(t, 0, sizeof(*t));
	t->memory = calloc(1, sizeof(*t->memory));
	if (!t->memory)
		err(1, "no memory");
	t->pid = fork();
	if (t->pid < 0)
		err(1, "cannot fork");
	if (!t->pid) {
		personality(ADDR_NO_RANDOMIZE);
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execvp(argv[0], argv);
		err(127, "cannot execute %s", argv[0]);
	}
	if (waitpid(t->pid, &status, 0) != t->pid || !WIFSTOPPED(status))
		errx(1, "%s did not start", argv[0]);
	t->tid = t->pid;
	snprintf(path, sizeof(path), "/proc/%d/mem", t->pid);
	t->memory->fd = open(path, O_RDWR | O_CLOEXEC);
	if (t->memory->fd < 0)
		err(1, "cannot open %s", path);
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	if (ptrace(PTRACE_SETOPTIONS, t->pid, NULL,
		   (void *)(PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE)))
		err(1, "cannot trace %s", argv[0]);
	entry = auxv(t->pid, AT_ENTRY);
	if (!entry || !tracee_run_to(t, entry, 0))
		errx(1, "%s ended before its first instruction", argv[0]);
}

void tracee_hold(struct tracee *t, const char *name)
{
	struct tracee_memory *m = t->memory;
	char path[64], comm[32];
	struct dirent *e;
	DIR *dir;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task", t->pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		pid_t tid = atoi(e->d_name);

		snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", t->pid,
			 tid);
		f = tid ? fopen(path, "re") : NULL;
		if (!f)
			continue;
		if (!fgets(comm, sizeof(comm), f))
			comm[0] = 0;
		fclose(f);
		comm[strcspn(comm, "\n")] = 0;
		if (strcmp(comm, name) || tid == t->tid ||
		    m->nr_held == MAX_HELD)
			continue;
		m->held[m->nr_held++] = tid;
		syscall(SYS_tgkill, t->pid, tid, SIGSTOP);
	}
	if (dir)
		closedir(dir);
}

/* A handler begins below the red zone, with its frame. */
static bool in_handler(const struct user_regs_struct *before,
		       const struct user_regs_struct *now)
{
	return now->rsp + RED_ZONE < before->rsp;
}

bool tracee_step(struct tracee *t)
{
	struct user_regs_struct before = t->regs;
	bool stopped_early;
	int status, given;

	/*
	 * A stop for a signal comes before the instruction, an event of
	 * ptrace's own is no end of one.
	 */
	do {
		given = t->signal;
		if (ptrace(PTRACE_SINGLESTEP, t->tid, NULL,
			   (void *)(long)given) ||
		    !wait_for(t, t->tid, &status)) {
			t->tid = 0;
			return false;
		}
		get_regs(t, t->tid);
		t->signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
		if (t->signal == SIGVTALRM && t->slow_ticks &&
		    ++t->memory->ticks % KEPT_TICKS)
			t->signal = 0;
		stopped_early = WSTOPSIG(status) != SIGTRAP &&
			t->regs.rip == before.rip && t->regs.rsp == before.rsp;
	} while (status >> 16 || stopped_early);
	t->signalled = given && in_handler(&before, &t->regs);
	t->memory->step++;
	return true;
}

void tracee_kill(struct tracee *t)
{
	int status;

	kill(t->pid, SIGKILL);
	while (waitpid(-1, &status, __WALL) > 0)
		;
	close(t->memory->fd);
	free(t->memory);
}

void tracee_keep(struct tracee *t, u64 start, u64 end)
{
	struct tracee_memory *m = t->memory;

	if (m->nr_kept == MAX_KEPT)
		errx(1, "too many mappings");
	m->kept[m->nr_kept].start = start;
	m->kept[m->nr_kept++].end = end;
}

void tracee_forget(struct tracee *t)
{
	t->memory->step++;
}

static const unsigned char *get_page(struct tracee *t, u64 addr)
{
	struct tracee_memory *m = t->memory;
	struct page *p = &m->page[addr / PAGE % NR_PAGES];
	struct iovec local = { p->data, PAGE };
	struct iovec remote = { (void *)addr, PAGE };
	unsigned int i;

	if (p->addr == addr && (p->step == m->step || p->step == ~0ull))
		return p->data;
	p->addr = 0;
	if (process_vm_readv(t->pid, &local, 1, &remote, 1, 0) != PAGE)
		return NULL;
	p->addr = addr;
	p->step = m->step;
	for (i = 0; i < m->nr_kept; i++)
		if (addr >= m->kept[i].start && addr < m->kept[i].end)
			p->step = ~0ull;
	return p->data;
}

bool tracee_read(void *ctx, u64 addr, void *dst, u32 len)
{
	unsigned char *out = dst;

	while (len) {
		u64 offset = addr % PAGE;
		u32 part = PAGE - offset < len ? PAGE - offset : len;
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
