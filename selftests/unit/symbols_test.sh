#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the symbols that hsunwind-register writes for perf: the names, the
# files, perf's cache, and what a real perf makes of it. What writes them runs
# under ASan and UBSan. KTAP.
# shellcheck disable=SC2317,SC2015,SC2016,SC2086,SC2094 # test functions are called by name, symbols have dollars
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$(dirname "$here")")
out=$top/selftests/build/symbols
check=$top/selftests/accuracy/check_symbols
programs="plain debug debug-O0 debug-dynamic debug-pie"

# shellcheck source=tests.sh
. "$here/tests.sh"

mkdir -p "$out"
cd "$out" || exit 1
rm -rf home dir
mkdir home dir
export HOME=$out/home LC_ALL=C.UTF-8
unset SUDO_UID PERF_CONFIG
cache=$HOME/.debug
reg=san/hsunwind-register

diag()
{
	sed 's/^/# /'
}

# build_haskell NAME GHC-OPTION...
build_haskell()
{
	local name=$1

	shift
	ghc -v0 -outputdir "o-$name" -o "$name" "$@" "$here/names_main.hs"
}

build()
{
	make -s -C "$top/userspace" OUT="$out/san" SAN=1 &&
		gcc -g -O1 -Wall -Wextra -Werror -D_GNU_SOURCE \
			-fsanitize=address,undefined -fno-sanitize-recover=all \
			-iquote "$top/userspace" -iquote "$top/kmod/core" \
			-I"$top/include/uapi" -o names_probe \
			"$here/names_probe.c" san/libhsu.a -ldw -lelf -lZydis &&
		build_haskell plain -O &&
		build_haskell debug -O -g &&
		build_haskell debug-O0 -O0 -g &&
		build_haskell debug-dynamic -O -g -dynamic &&
		build_haskell debug-split -O -g -split-sections \
			-optl-Wl,--gc-sections &&
		build_haskell debug-pie -O -g -dynamic -fPIC -pie &&
		ghc -v0 -O -g -outputdir o-lines -o lines "$here/lines_main.hs" &&
		ghc -v0 -O -outputdir o-ffi -o ffi "$here/names_ffi.hs" \
			"$here/names_cmm.cmm" "$here/names_ffi_c.c" &&
		strip -o stripped plain
}

# slot FILE: where the cache has it
slot()
{
	local id

	id=$(readelf -n "$1" | sed -n 's/.*Build ID: //p')
	echo "$cache/.build-id/${id:0:2}/${id:2}/elf"
}

write()
{
	$reg --symbols-only -q "$@" 2>stderr && [ ! -s stderr ] && return 0
	diag <stderr
	return 1
}

# Symbol, then name.
test_decode()
{
	cut -f 1 "$here/names_decode.txt" | ./names_probe --decode >got || return 1
	cut -f 2 "$here/names_decode.txt" | diff - got | diag
	[ "${PIPESTATUS[1]}" -eq 0 ]
}

# Every block of code has the name of its procedure, and that is right, in the
# eyes of DWARF.
test_blocks()
{
	local p

	for p in debug debug-O0 debug-split debug-dynamic debug-pie lines; do
		write "./$p" && python3 "$check" blocks "$p" "$(slot "$p")" || return 1
	done
	for p in debug debug-O0; do
		write --no-debug "./$p" &&
			python3 "$check" --no-debug blocks "$p" "$(slot "$p")" || return 1
	done
}

# All symbols of Haskell code, decoded; of a large program, too.
test_all_names()
{
	local p

	for p in debug plain debug-dynamic "$(command -v pandoc)"; do
		write "$p" && python3 "$check" names "$p" "$(slot "$p")" || return 1
	done
	$reg --symbols-only -q --remove "$(command -v pandoc)"
}

# named FILE PATTERN COUNT: so many procedures match
named()
{
	local n

	n=$(./names_probe "${@:3}" "$1" | awk '{ $1 = $2 = $3 = ""; print }' |
		grep -c -E -e "$2")
	[ "$n" -gt 0 ] && return 0
	echo "# nothing in $1 is called $2"
	return 1
}

