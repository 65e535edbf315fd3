#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the image builder against what nm and readelf say of the same files,
# and with damaged files. The builder runs under ASan and UBSan. KTAP.
# shellcheck disable=SC2317,SC2015 # test functions are called by name
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$(dirname "$here")")
out=$top/selftests/build/image
libdir=$(ghc --print-libdir 2>/dev/null) || libdir=
rts=$libdir/rts

mkdir -p "$out"
cd "$out" || exit 1

diag()
{
	sed 's/^/# /'
}

build_tools()
{
	local t

	make -s -C "$top/userspace" OUT="$out/san" SAN=1 "$out/san/libhsu.a" &&
		make -s -C "$top/userspace" || return 1
	for t in image_probe image_fuzz; do
		gcc -g -O1 -Wall -Wextra -Werror -D_GNU_SOURCE \
			-fsanitize=address,undefined -fno-sanitize-recover=all \
			-iquote "$top/userspace" -iquote "$top/kmod/core" \
			-I"$top/include/uapi" -o $t "$here/$t.c" \
			san/libhsu.a -ldw -lelf -lZydis || return 1
	done
}

# build_haskell NAME GHC-OPTION...
build_haskell()
{
	local name=$1

	shift
	ghc -v0 -outputdir "o-$name" -o "$name" "$@" "$here/image_main.hs" \
		"$here/image_main_c.c" &&
		strip -o "$name.stripped" "$name"
}

build_programs()
{
	build_haskell static -O &&
		build_haskell debug -O -g &&
		build_haskell threaded -O -g -threaded &&
		build_haskell slow -debug &&
		build_haskell dynamic -O -g -dynamic &&
		build_haskell dynamic-pie -O -dynamic -pie &&
		build_haskell alone -O -optl-static &&
		gcc -g -O2 -o plain "$here/image_plain.c" &&
		gcc -g -O2 -o aligned "$here/image_aligned.c" &&
		gcc -g -O2 -static -o plain-static "$here/image_plain.c"
}

programs="static debug threaded slow dynamic dynamic-pie alone"

# The way of the run-time system that a program is linked with.
way_of()
{
	case $1 in
	threaded) echo _thr ;;
	slow) echo _debug ;;
	esac
}

# Every symbol of .text has the class that its name tells.
test_names()
{
	local p=$1 a start size end

	a=$rts/libHSrts$(way_of "$p").a
	read -r start size < <(readelf -SW "$p" | sed -n -E \
		's/.* \.text +PROGBITS +([0-9a-f]+) [0-9a-f]+ ([0-9a-f]+) .*/\1 \2/p')
	end=$(printf '%016x' $((0x$start + 0x$size)))
	nm "$a" 2>/dev/null | awk 'NF == 3 && $2 ~ /[Tt]/ {
		sub(/\.(cold|part|constprop|isra).*/, "", $3); print $3 }' >rts-names
	# Fixed-width lower-case hex compares as text.
	nm -n "$p" | awk -v start="$start" -v end="$end" '
		NF == 3 && $2 ~ /[TtWw]/ && "x" $1 >= "x" start && "x" $1 < "x" end' >names
	awk '{ print $1 }' names | ./image_probe "$p.stripped" >got || return 1
	paste -d' ' names got | awk -v program="$p" '
	function class_of(name) {
		if (name ~ /^((de)?register_tm_clones|__do_global_dtors_aux|frame_dummy)$/)
			return "none"
		if (name ~ /^obscure_ccall/)
			return ""	# has a test of its own
		if (name == "_start")
			return "libc"
		if (name == "StgRunIsImplementedInAssembler")
			return ""	# its entry may be dead code
		if (name ~ /^__u(div|mod)ti3$/)
			return ""	# libgcc, linked behind the RTS
		if (name ~ /^(__)?stg_/ && name != "stg_exit" &&
		    name != "stg_sig_install")
			return "hs_rts"
		sub(/\.(cold|part|constprop|isra).*/, "", name)
		if (name ~ /^(GarbageCollect|scheduleDoGC|gcWorkerThread)$/)
			return "gc"
		# With all its checks there are more functions on the same way.
		if (program == "slow" && name ~ /^(nonmoving|mark_closure)/)
			return ""
		if (name ~ /^nonmoving(Collect|Mark_?|ConcurrentMark)$/)
			return "gc"
		if (name in rts)
			return "rts"
		if (name ~ /_(info|slow)$/)
			return name ~ /z[im]|Main/ ? "hs" : ""
		return "c"
	}
	FILENAME == "rts-names" { rts[$1] = 1; next }
	{
		want = class_of($3)
		if (want == "" || $5 == want)
			next
		# The C library has some code without CFI, too.
		if (program == "alone" && want == "c" &&
		    ($5 == "libc" || $5 == "none"))
			next
		printf "%s at %s is %s, not %s\n", $3, $1, $5, want
		bad++
	}
	END { if (bad) exit 1; if (NR < 20) exit 1 }
	' rts-names - >wrong
	status=${PIPESTATUS[1]}
	head -5 wrong | diag
	return "$status"
}

