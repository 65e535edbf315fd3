/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing JSON to standard output.
 */
#ifndef HSU_JSON_H
#define HSU_JSON_H

#include <stdbool.h>

#include "hsu_env.h"

/* A value begins with its key, which is NULL inside arrays and at the top. */
void hsu_json_open(const char *key, char bracket);	/* '{' or '[' */
void hsu_json_close(char bracket);			/* '}' or ']' */
void hsu_json_string(const char *key, const char *value);
void hsu_json_number(const char *key, u64 value);
void hsu_json_signed(const char *key, s64 value);
void hsu_json_bool(const char *key, bool value);

#endif /* HSU_JSON_H */