# With -g, local code has the source's names, and lines.
test_debug_names()
{
	local p

	for p in debug debug-dynamic debug-pie; do
		named $p "debug h Main\.both \(names_main\.hs:42\)$" &&
			named $p "debug h Main\.expensive \(names_main\.hs:37\)$" &&
			named $p "debug h Main\.w2 \(names_main\.hs:32\)$" &&
			named $p "debug h Main\.step' \(names_main\.hs:61\)$" || return 1
	done
	named debug-O0 "debug h Main\.parse\.go \(names_main\.hs:[0-9]+\)$" &&
		named debug-O0 "debug h Main\.w1\.total \(names_main\.hs:28\)$"
}

# Without, those of the one that refers to it: checked against -g, which
# knows better. At the same place there is the same code.
test_owners()
{
	local p name

	for p in debug debug-dynamic debug-pie; do
		./names_probe $p | grep -F ' debug h ' >known
		./names_probe --no-debug $p | sort -k 1,1 >owners
		[ "$(wc -l <known)" -ge 14 ] || return 1
		sort -k 1,1 known | join -j 1 - owners |
			awk '{ print $6, $NF }' | sort -u >pairs
		for name in 'table $wtable' '<+> $w<+>' 'shared1 $wshared1' \
			"step' \$wstep'" 'expensive $ww2' 'w2 $ww2'; do
			grep -q -F -e "Main.${name% *} Main.${name#* }.<local" pairs || {
				echo "# $p: no $name in:"
				diag <pairs
				return 1
			}
		done
		# two functions share it
		grep -q -E '^Main\.both Main\.<local[0-9]+>$' pairs || return 1
		# nobody else has anything
		! grep -v -E '^Main\.(table|<\+>|shared1|step.|expensive|w2|both) ' pairs |
			diag | grep . || return 1
		[ "$(wc -l <pairs)" -ge 14 ] || return 1
	done
}

# No code of a file with symbols has but an address for a name, save for what
# no function of its program refers to.
test_no_addresses()
{
	local p n

	for p in $programs; do
		n=$(./names_probe --no-debug "$p" | grep -c ' address h ')
		[ "$n" -eq 0 ] || {
			echo "# $p: $n addresses"
			return 1
		}
	done
}

# The local code of each owner is numbered as the file has it.
test_numbers()
{
	local p

	for p in $programs; do
		./names_probe --no-debug "$p" | awk -v file="$p" '
			$6 ~ /\.<local[0-9]+>$/ {
				owner = $6
				sub(/<local[0-9]+>$/, "", owner)
				n = substr($6, length(owner) + 7) + 0
				# a slow entry and its function are one
				if (n > last[owner] + 1) {
					printf "# %s: %s behind %d\n", file, $6, last[owner]
					bad = 1
				}
				if (n > last[owner])
					last[owner] = n
				nr++
			}
			END { exit bad || nr < 8 }' || return 1
	done
}

test_stripped()
{
	write ./stripped || return 1
	./names_probe stripped | grep -v ' r ' | awk '{ print $6 }' |
		grep -v -x -E 'stripped\.hs_0x[0-9a-f]+' | diag | grep . && return 1
	[ "$(./names_probe stripped | grep -c ' h ')" -gt 100 ] &&
		[ "$(./names_probe stripped | sed -n 's/.* r //p')" = '[GHC RTS]' ]
}

test_exact()
{
	write --exact-names ./plain || return 1
	readelf -sW "$(slot plain)" | awk '{ print $8 }' >got
	grep -q -x Main_zdwparse_info got && ! grep -q -x 'Main.$wparse' got &&
		write ./plain || return 1
	readelf -sW "$(slot plain)" | awk '{ print $8 }' >got
	grep -q -x 'Main.$wparse' got && ! grep -q -x Main_zdwparse_info got
}

