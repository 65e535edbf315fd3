// SPDX-License-Identifier: GPL-2.0-only
/*
 * A C program with what could be mistaken for Haskell code: hand-written code
 * without CFI, with tables of small numbers in it, more of it than there is
 * in many a Haskell program.
 */
#include <stdio.h>

int no_cfi(int x);

__asm__(".text\n"
	".globl no_cfi\n"
	".type no_cfi, @function\n"
	"no_cfi:\n"
	"	leal 1(%rdi), %eax\n"
	"	ret\n"
	"	.balign 16\n"
	"table:\n"
	"	.rept 512\n"
	"	.quad 0, 1, 2, 3\n"
	"	.endr\n"
	"	.rept 512\n"
	"	lea table(%rip), %rdi\n"
	"	mov $30, %ecx\n"
	"	.byte 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n"
	"	.endr\n"
	"	ret\n"
	".size no_cfi, .-no_cfi\n");

int main(void)
{
	printf("%d\n", no_cfi(1));
	return 0;
}
