// SPDX-License-Identifier: GPL-2.0-only
/*
 * Usage: hostile register FILE
 *        hostile MODE SECONDS
 *
 * Programs that do their worst while they are sampled; ./hostile.sh runs them.
 * Their image says that the blocks below are Haskell code. What Sp points to is a
 * stack made by the program, of return addresses to these blocks, and nonsense.
 */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "device.h"

#define NR_BLOCKS 80		/* more than there are closure types */
#define BLOCK 32
#define STACK_WORDS 8192

/*
 * spin(sp, flag): with Sp = sp until *flag. Then the blocks, each an info table
 * (layout, type, SRT) and code. There is one for each closure type and beyond.
 */
asm(".pushsection hs_code, \"ax\"\n"
	".globl spin, blocks\n"
	"spin:\n"
	"	push %rbp\n"
	"	mov %rdi, %rbp\n"
	"1:	pause\n"
	"	cmpl $0, (%rsi)\n"
	"	je 1b\n"
	"	pop %rbp\n"
	"	ret\n"
	".balign 32\n"
	"blocks:\n"
	".set type, 0\n"
	".rept 80\n"
	"	.quad type * 3 + (type << 9)\n"
	"	.long type\n"
	"	.long 0\n"
	"	.fill 16, 1, 0x90\n"
	".set type, type + 1\n"
	".endr\n"
	".popsection\n");

extern const char blocks[], __start_hs_code[], __stop_hs_code[];
extern const char __ehdr_start[];
void spin(unsigned long *sp, volatile int *flag);

static volatile int done;
static unsigned long *stack;
static time_t end;

static bool time_is_up(void)
{
	return time(NULL) >= end;
}

static int register_program(const char *file)
{
	struct test_image image;
	int dev = open(DEVICE, O_RDWR);
	int ret;

	if (dev < 0)
		err(1, DEVICE);
	test_image_init(&image, file, __start_hs_code - __ehdr_start,
			__stop_hs_code - __ehdr_start);
	image.ids[1] = RULE_HS;
	ret = image_add(dev, file, HSUNWIND_ADD_PROGRAM, &image, NULL);
	if (ret)
		errx(1, "%s: error %d", file, ret);
	return 0;
}

static unsigned long word(void)
{
	unsigned long block = random() % NR_BLOCKS;

	switch (random() % 16) {
	case 0:
		return random();
	case 1:
		return (unsigned long)&stack[random() % STACK_WORDS];
	case 2:
		return -1ul << (random() % 64);
	default:
		return (unsigned long)blocks + block * BLOCK + 16;
	}
}

static void make_stack(void)
{
	stack = mmap(NULL, STACK_WORDS * 8, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED)
		err(1, "mmap");
	for (int i = 0; i < STACK_WORDS; i++)
		stack[i] = word();
}

static void *spinner(void *arg)
{
	spin(stack + random() % 64, &done);
	return NULL;
}

static pthread_t spin_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, spinner, NULL))
		errx(1, "pthread_create");
	return thread;
}

/* Changes the stack, @change by @change, while another thread stands on it. */
static void while_spinning(void (*change)(void))
{
	pthread_t thread;

	make_stack();
	thread = spin_thread();
	while (!time_is_up())
		change();
	done = 1;
	pthread_join(thread, NULL);
}

static void rewrite(void)
{
	for (int i = 0; i < 1000; i++)
		stack[random() % STACK_WORDS] = word();
}