# Symbols of C code are the same, but the run-time system's are marked.
test_c_symbols()
{
	nm --defined-only plain | sed -n 's/^\([0-9a-f]*\) [tTwW] /\1 /p' | sort >all
	./names_probe plain | awk '{ printf "%016s\n", $1 }' | sort >haskell
	# primitive operations and what GHC makes are decoded
	join -v 1 all haskell |
		grep -v -E '_(info|slow|closure)$| \.L|zh(_|$)| ghczuwrapper| GarbageCollect$' >want
	nm --defined-only "$(slot plain)" | sed -n 's/^\([0-9a-f]*\) [tTwW] /\1 /p' |
		sort >got
	sed 's/\[GHC RTS\] //' got | sort | comm -23 want - | diag | grep . && return 1
	[ "$(wc -l <want)" -gt 400 ] || return 1
	for name in hs_main evacuate StgRun; do
		grep -q " \[GHC RTS\] $name\$" got || return 1
	done
	for name in main _start fdReady; do
		grep -q " $name\$" got || return 1
	done
}

# Two bytes stand for the collector, two for frames that are left out: of code that
# keeps its name around them.
test_stand_ins()
{
	local gc gap

	gc=$(nm plain | sed -n 's/ t GarbageCollect$//p')
	gap=$(nm plain | sed -n 's/ T stg_stack_underflow_frame_info$//p')
	nm -S "$(slot plain)" >got
	[ "$(grep -c -F '[GC]' got)" -eq 1 ] &&
		grep -q -x "$gc 0*2 t \[GC\]" got &&
		grep -q -i -E "^0*$(printf '%x' $((0x$gc + 2))) .* \[GHC RTS\] GarbageCollect$" got &&
		[ "$(grep -c -F '[frames left out]' got)" -eq 1 ] &&
		grep -q -E "^0*$(printf '%x' $((0x$gap + 1))) 0*2 t \[frames left out\]$" got &&
		[ "$(grep -c -E "^($gap|0*$(printf '%x' $((0x$gap + 3)))) .* \[GHC RTS\] stg_stack_underflow_frame$" got)" -eq 2 ]
}

# What GHC makes for foreign imports, and the return address at the end of main().
test_stubs()
{
	local end

	write ./ffi || return 1
	nm "$(slot ffi)" | cut -c 20- >got
	grep -q -x 'Main.callback (wrapper)' got && grep -q -x 'Main.sin (capi)' got &&
		! grep -q -E '^(zd|ghczu)' got || return 1
	end=$(nm -S plain | sed -n 's/^\([0-9a-f]*\) \([0-9a-f]*\) T main$/0x\1 + 0x\2/p')
	[ "$(objdump -d --stop-address=$((end)) plain | tail -n 1 | grep -c call)" -eq 1 ] &&
		[ "$(nm -S "$(slot plain)" | sed -n 's/^\([0-9a-f]*\) \([0-9a-f]*\) T main$/\1 \2/p' |
			{ read -r a b; echo $((0x$a + 0x$b)); })" -eq $((end + 1)) ]
}

# The author's own primitive operations are decoded; C's names never are, and what is
# written in Cmm keeps its name unless that ends with the '#' of one.
test_cmm()
{
	local name

	write ./ffi || return 1
	nm "$(slot ffi)" | cut -c 20- >got
	for name in 'my_prim#' my_zip_loop my_czh; do
		grep -q -x -F -e "$name" got || {
			echo "# no $name"
			return 1
		}
	done
	write --exact-names ./ffi || return 1
	nm "$(slot ffi)" | cut -c 20- | grep -q -x my_primzh
}

# What perf and objdump need is the same as in the file.
test_contents()
{
	local p copy

	for p in $programs; do
		write "./$p" || return 1
		copy=$(slot "$p")
		[ "$(readelf -n "$p" | grep Build)" = "$(readelf -n "$copy" | grep Build)" ] || return 1
		for s in .text .plt .eh_frame .eh_frame_hdr .debug_line .debug_info; do
			readelf -x $s "$p" >a 2>/dev/null
			readelf -x $s "$copy" >b 2>/dev/null
			cmp a b || return 1
		done
		readelf -lW "$p" | grep LOAD >a
		readelf -lW "$copy" | grep LOAD | cmp a - || return 1
		readelf -aW "$copy" 2>&1 >/dev/null | diag | grep . && return 1
		[ "$(stat -c %a "$copy")" = 644 ] || return 1
	done
}