# Stripping changes no class. But of the collector with all its checks, other
# functions on the same way tell that it is at work.
test_stripped()
{
	local same=cat

	[ "$1" != slow ] || same="sed s/gc$/rts/"
	./image_probe --classes --no-flow "$1" | $same | uniq -f 1 >want &&
		./image_probe --classes --no-flow "$1.stripped" | $same |
		uniq -f 1 >got || return 1
	diff want got | head -5 | diag
	cmp -s want got
}

# Every row of C code is the one that readelf shows. StgRun is left out: its
# CFI is known to be wrong.
test_cfi()
{
	readelf --debug-dump=frames-interp "$1" 2>/dev/null | awk '
	function slot(v) {
		if (v == "u" || v == "s" || v == "")
			return 0
		if (v ~ /^c[-+][0-9]+$/)
			return substr(v, 2) / 8
		return -32768
	}
	function flush(  i) {
		for (i = 0; i < n && !skip; i++)
			print row[i]
		n = 0
	}
	BEGIN {
		split("rax rdx rcx rbx rsi rdi rbp rsp", name, " ")
		for (i in name)
			number[name[i]] = i - 1
		for (i = 8; i < 16; i++)
			number["r" i] = i
	}
	/^Contents of/ { flush(); eh = /eh_frame/ }
	!eh { next }
	/ (CIE|FDE) / { flush(); fde = / FDE /; skip = 0; next }
	$1 == "LOC" { delete col; for (i = 2; i <= NF; i++) col[$i] = i; next }
	fde && NF > 2 && $1 ~ /^[0-9a-f]+$/ && length($1) == 16 {
		if ("rsp" in col && $col["rsp"] == "vexp")
			skip = 1
		# readelf shifts the columns where a register is in another
		if ($2 !~ /^[a-z0-9]+[-+][0-9]+$/ || /\(r/)
			next
		if ("ra" in col && $col["ra"] == "u") {
			row[n++] = $1 " bottom 0 0 0 0 0"
			next
		}
		match($2, /[-+]/)
		reg = substr($2, 1, RSTART - 1)
		row[n++] = $1 " cfa " number[reg] " " \
			substr($2, RSTART) + 0 " " \
			slot("rbp" in col ? $col["rbp"] : "") " " \
			slot("rbx" in col ? $col["rbx"] : "") " " \
			slot("r14" in col ? $col["r14"] : "")
	}
	END { flush() }
	' >want
	awk '{ print $1 }' want | ./image_probe --no-debug "$1" |
		awk '{ print $3, $4, $5, $6, $7, $8 }' >got || return 1
	[ -s want ] || return 1
	awk '{ $1 = ""; print substr($0, 2) }' want | diff - got >wrong && return 0
	head -5 wrong | diag
	return 1
}

# Sp rows hold from their set_loc to the next, or to the next FDE, whatever
# range the FDE states.
test_sp_rows()
{
	readelf --debug-dump=frames "$1" 2>/dev/null | awk '
	function row(to) {
		if (from < to)
			print from, cfa, pushed, to
		from = to
	}
	/^Contents of/ { debug = /debug_frame/ }
	!debug { next }
	/ FDE / {
		match($0, /pc=[0-9a-f]+/)
		if (from != "")
			print from, cfa, pushed, "-"
		from = substr($0, RSTART + 3, RLENGTH - 3)
		cfa = pushed = 0
	}
	/DW_CFA_set_loc:/ { row($2) }
	/DW_CFA_def_cfa_offset:/ { cfa = $2 }
	/DW_CFA_val_expression: r7/ { match($0, /rsp\): [0-9]+/); pushed = substr($0, RSTART + 6, RLENGTH - 6) }
	/DW_CFA_same_value: r7/ { pushed = 0 }
	END { if (from != "") print from, cfa, pushed, "-" }
	' >rows
	# First and last address of each row.
	awk '{ print "0x" $1, $2, $3; if ($4 != "-") print "0x" $4, $2, $3, "last" }' rows |
		while read -r addr cfa pushed last; do
			printf '%x hs_sp %s %s\n' $((addr - ${#last} / 4)) "$cfa" "$pushed"
		done >want
	[ "$(wc -l <want)" -gt 100 ] || return 1
	awk '{ print $1 }' want | ./image_probe --no-flow "$1" |
		awk '{ print $1, $3, $5, $9 }' | diff want - >wrong && return 0
	head -5 wrong | diag
	return 1
}

# Debugging information must not leak into code of other objects.
test_no_leak()
{
	local cu end

	cu=$(readelf --debug-dump=aranges "$1" 2>/dev/null |
		awk 'NF == 2 && $1 ~ /^[0-9a-f]+$/ && $2 !~ /^0+$/ { print $1, $2 }' |
		sort | tail -1)
	end=$((0x${cu% *} + 0x${cu#* }))
	./image_probe --no-flow "$1" <<<"$(printf '%x' "$end")" >a
	./image_probe --no-flow --no-debug "$1" <<<"$(printf '%x' "$end")" >b
	diff a b | diag
	cmp -s a b
}

# The same rows, whatever the debug sections look like and wherever they are.
test_debug_forms()
{
	local form

	./image_probe --no-flow --rows debug >want || return 1
	for form in zlib zlib-gnu; do
		objcopy --compress-debug-sections="$form" debug "debug.$form" &&
			./image_probe --no-flow --rows "debug.$form" | cmp -s want - || {
			echo "# $form differs"
			return 1
		}
	done
	objcopy --only-keep-debug debug apart.debug &&
		objcopy --strip-debug --add-gnu-debuglink=apart.debug debug apart &&
		./image_probe --no-flow --rows ./apart | cmp -s want - || {
		echo "# the separate file differs"
		return 1
	}
	# Another build's debug file has another build-id.
	cp threaded apart.debug
	./image_probe --no-flow --rows ./apart >got
	./image_probe --no-flow --rows --no-debug ./apart | cmp -s got -
}

stgrun_body="cfa 7 16440 -6 -7 -3 0"

# In StgRun every instruction has a right rule: the prologue before registers
# are saved, the body, and the epilogue.
test_stgrun()
{
	local p a

	for p in static threaded slow; do
		a=$(nm "$p" | awk '$3 == "StgReturn" { print $1 }')
		printf '%x\n%x\n' $((0x$a - 1)) $((0x$a)) | ./image_probe "$p.stripped" |
			awk '{ print $3, $4, $5, $6, $7, $8, $9 }' | sort -u >got
		[ "$(cat got)" = "$stgrun_body" ] || {
			diag <got
			return 1
		}
		# Just before each "ret" the frame is one word.
		objdump -d --no-show-raw-insn "$p" | awk -v a="$a" '
			$2 == "<StgReturn>:" { on = 1 }
			on && $2 == "ret" { sub(":", "", $1); print $1; exit }' |
			./image_probe "$p.stripped" | grep -q ' rts cfa 7 8 0 0 0 0$' ||
			return 1
	done
}

# What an adjustor's call returns to has one word more than its CFI says, also
# where a return address is looked up.
test_obscure_ccall()
{
	local a

	a=$(nm static | awk '$3 ~ /obscure_ccall_ret_code/ { print $1 }')
	[ -n "$a" ] || return 1
	printf '%x\n%x\n%x\n' $((0x$a - 1)) $((0x$a)) $((0x$a + 4)) |
		./image_probe static.stripped | awk '{ print $2, $3, $4, $5 }' >got
	diff - got <<-END
	glue cfa 7 16
	glue cfa 7 16
	rts cfa 7 8
	END
}

# A function that aligns its stack: in its body, when all that it has saved is
# restored, and at its return, where GCC's CFI says that nothing is.
test_aligned()
{
	objdump -d --no-show-raw-insn aligned | awk '
		/^[0-9a-f]+ <aligned>:/ { on = 1; next }
		!NF { on = 0 }
		on && ($2 ~ /^(call|ret)/ || /\tlea +-0x8\(%r.*\),%rsp$/) {
			print substr($1, 1, length($1) - 1)
		}' | ./image_probe aligned | cut -d' ' -f2- |
		sed -E -e 's/ deref 6 0 -2 (-[0-9]+|0) (-[0-9]+|0) -[0-9]+ / deref 6 0 -2 * /' \
			-e 's/ cfa (8|9|1[0-5]) / cfa * /' >got
	diff - got <<-END
	c deref 6 0 -2 * from rbp
	c cfa * 0 0 0 0 0
	c cfa 7 8 0 0 0 0
	END
}

# A file without section headers gives the same image.
# Takes the section headers away: SOURCE TARGET
drop_sections()
{
	local off

	cp "$1" "$2" &&
		off=$(readelf -h "$2" | sed -n -E 's/.*Start of section headers: +([0-9]+).*/\1/p')
	truncate -s "$off" "$2"
	head -c 8 /dev/zero | dd of="$2" bs=1 seek=40 conv=notrunc status=none
	head -c 6 /dev/zero | dd of="$2" bs=1 seek=58 conv=notrunc status=none
}

test_no_sections()
{
	drop_sections static.stripped nosections &&
		./image_probe --rows nosections >got &&
		./image_probe --rows static.stripped >want || return 1
	diff want got | head -5 | diag
	cmp -s want got
}

# No C code counts as Haskell, hand-written code and its tables neither.
test_foreign()
{
	local f status=0

	for f in plain plain-static "$(command -v bash)" "$(command -v gcc)" \
		"$(command -v python3)" "$(command -v perf)" \
		"$(command -v busybox)" /lib/x86_64-linux-gnu/lib{c,m,gmp,ffi,crypto}.so.*[0-9] \
		/lib64/ld-linux-x86-64.so.2; do
		[ -e "$f" ] && head -c 4 "$f" | grep -q ELF || continue
		./image_probe --classes "$f" >got || return 1
		if grep -q -E ' (hs|hs_rts|rts|gc)$' got; then
			echo "# $f: $(grep -E ' (hs|hs_rts|rts|gc)$' got | head -1)"
			status=1
		fi
	done
	./image_probe --classes /lib/x86_64-linux-gnu/libc.so.6 |
		awk '$2 != "libc" && $2 != "none" { exit 1 }' || status=1
	return "$status"
}

# Frames that only the C library has.
test_libc()
{
	local libc=/lib/x86_64-linux-gnu/libc.so.6 a

	./image_probe --rows "$libc" >got || return 1
	[ "$(grep -c ' signal ' got)" -eq 1 ] && grep -q ' signal 0 0 0 0 0 40$' got ||
		return 1
	grep -q ' plt 0 0 0 0 0 1[01]$' got || return 1
	# vfork() keeps its return address in a register
	grep -q ' ra_reg 7 0 0 0 0 5$' got || return 1
	a=$(nm -D "$libc" | awk '$3 ~ /^__?clone@/ { print $1; exit }')
	# somewhere in clone() there is no caller any more
	[ "$(grep -c ' bottom ' got)" -ge 1 ] && [ -n "$a" ]
}

test_vdso()
{
	./image_probe --classes vdso >got || return 1
	! grep -v -E ' (libc|none)$' got
}

# The analysis of the machine code leaves no Haskell code out, with jump tables
# of either form, stack arguments and results. What remains is some hand-written
# code of base that no info table announces.
test_covered()
{
	./image_probe --no-debug --gaps "$1" >got || return 1
	diag <got
	[ "$(wc -l <got)" -le 2 ]
}

# The slow entry of a function finds all arguments on the stack: as many words
# as the bitmap in front of the function's info table says, five of which the
# function gets in registers.
test_stack_arguments()
{
	local p=$1 slow info name words

	nm "$p" | awk '$3 ~ /_slow$/ { sub(/_slow$/, "", $3); print $3, $1 }' |
		sort >slow
	nm "$p" | awk '$3 ~ /_info$/ { sub(/_info$/, "", $3); print $3, $1 }' |
		sort >info
	: >asked
	: >want
	while read -r name slow info; do
		words=$(objdump -s -j .text --start-address=$((0x$info - 32)) \
			--stop-address=$((0x$info - 31)) "$p" |
			sed -n -E 's/^ [0-9a-f]+ ([0-9a-f]{2}).*/\1/p')
		words=$((0x$words & 63))
		[ "$words" -gt 5 ] || continue
		printf '%s\n%s\n' "$slow" "$info" >>asked
		printf 'hs_sp %d\nhs_sp %d\n' $((words * 8)) \
			$(((words - 5) * 8)) >>want
	done < <(join slow info | head -200)
	./image_probe --no-debug "$p.stripped" <asked |
		awk '{ print $3, $5 }' >got
	[ "$(wc -l <want)" -gt 10 ] && diff want got | head -5 | diag
	[ "${PIPESTATUS[0]}" -eq 0 ] && cmp -s want got
}

# Functions of the run-time system are found without symbols, and stg_PAP_apply
# has arguments on the stack, whose number is in a register for a while.
test_rts_functions()
{
	local p a

	for p in static threaded; do
		nm "$p" | awk '$3 ~ /^(stg_stk_save_(pp|n)|stg_ap_stk_pp|__stg_gc_fun|stg_returnToSched|stg_block_takemvar)$/ {
			print $1 }' >asked
		[ "$(wc -l <asked)" -eq 6 ] || return 1
		./image_probe "$p.stripped" <asked >got
		! grep -v -E ' hs_rts (hs_sp|hs_scan) ' got || return 1
		a=$(nm "$p" | awk '$3 == "stg_PAP_apply" { print $1 }')
		printf '%s\n%x\n' "$a" $((0x$a + 0x27)) |
			./image_probe "$p.stripped" | awk '{ print $3, $4, $5, $9 }' |
			diff - <(printf 'hs_scan 0 0 0\nhs_scan 0 0 8\n') || return 1
		# A RET_FUN frame has three words and the arguments.
		nm "$p" | awk '$3 == "stg_gc_fun_info" { print $1 }' |
			./image_probe "$p.stripped" | awk '{ print $3, $4, $5 }' |
			diff - <(echo 'hs_scan 0 24') || return 1
	done
}

# A number that looks like the address of a function, but is that of an info table,
# costs no rows.
test_mistaken_number()
{
	local a at

	a=$(nm static | awk '$3 == "stg_ret_p_info" { print $1 }')
	at=$(LC_ALL=C grep -obUaP '\x88\x77\x66\x55\x44\x33\x22\x11' \
		static.stripped | cut -d: -f1) && [ -n "$at" ] || return 1
	cp static.stripped mistaken
	# shellcheck disable=SC2059 # the format is the bytes
	printf "$(printf '%016x' $((0x$a - 8)) |
		sed -E 's/(..)(..)(..)(..)(..)(..)(..)(..)/\\x\8\\x\7\\x\6\\x\5\\x\4\\x\3\\x\2\\x\1/')" |
		dd of=mistaken bs=1 seek="$at" conv=notrunc status=none
	./image_probe --rows static.stripped >want &&
		./image_probe --rows mistaken >got || return 1
	cmp static.stripped mistaken >/dev/null && return 1
	cmp -s want got
}

# Every function, thunk and constructor of a module has rows.
test_entries()
{
	nm "$1" | awk '$3 ~ /^Main_.*_info$/ { print $1 }' >asked
	grep -q . asked && nm "$1" | grep -q ' Main_Box_con_info$' || return 1
	./image_probe "$1.stripped" <asked >got || return 1
	! grep -v ' hs hs_sp ' got | diag | grep .
}

# A library of Haskell code, and the run-time system as a library.
test_libraries()
{
	local lib

	lib=$(ls "$rts"/libHSrts_thr-ghc*.so) &&
		./image_probe --classes "$lib" >got || return 1
	! grep -v -E ' (rts|hs_rts|glue|gc|none)$' got || return 1
	[ "$(grep -c ' gc$' got)" -ge 3 ] || return 1
	lib=$(ls "$libdir"/base-*/libHSbase-*.so) &&
		./image_probe --classes "$lib" >got || return 1
	! grep -v -E ' (c|hs|none)$' got && grep -q ' hs$' got
}

# The largest Haskell program that the distribution has. The time is only shown:
# other work on the machine counts in it.
# Sp is saved from before suspendThread() is called until it is loaded again.
test_saved()
{
	local p a at

	for p in static dynamic; do
		a=$(objdump -d --no-show-raw-insn "$p.stripped" | awk '
			/mov +%rbp,0x10\(%r[abcd][xi]/ { save = $1 }
			/mov +0x10\(%r[abcd][xi]\),%rbp/ && save {
				print save, $1; exit }' | tr -d :)
		[ -n "$a" ] || return 1
		for at in $a; do
			printf '%x\n' $((0x$at)) $((0x$at + 4))
		done | ./image_probe "$p.stripped" | awk '{ print $3 }' | xargs >got
		echo hs_sp hs_saved hs_saved hs_sp | diff - got | diag
		[ "$(cat got)" = "hs_sp hs_saved hs_saved hs_sp" ] || return 1
	done
}

# lld describes its linkage table with no CFI: with and without section headers.
test_lld_plt()
{
	local plt p at

	command -v ld.lld >/dev/null || return 4
	gcc -O2 -fuse-ld=lld -Wl,-z,lazy -o lld-plain "$here/image_plain.c" ||
		return 1
	plt=$(readelf -SW lld-plain | sed -n -E \
		's/.* \.plt +PROGBITS +([0-9a-f]+) .*/\1/p')
	drop_sections lld-plain lld-headerless || return 1
	for p in lld-plain lld-headerless; do
		for at in 0 6 16 27; do
			printf '%x\n' $((0x$plt + at))
		done | ./image_probe "$p" | awk '{ print $3, $4, $5, $9 }' >got
		printf '%s\n' 'cfa 7 16 0' 'cfa 7 24 0' 'plt 0 0 11' 'plt 0 0 11' \
			>want
		diff want got | head -5 | diag
		cmp -s want got || return 1
	done
}

test_large()
{
	local f start ms bytes

	f=$(command -v pandoc) || return 4
	start=$(date +%s%N)
	bytes=$("$top/userspace/hsunwind-register" --dry-run --json -q "$f" |
		sed -n -E 's/^    "bytes": ([0-9]+),?$/\1/p' | sort -n | tail -1)
	ms=$((($(date +%s%N) - start) / 1000000))
	echo "# pandoc with its libraries: $ms ms, image of $bytes bytes"
	[ "${bytes:-0}" -gt 0 ]
}

# Cut off anywhere, or with damaged headers and tables: an image or a sentence.
test_damaged()
{
	./image_fuzz "$1" "$2"
}

n=0 failed=0
run()
{
	local name=$1 status

	shift
	n=$((n + 1))
	"$@"
	status=$?
	case $status in
	0) echo "ok $n $name" ;;
	4) echo "ok $n $name # SKIP not installed" ;;
	*)
		echo "not ok $n $name"
		failed=1
		;;
	esac
}

echo "KTAP version 1"
if [ -z "$libdir" ]; then
	echo "1..0 # SKIP no ghc"
	exit 4
fi
echo "1..53"
if ! build_tools || ! build_programs; then
	echo "Bail out! the tests cannot be built"
	exit 1
fi

for p in $programs; do
	run "$p: classes agree with names, though stripped" test_names "$p"
	run "$p: stripping changes no class" test_stripped "$p"
	run "$p: rows of C code agree with readelf" test_cfi "$p"
done
for p in debug threaded dynamic; do
	run "$p: Sp rows agree with readelf" test_sp_rows "$p"
	run "$p: Sp rows stay in their object" test_no_leak "$p"
done
run "rows of libHSrts agree with readelf" test_cfi "$(ls "$rts"/libHSrts-ghc*.so)"
run "compressed and separate debugging information" test_debug_forms
run "StgRun has right rules everywhere" test_stgrun
run "return address of adjustors' calls" test_obscure_ccall
run "a function that aligns its stack" test_aligned
run "file without section headers" test_no_sections
run "no C code counts as Haskell" test_foreign
run "signal, clone and PLT frames of the C library" test_libc
run "the vdso" test_vdso
run "libraries of Haskell code" test_libraries
for p in static dynamic; do
	run "$p: no Haskell code is left out" test_covered "$p"
done
run "base: no Haskell code is left out" test_covered "$(ls "$libdir"/base-*/libHSbase-*.so)"
run "arguments on the stack" test_stack_arguments static
run "functions of the run-time system without symbols" test_rts_functions
run "a number like an address of the run-time system" test_mistaken_number
run "every entry of a module has rows" test_entries static
run "Sp is saved around safe calls" test_saved
run "linkage table without CFI" test_lld_plt
run "a large program" test_large
run "damaged files: dynamic program" test_damaged dynamic 1500
run "damaged files: C program" test_damaged plain 1000
run "damaged files: static program" test_damaged static 60
run "damaged files: program with debugging information" test_damaged debug 60
run "damaged files: shared library" test_damaged "$(ls "$rts"/libHSrts-ghc*.so)" 100
run "damaged files: statically linked program" test_damaged plain-static 100

[ $n -eq 53 ] || failed=1
exit $failed