static void unmap(void)
{
	const int prots[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE };
	char *page = (char *)stack + random() % (STACK_WORDS / 512) * 4096;

	if (random() % 2)
		mprotect(page, 4096, prots[random() % 3]);
	else if (random() % 4)
		munmap(page, 4096);
	else if (mmap(stack, STACK_WORDS * 8, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
		 MAP_FAILED)
		err(1, "mmap");
	else
		rewrite();
}

/* 4,096 executable mappings of its own file, apart from each other. */
static void map_many(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);
	char *area = mmap(NULL, 2 * 4096 * 4096, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	for (int i = 0; i < 4096; i++)
		if (mmap(area + i * 8192, 4096, PROT_READ | PROT_EXEC,
			 MAP_PRIVATE | MAP_FIXED, fd, 4096) == MAP_FAILED)
			err(1, "mapping %d", i);
	munmap(area, 2 * 4096 * 4096);
	close(fd);
}

static void exec_again(char **argv)
{
	char times[16];

	make_stack();
	spin_thread();
	usleep(random() % 5000);
	snprintf(times, sizeof(times), "%d", atoi(argv[3]) + 1);
	if (time_is_up())
		return;
	execl("/proc/self/exe", argv[0], argv[1], argv[2], times, argv[4],
	      NULL);
	err(1, "execl");
}

/* A thousand children, some at the same time. */
static void fork_many(void)
{
	make_stack();
	for (int i = 0; i < 1000; i++) {
		if (i >= 50)
			wait(NULL);
		switch (fork()) {
		case -1:
			err(1, "fork");
		case 0:
			alarm(1 + i % 2);
			spin(stack, &done);
		}
	}
	while (wait(NULL) > 0)
		;
}

/* Ends in all ways while its threads run. */
static void exit_many(void)
{
	make_stack();
	while (!time_is_up()) {
		pid_t pid = fork();

		if (!pid) {
			spin_thread();
			spin_thread();
			usleep(random() % 20000);
			if (random() % 2)
				_exit(0);
			raise(SIGSEGV);
		}
		usleep(random() % 20000);
		if (random() % 2)
			kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/*
 * Processes that are added by number, and end, while numbers are few: one that
 * has got the number of another is not known.
 */
static void reuse_pids(void)
{
	int dev = open(DEVICE, O_RDWR | O_CLOEXEC);
	static char seen[65536];
	int reused = 0;

	if (dev < 0)
		err(1, DEVICE);
	make_stack();
	for (int i = 0; !time_is_up(); i++) {
		pid_t pid = fork();
		int ret;

		if (!pid) {
			/* Not a child of one that is known by its program. */
			spin(stack, &done);
			_exit(0);
		}
		reused += seen[pid];
		seen[pid] = 1;
		ret = process_add(dev, pid, NULL);
		if (ret)
			errx(1, "process %d: error %d", pid, ret);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (known(dev, pid))
			errx(1, "%d has ended and is still known", pid);
	}
	if (!reused)
		errx(1, "no number was used again");
	fprintf(stderr, "%d processes had the number of an earlier one\n", reused);
	close(dev);
}

int main(int argc, char **argv)
{
	char *argv_exec[] = {
		argv[0], argv[1], argv[2], argc > 3 ? argv[3] : "0",
		argc > 4 ? argv[4] : NULL, NULL
	};
	static char until[32];
	const char *mode = argc > 2 ? argv[1] : "";

	srandom(getpid() * 7 + time(NULL));
	if (!strcmp(mode, "register"))
		return register_program(argv[2]);
	end = time(NULL) + (argc > 2 ? atoi(argv[2]) : 0);
	if (!strcmp(mode, "rewrite")) {
		while_spinning(rewrite);
	} else if (!strcmp(mode, "unmap")) {
		while_spinning(unmap);
	} else if (!strcmp(mode, "maps")) {
		while_spinning(map_many);
	} else if (!strcmp(mode, "exec")) {
		if (argc > 4)
			end = atol(argv[4]);
		snprintf(until, sizeof(until), "%ld", (long)end);
		argv_exec[4] = until;
		exec_again(argv_exec);
		fprintf(stderr, "executed %s times\n", argv_exec[3]);
	} else if (!strcmp(mode, "fork")) {
		fork_many();
	} else if (!strcmp(mode, "exit")) {
		exit_many();
	} else if (!strcmp(mode, "pids")) {
		reuse_pids();
	} else {
		errx(2, "there is no mode '%s'", mode);
	}
	return 0;
}