test_perf_slot()
{
	local copy

	# what perf puts there itself may be replaced
	$reg --symbols-only -q --remove all && perf buildid-cache --add "$PWD/plain" &&
		cmp plain "$(slot plain)" && write ./plain || return 1
	readelf -sW "$(slot plain)" | grep -q 'Main.\$wparse$' || return 1
	# and perf leaves ours alone
	copy=$(md5sum <"$(slot plain)")
	perf record -q -e cpu-clock -o data ./plain >/dev/null || return 1
	[ "$copy" = "$(md5sum <"$(slot plain)")" ] || return 1
	# anything else stays
	$reg --symbols-only -q --remove ./plain && perf buildid-cache --add "$PWD/plain" &&
		rm "$(slot plain)" && echo text >"$(slot plain)" || return 1
	$reg --symbols-only ./plain >stdout 2>stderr && return 1
	grep -q 'is neither ours nor a copy of .*perf buildid-cache --remove' stderr &&
		[ "$(cat "$(slot plain)")" = text ] && rm -rf "$cache"
}

# Another copy of the same file; and the file rebuilt.
test_twins()
{
	cp plain dir/one && cp plain dir/two && write dir/one dir/two &&
		[ "$(find "$cache" -name elf -type f | wc -l)" -eq 1 ] &&
		cp debug dir/one && write dir/one &&
		[ "$(find "$cache" -name elf -type f | wc -l)" -eq 2 ] &&
		$reg --symbols-only --remove dir/one >stdout &&
		grep -q '^removed symbols of 2 files: ' stdout &&
		[ -z "$(find "$cache" -type f -o -type l)" ] || return 1
	$reg --symbols-only --remove dir/one 2>stderr && return 1
	grep -q 'no symbols of dir/one' stderr
}

test_config()
{
	rm -rf "$cache"
	printf '# dir = no\n[other]\ndir = /no\n[buildid]\n\tdir = "%s" ; cache\n' \
		"$out/dir/here" >home/.perfconfig
	write ./plain || return 1
	HOME=$HOME perf record -q -e cpu-clock -o data ./plain >/dev/null || return 1
	[ -f "dir/here$out/plain/$(readelf -n plain | sed -n 's/.*Build ID: //p')/elf" ] &&
		[ ! -e "$cache" ] &&
		perf report -i data --stdio 2>/dev/null | grep -q ' Main\.' || return 1
	printf '[buildid]\ndir = here\n' >home/.perfconfig
	$reg --symbols-only ./plain 2>stderr && return 1
	grep -q 'buildid.dir of .*(here) is no absolute path' stderr
}

test_no_build_id()
{
	ghc -v0 -outputdir o-plain -o dir/noid -O "$here/names_main.hs" \
		-optl-Wl,--build-id=none || return 1
	$reg --symbols-only dir/noid 2>stderr && return 1
	grep -q 'dir/noid has no build-id, by which perf finds symbols: link it with' stderr
}

# What can be written is, and what cannot is named.
test_some()
{
	rm -rf "$cache"
	$reg --symbols-only -q ./plain dir/noid ./debug 2>stderr && return 1
	[ "$(grep -c 'dir/noid has no build-id' stderr)" -eq 1 ] &&
		[ "$(wc -l <stderr)" -eq 1 ] && [ -f "$(slot plain)" ] && [ -f "$(slot debug)" ]
}

