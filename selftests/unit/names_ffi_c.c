// SPDX-License-Identifier: GPL-2.0-only
/* C whose name looks like that of a primitive operation, for symbols_test.sh. */
unsigned long my_czh(unsigned long n);

unsigned long my_czh(unsigned long n)
{
	return n + 3;
}
