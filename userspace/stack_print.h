/* SPDX-License-Identifier: GPL-2.0-only */
/* Symbols and source lines for people; nothing here influences the walk. */
#ifndef HSU_STACK_PRINT_H
#define HSU_STACK_PRINT_H

#include <sys/types.h>

#include "error.h"
#include "hsu_core.h"

struct hsu_symbols;

/* A letter for each &enum hsu_kind. */
extern const char hsu_kind_letter[HSU_NR_KINDS];

/**
 * hsu_symbols_open() - prepare to name addresses of a live process
 * @pid: the process.
 * @err: why it failed.
 *
 * Return: the symbols, or NULL.
 */
struct hsu_symbols *hsu_symbols_open(pid_t pid, struct hsu_error *err);
void hsu_symbols_close(struct hsu_symbols *syms);

/**
 * hsu_print_frame() - print one numbered frame with name, file and line
 * @syms: symbols, or NULL for bare addresses.
 * @nr: its number.
 * @addr: its address.
 * @kind: an &enum hsu_kind.
 */
void hsu_print_frame(struct hsu_symbols *syms, unsigned int nr, __u64 addr,
		     unsigned int kind);

#endif /* HSU_STACK_PRINT_H */
