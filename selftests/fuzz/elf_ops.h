/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an input of the ELF fuzzer says: what is damaged in a good file, in which
 * of its parts.
 */
#ifndef ELF_OPS_H
#define ELF_OPS_H

/* X(name, its section; NULL: it is no section) */
#define ELF_AREAS(X)							\
	X(whole, NULL)							\
	X(ehdr, NULL)							\
	X(phdr, NULL)							\
	X(shdr, NULL)							\
	X(eh_frame, ".eh_frame")					\
	X(eh_frame_hdr, ".eh_frame_hdr")				\
	X(debug_frame, ".debug_frame")					\
	X(debug_line, ".debug_line")					\
	X(debug_info, ".debug_info")					\
	X(debug_abbrev, ".debug_abbrev")				\
	X(debug_aranges, ".debug_aranges")				\
	X(debug_ranges, ".debug_ranges")				\
	X(debug_str, ".debug_str")					\
	X(symtab, ".symtab")						\
	X(strtab, ".strtab")						\
	X(shstrtab, ".shstrtab")					\
	X(dynamic, ".dynamic")						\
	X(dynsym, ".dynsym")						\
	X(dynstr, ".dynstr")						\
	X(rela, ".rela.dyn")						\
	X(rela_plt, ".rela.plt")					\
	X(init_array, ".init_array")					\
	X(comment, ".comment")						\
	X(build_id, ".note.gnu.build-id")				\
	X(debuglink, ".gnu_debuglink")					\
	X(interp, ".interp")						\
	X(plt, ".plt")							\
	X(text, ".text")						\
	X(rodata, ".rodata")						\
	X(data, ".data")

/* X(name, what it does with a, b and c); b counts from the area's start */
#define ELF_OPS(X)							\
	X(set8, "byte b of area a is c")				\
	X(set16, "half word b of area a is c")				\
	X(set32, "word b of area a is c")				\
	X(set64, "double word b of area a is c")			\
	X(high, "double word b of area a is c shifted into its upper half") \
	X(add, "c is added to word b of area a")			\
	X(byte, "byte b of area a, plus 65536 for each c / 256, is c")	\
	X(fill, "c / 256 bytes from byte b of area a are c")		\
	X(copy, "64 bytes from byte c of area a go to byte b of it")	\
	X(size, "the section of area a has c bytes; b: where it starts is c") \
	X(type, "the section of area a has type b and flags c")		\
	X(swap, "areas a and b exchange places in the section table")	\
	X(cut, "the file ends b bytes behind the start of area a")	\
	X(cfi, "an FDE of area a, number b: its instructions begin with c") \
	X(flags, "HSU_BUILD_* a; a / 4: of the file with parts of the RTS")

enum elf_area {
#define ELF_AREA_ENUM(name, section)	AREA_##name,
	ELF_AREAS(ELF_AREA_ENUM)
	AREA_NR
};

enum elf_op {
#define ELF_OP_ENUM(name, text)	ELF_OP_##name,
	ELF_OPS(ELF_OP_ENUM)
	ELF_OP_NR
};

#endif /* ELF_OPS_H */
