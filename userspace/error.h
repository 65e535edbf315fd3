/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Errors of the user-space library: one sentence for a person.
 */
#ifndef HSU_ERROR_H
#define HSU_ERROR_H

#define HSU_PRINTF(fmt, args)	__attribute__((__format__(__printf__, fmt, args)))

/**
 * struct hsu_error - why something failed
 * @msg: one sentence that names the file and the field and says what to do,
 *	without newline or program name.
 */
struct hsu_error {
	char msg[512];
};

/**
 * hsu_fail() - write an error message
 * @err: where to, or NULL.
 * @fmt: as for printf(). "%m" gives the text of errno.
 *
 * Return: -1, so that a function can end with "return hsu_fail(...)".
 */
HSU_PRINTF(2, 3)
int hsu_fail(struct hsu_error *err, const char *fmt, ...);

/* An argument in a message: one that is empty must not look like none. */
static inline const char *hsu_shown(const char *arg)
{
	return *arg ? arg : "''";
}

#endif /* HSU_ERROR_H */