# No file that is not finished stays: neither ours, nor one of a writer that was
# killed; those of writers that live do, and everybody else's.
test_left()
{
	local dir

	rm -rf "$cache"
	(ulimit -f 100 && $reg --symbols-only ./debug >stdout 2>stderr) && return 1
	diag <stderr
	grep -q '/elf\.[A-Za-z0-9]* cannot be written: File too large' stderr &&
		[ -z "$(find "$cache" -type f)" ] || return 1
	write ./debug || return 1
	dir=$(realpath "$(dirname "$(slot debug)")")
	touch "$dir"/elf.Dead01 "$dir"/elf.Live02 "$dir"/elf.other "$dir"/elf.longer3 "$dir"/mine
	exec 8>"$dir/elf.Live02"
	flock 8
	write ./debug
	[ "$(cd "$dir" && echo *)" = 'elf elf.Live02 elf.longer3 elf.other mine' ] || {
		echo "$dir"/* | diag
		return 1
	}
	exec 8>&-
	rm "$dir"/elf.longer3 "$dir"/elf.other "$dir"/mine
	$reg --symbols-only -q --remove ./debug && [ ! -e "$dir" ]
}

# Root on behalf of a user: nothing but what he could do himself.
test_sudo()
{
	[ "$(id -u)" -eq 0 ] || return 4
	mkdir -p dir/user/cache dir/root && chown -R 65534:65534 dir/user || return 1
	printf '[buildid]\ndir = %s\n' "$out/dir/user/cache" >dir/config
	chmod a+rx . dir
	export SUDO_UID=65534 PERF_CONFIG=$out/dir/config
	write ./plain &&
		[ -z "$(find dir/user/cache ! -uid 65534)" ] &&
		[ "$(find dir/user/cache -name elf | wc -l)" -eq 1 ] &&
		rm -rf dir/user/cache/* dir/user/cache/.build-id || return 1
	# root in the user's home, as after su
	(unset SUDO_UID PERF_CONFIG; HOME=$out/dir/user write ./plain) &&
		[ -z "$(find dir/user/.debug ! -uid 65534)" ] || return 1
	# his folder is a link to root's
	rm -rf dir/user/cache && ln -s "$out/dir/root" dir/user/cache
	$reg --symbols-only ./plain >/dev/null 2>stderr && return 1
	grep -q 'cannot be made: Permission denied' stderr &&
		[ -z "$(find dir/root -type f)" ] || return 1
	# what he may not read
	rm dir/user/cache && mkdir dir/user/cache && chown 65534 dir/user/cache
	cp plain dir/secret && chmod 0700 dir/secret
	$reg --symbols-only dir/secret 2>stderr && return 1
	grep -q 'dir/secret may not be read by ' stderr || return 1
	# of a slot that he may not read, it is not known what is in it
	write ./plain && chmod 0 "$(find dir/user/cache -name elf -type f)" || return 1
	$reg --symbols-only ./plain 2>stderr && return 1
	grep -q '/elf cannot be read by .*: Permission denied' stderr
}

# Damaged files: refused, or written, but never a crash.
test_damaged()
{
	local size i at

	size=$(stat -c %s debug)
	for i in $(seq 60); do
		cp debug dir/bad
		# headers, section headers, symbols, anywhere
		case $((i % 3)) in
		0) at=$((RANDOM % 4096)) ;;
		1) at=$((size - 1 - RANDOM % 8192)) ;;
		2) at=$(((RANDOM * 32768 + RANDOM) % size)) ;;
		esac
		printf '\xff\xff\xff\xff' | dd of=dir/bad bs=1 seek=$at conv=notrunc status=none
		$reg --symbols-only -q dir/bad >stdout 2>&1
		[ $? -le 1 ] && ! grep -E 'Sanitizer|runtime error' stdout | diag | grep . || {
			echo "# byte $at"
			return 1
		}
	done
}

# record FILE [OPTION]...: samples of a run, in data
record()
{
	perf record -q -F 2000 -e cpu-clock:u -o data "${@:2}" "./$1" >/dev/null 2>&1
}

# A real perf shows what we have written, of each sample.
test_perf_script()
{
	local p

	for p in plain debug debug-O0; do
		expected=
		if [ $p != plain ]; then
			python3 "$check" expect $p >expected || return 1
			expected="=expected"
		fi
		write "./$p" && record $p || return 1
		perf script -i data --no-inline -F ip,sym,symoff,dso 2>/dev/null >samples
		python3 "$check" frames "$out/$p=$(slot $p)$expected" <samples &&
			grep -q -E ' Main\.' samples || return 1
	done
}

test_perf_report()
{
	write ./debug-O0 && record debug-O0 || return 1
	perf report -i data --stdio --dso debug-O0 -F overhead,sym 2>/dev/null |
		grep -v -E '^(#|$)' >report
	grep -q 'Main\.parse\.go (names_main\.hs:' report &&
		grep -q '\[.\] Main\.w1\.total (names_main\.hs:28)' report &&
		grep -q '\[.\] \[GHC RTS\] evacuate$' report &&
		! grep -E '0x[0-9a-f]+ *$|z[a-z]\w*_(info|slow|entry)' report | diag | grep .
}

# line WORD: of lines_main.hs, by the comment that marks it
line()
{
	grep -n -e "-- $1\$" "$here/lines_main.hs" | cut -d : -f 1
}

# percent FILE PATTERN: the number in front, without its fraction; 0 if there is none
percent()
{
	sed -n -E "s/^ *([0-9]+)\\.[0-9]+%? +$2.*/\\1/p" "$1" | head -n 1 | grep . || echo 0
}

# The lines of samples: the hot one costs most, the cold one a tenth of that.
test_perf_srcline()
{
	local f p

	write ./lines && record lines || return 1
	perf report -i data --stdio --sort srcline,sym 2>/dev/null >sorted
	perf report -i data --stdio --dso lines -F overhead,srcline,sym 2>/dev/null >shown
	grep lines_main sorted | diag
	for f in sorted shown; do
		[ "$(percent $f "lines_main.hs:$(line hot) +\[\.\] Main\.\\\$wspin")" -ge 60 ] ||
			return 1
		p=$(percent $f "lines_main.hs:$(line cold) +\[\.\] Main\.\\\$wspin")
		[ "$p" -ge 1 ] && [ "$p" -lt 40 ] || return 1
	done
}

# heat WORD: of the instructions below a line of the source, in annotate
heat()
{
	awk -v word="-- $1" '
		/^ +: +[0-9]+ +[^ ]/ { here = index($0, word) > 0 }
		/^ +[0-9.]+ +: +[0-9a-f]+:/ { if (here) sum += $1 }
		END { printf "%d\n", sum }' annotate
}

# The source, and the heat of its lines. The summary in front leaves out instructions
# of up to half a percent each, and with them whole lines; the code leaves out nothing.
test_perf_annotate()
{
	local w

	perf annotate -i data --stdio -l -s 'Main.$wspin' 2>/dev/null >annotate
	sed -n '/^Sorted/,/^ Percent/p' annotate | diag
	grep -m 1 -E '^ +[0-9]+\.[0-9]+ ' annotate | grep -q "lines_main.hs:$(line hot)\$" ||
		return 1
	# each line of the source stands in front of its instructions
	for w in hot cold; do
		echo "# $(heat $w) % at the $w line"
		grep -F -q "$(sed -n "$(line $w)s/^ *//p" "$here/lines_main.hs")" annotate ||
			return 1
	done
	[ "$(heat hot)" -ge 60 ] && [ "$(heat cold)" -ge 1 ] && [ "$(heat cold)" -lt 40 ]
}

# Two recordings of one program.
test_perf_diff()
{
	record lines -g && perf diff data.old data 2>/dev/null >differences &&
		grep -q -E '^ +[0-9.]+% +[-+][0-9.]+% +lines +\[\.\] Main\.\$wspin' differences && return 0
	head -n 20 differences | diag
	return 1
}

# Another user, who is told where the first one's names are.
test_buildid_dir()
{
	HOME=$out/dir perf --buildid-dir "$cache" report -i data --stdio 2>/dev/null |
		grep -q -F 'Main.$wspin' &&
		! HOME=$out/dir perf report -i data --stdio 2>/dev/null | grep -q -F 'Main.$wspin'
}

# Formats that others read: one line per stack, of names without separators.
test_folded()
{
	perf script -i data -s "$(perf --exec-path)/scripts/python/stackcollapse.py" \
		2>/dev/null >folded
	grep -q -E '^lines;(.*;)?Main\.\$wspin [0-9]+$' folded &&
		! grep -v -E ' [0-9]+$' folded | diag | grep .
}

tests="decode blocks all_names debug_names owners no_addresses numbers stripped exact
c_symbols stand_ins stubs cmm contents perf_slot twins config no_build_id some left sudo damaged perf_script
perf_report perf_srcline perf_annotate perf_diff buildid_dir folded"

before()
{
	rm -f home/.perfconfig
	unset SUDO_UID PERF_CONFIG
}

run_tests ghc perf python3
