// SPDX-License-Identifier: GPL-2.0-only
#include <elf.h>
#include <err.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "chain.h"
#include "target.h"

/* The program under test */

static CHAIN_MAIN __attribute__((noinline)) void report(long shift)
{
	struct chain chain;

	chain_sample_at(&chain, shift);
	dprintf(1, "%s\n", chain_names(&chain, shift));
}

/* Maps the executable segment of @name; returns how far it is from our own. */
static long map_copy(const char *name)
{
	const Elf64_Ehdr *ehdr = (const void *)__ehdr_start;
	const Elf64_Phdr *p = (const void *)(__ehdr_start + ehdr->e_phoff);
	int fd = open(name, O_RDONLY);
	char *map;

	while (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
		p++;
	map = mmap(NULL, p->p_filesz, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
		   p->p_offset);
	if (map == MAP_FAILED)
		err(1, "%s", name);
	close(fd);
	return map - (__ehdr_start + p->p_vaddr);
}

static CHAIN_MAIN __attribute__((noinline)) int serve(const char *other)
{
	static char once[] = "once";
	char *argv[] = { once, once, once, NULL };
	static long copy;
	char what;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* Executed: start() waits for this. */
	if (write(1, "", 1) != 1)
		return 1;
	while (read(0, &what, 1) == 1) {
		switch (what) {
		case 's':
			report(0);
			break;
		case 'f':
			if (fork() == 0) {
				report(0);
				_exit(0);
			}
			wait(NULL);
			break;
		case 'v':
			if (vfork() == 0) {
				execv(other, argv);
				_exit(1);
			}
			wait(NULL);
			break;
		case 'm':
			copy = copy ? copy : map_copy(other);
			report(copy);
			break;
		case 'd':
		case 'D':
			prctl(PR_SET_DUMPABLE, what == 'D');
			report(0);
			break;
		case 'n':
			if (unshare(CLONE_NEWUSER))
				return 1;
			report(0);
			break;
		default:
			return 1;
		}
	}
	return 0;
}

CHAIN_MAIN int target_main(char **argv)
{
	if (!strcmp(argv[1], "target"))
		return serve(argv[2]);
	report(0);
	return 0;
}

/* The test */

void copy_self(const char *to)
{
	char cmd[512];

	snprintf(cmd, sizeof(cmd), "cp /proc/%d/exe %s", getpid(), to);
	if (system(cmd))
		errx(1, "cannot copy to %s", to);
}

void copies_make(const char *where, char *dir, char *exe, char *other,
		 struct test_image *image)
{
	__u32 from, to;

	snprintf(dir, 64, "%s/hsunwind-XXXXXX", where);
	if (!mkdtemp(dir))
		err(1, "%s", dir);
	snprintf(exe, 80, "%s/exe", dir);
	snprintf(other, 80, "%s/other", dir);
	copy_self(exe);
	copy_self(other);
	chain_f2(&from, &to);
	test_image_init(image, exe, from, to);
}

void pause_ms(long ms)
{
	struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&ts, NULL);
}

void target_start(struct target *t, const char *exe, const char *other)
{
	int in[2], out[2];
	char executed;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		err(1, "pipe2");
	t->pid = fork();
	if (t->pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execl(exe, exe, "target", other, NULL);
		err(1, "%s", exe);
	}
	close(in[0]);
	close(out[1]);
	t->in = in[1];
	t->out = out[0];
	if (read(t->out, &executed, 1) != 1)
		errx(1, "%s does not run", exe);
}

void target_stop(struct target *t)
{
	close(t->in);
	close(t->out);
	waitpid(t->pid, NULL, 0);
	t->pid = 0;
}

const char *target_ask(const struct target *t, char what)
{
	static char line[256];
	size_t len = 0;

	if (write(t->in, &what, 1) != 1)
		return "(not written)";
	while (len < sizeof(line) - 1 && read(t->out, &line[len], 1) == 1 &&
	       line[len] != '\n')
		len++;
	line[len] = 0;
	return line;
}

const char *target_once(const char *exe, const char *other, char what)
{
	struct target t;
	const char *names;

	target_start(&t, exe, other);
	names = target_ask(&t, what);
	target_stop(&t);
	return names;
}
