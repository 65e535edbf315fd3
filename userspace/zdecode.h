/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From GHC's symbols back to the names of the source.
 */
#ifndef HSU_ZDECODE_H
#define HSU_ZDECODE_H

#include <stdbool.h>
#include <stddef.h>

#define HSU_MAX_NAME	2048	/* bytes of a readable name, with its 0 */

/**
 * hsu_zdecode() - undo GHC's z-encoding
 * @text: what to decode.
 * @len: its length in bytes.
 * @out: the decoded text, ends with a 0.
 * @cap: room in @out.
 *
 * Return: length of the decoded text; 0 if @text is empty or malformed, or if
 * there is no room for the result.
 */
size_t hsu_zdecode(const char *text, size_t len, char *out, size_t cap);

/**
 * hsu_name_of_symbol() - readable name of a symbol of Haskell code
 * @symbol: package_Module_name_suffix as GHC writes it, the package may be
 *	missing.
 * @out: Module.name; if that is no such symbol, my_prim# for the my_primzh of a
 *	primitive operation in Cmm, or else @symbol as it is.
 * @cap: room in @out.
 *
 * Only for symbols of code that GHC has made: C's may look the same.
 *
 * Return: length of the Module in @out; 0 if there is none.
 */
size_t hsu_name_of_symbol(const char *symbol, char *out, size_t cap);

/**
 * hsu_name_of_stub() - readable name of C code that GHC makes
 * @symbol: of a foreign import "wrapper" or capi.
 * @out: Module.name and what it is.
 * @cap: room in @out.
 *
 * Return: false if @symbol is no such symbol.
 */
bool hsu_name_of_stub(const char *symbol, char *out, size_t cap);

/* What all code of the run-time system is called, and begins with. */
#define HSU_RTS_NAME	"[GHC RTS]"

/**
 * hsu_name_of_rts() - readable name of code of the run-time system
 * @symbol: its symbol.
 * @out: "[GHC RTS] stg_newByteArray#".
 * @cap: room in @out.
 */
void hsu_name_of_rts(const char *symbol, char *out, size_t cap);

#endif /* HSU_ZDECODE_H */
