/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From an ELF file to an image: the library API of the user-space tools.
 */
#ifndef HSU_IMAGE_BUILD_H
#define HSU_IMAGE_BUILD_H

#include <stdbool.h>
#include <stddef.h>

#include "error.h"
#include "hsu_core.h"

#define HSU_BUILD_NO_DEBUG	(1u << 0)	/* ignore .debug_frame */
#define HSU_BUILD_NO_FLOW	(1u << 1)	/* do not analyse machine code */

/* Why a file counts as made by GHC, strongest first. */
enum hsu_ghc_evidence {
	HSU_GHC_NONE,		/* not a Haskell file */
	HSU_GHC_STGRUN,		/* contains StgRun */
	HSU_GHC_LINK_INFO,	/* section .debug-ghc-link-info */
	HSU_GHC_COMMENT,	/* section .comment */
	HSU_GHC_SONAME,		/* named libHS* */
	HSU_GHC_TABLES,		/* info tables in code without CFI */
	HSU_GHC_NEEDED,		/* needs libHS*, and has an info table */
};

/**
 * struct hsu_sp_stats - what the analysis saw
 * @procs: functions, thunks and the like.
 * @rejected: of them, those whose code contradicts the analysis; they get no
 *	rows.
 * @insns: instructions that got a row.
 */
struct hsu_sp_stats {
	unsigned long procs;
	unsigned long rejected;
	unsigned long insns;
};

/**
 * struct hsu_build_info - what the builder found out about a file
 * @is_haskell: the file contains Haskell code.
 * @evidence: how that is known.
 * @has_stgrun: the file contains GHC's run-time system.
 * @has_collector: its collector was found.
 * @ghc_version: major * 100 + minor, 0: not known.
 * @ghc_known: @ghc_version is in the table of ghc.c; otherwise the layout of
 *	the nearest known version is used.
 * @ghc_text: version as found, for example "9.0.2"; "" if not known.
 * @profiled: profiled code (closure headers of 24 bytes).
 * @has_interp: the file is a dynamically linked executable.
 * @needs_haskell: a DT_NEEDED entry names a Haskell library (libHS*).
 * @soname: DT_SONAME or "".
 * @build_id: GNU build-id.
 * @build_id_len: its length in bytes, 0: none.
 * @nr_fdes: FDEs of .eh_frame used.
 * @nr_damaged: CFI entries that could not be read; their code has no rule.
 * @nr_inexpressible: rows whose rule the format cannot express.
 * @nr_sp_rows: rows from GHC's .debug_frame.
 * @debug_file: separate file that .debug_frame came from, or "".
 * @class_bytes: bytes of code with a rule, by class.
 * @none_bytes: bytes of executable sections without a rule.
 * @sp_bytes: bytes of Haskell code with Sp rows.
 * @asm_bytes: bytes of assembler code without CFI that was understood.
 * @flow: what the analysis of the machine code saw.
 */
struct hsu_build_info {
	bool is_haskell;
	enum hsu_ghc_evidence evidence;
	bool has_stgrun;
	bool has_collector;
	unsigned int ghc_version;
	bool ghc_known;
	char ghc_text[24];
	bool profiled;
	bool has_interp;
	bool needs_haskell;
	char soname[128];
	u8 build_id[32];
	unsigned int build_id_len;
	unsigned int nr_fdes;
	unsigned int nr_damaged;
	unsigned int nr_inexpressible;
	unsigned int nr_sp_rows;
	char debug_file[256];
	u64 class_bytes[HSUNWIND_CLASS_NR];
	u64 none_bytes;
	u64 sp_bytes;
	u64 asm_bytes;
	struct hsu_sp_stats flow;
};

/**
 * struct hsu_built - a finished image
 * @data: the image, see hsunwind.h; aligned to 8 bytes.
 * @len: its length in bytes.
 * @info: what was found out on the way.
 */
struct hsu_built {
	void *data;
	size_t len;
	struct hsu_build_info info;
};

/**
 * hsu_build_file() - build the image of a file
 * @path: ELF file.
 * @flags: %HSU_BUILD_*.
 * @out: filled in on success; to be freed with hsu_built_free().
 * @err: filled in on failure.
 *
 * A file without Haskell code is no error: its C code is described.
 *
 * Return: 0, or -1 with @err set and nothing to free.
 */
int hsu_build_file(const char *path, unsigned int flags, struct hsu_built *out,
		   struct hsu_error *err);

/**
 * hsu_build_fd() - build the image of an open file
 * @fd: ELF file, open for reading; stays open, its position is not used.
 * @name: what to call it in messages.
 * @flags: %HSU_BUILD_*.
 * @out: filled in on success; to be freed with hsu_built_free().
 * @err: filled in on failure.
 *
 * Return: 0, or -1 with @err set and nothing to free.
 */
int hsu_build_fd(int fd, const char *name, unsigned int flags,
		 struct hsu_built *out, struct hsu_error *err);

/**
 * hsu_build_vdso() - build the image of the vdso of this process
 * @out: filled in on success; to be freed with hsu_built_free().
 * @err: filled in on failure.
 *
 * Return: 0, or -1 with @err set and nothing to free.
 */
int hsu_build_vdso(struct hsu_built *out, struct hsu_error *err);

/**
 * hsu_built_free() - free what a build function returned
 * @built: may be all zero.
 */
void hsu_built_free(struct hsu_built *built);

#endif /* HSU_IMAGE_BUILD_H */
