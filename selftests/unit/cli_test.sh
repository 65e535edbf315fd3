#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of the command line of hsunwind-register, on a stand-in for the device.
# KTAP.
# shellcheck disable=SC2317,SC2015 # test functions are called by name
set -u

here=$(cd "$(dirname "$0")" && pwd)
top=$(dirname "$(dirname "$here")")
out=$top/selftests/build/cli

# shellcheck source=tests.sh
. "$here/tests.sh"

mkdir -p "$out"
cd "$out" || exit 1
rm -rf state dir home
mkdir home
export FAKE_STATE=$out/state LC_ALL=C
# where symbols for perf go
export HOME=$out/home
unset SUDO_UID PERF_CONFIG

reg=./hsunwind-register
prog=./prog

build()
{

	make -s -C "$top/userspace" OUT="$out/san" SAN=1 "$out/san/libhsu.a" \
		"$out/san/libregister.a" "$out/san/hsunwind-stack" &&
		gcc -g -O1 -Wall -Wextra -Werror -D_GNU_SOURCE \
			-fsanitize=address,undefined -fno-sanitize-recover=all \
			-iquote "$top/kmod/core" -I"$top/include/uapi" \
			-Wl,--wrap=open,--wrap=ioctl -o $reg \
			"$here/cli_fake.c" san/libregister.a san/libhsu.a \
			-ldw -lelf -lZydis &&
		ghc -v0 -outputdir o -o "$prog" -O "$here/image_main.hs" \
			"$here/image_main_c.c" &&
		ghc -v0 -outputdir o-dynamic -o "$prog-dynamic" -O -dynamic \
			"$here/image_main.hs" "$here/image_main_c.c" &&
		ghc -v0 -outputdir o-first -o first -O "$here/first_main.hs" &&
		gcc -O2 -o plain "$here/image_plain.c"
}

# run ARGUMENT...: keeps stdout, stderr and the exit status.
run()
{
	$reg "$@" >stdout 2>stderr
	status=$?
	if grep -q -E 'Sanitizer|runtime error' stderr; then
		sed 's/^/# /' stderr
		return 1
	fi
}

# fails STATUS PATTERN ARGUMENT...: no output, and one sentence that matches.
fails()
{
	local want=$1 pattern=$2

	shift 2
	run "$@" || return 1
	if [ "$status" -ne "$want" ] || [ -s stdout ] ||
		[ "$(wc -l <stderr)" -ne 1 ] || ! grep -q -E -e "$pattern" stderr; then
		echo "# $reg $*: status $status, $(cat stderr)"
		return 1
	fi
}

# succeeds ARGUMENT...
succeeds()
{
	run "$@" || return 1
	if [ "$status" -ne 0 ] || [ -s stderr ]; then
		echo "# $reg $*: status $status, $(cat stderr)"
		return 1
	fi
}

# shows PATTERN: in the output of the last run
shows()
{
	grep -q -E -e "$1" stdout && return 0
	echo "# no '$1' in:"
	sed 's/^/# /' stdout
	return 1
}

lacks()
{
	! grep -E -e "$1" stdout | sed 's/^/# /' | grep .
}

is_json()
{
	if command -v jq >/dev/null; then
		jq -e . stdout >/dev/null
	elif command -v python3 >/dev/null; then
		python3 -m json.tool stdout >/dev/null
	fi
}

test_no_module()
{
	local e

	for e in 2 19 6; do
		FAKE_OPEN=$e fails 1 "run 'modprobe hsunwind' first$" "$prog" || return 1
	done
	FAKE_OPEN=2 fails 1 'modprobe hsunwind' --list &&
		FAKE_OPEN=13 fails 1 'run as root or with CAP_PERFMON$' --status &&
		FAKE_OPEN=1 fails 1 'run as root or with CAP_PERFMON$' --remove all
}

test_register()
{
	succeeds "$prog" &&
		shows "^registered $out/prog: .*GHC " &&
		succeeds --list &&
		shows "program .* $out/prog$" &&
		shows 'library .*libc\.so\.6$' &&
		shows 'library .*libgmp' &&
		shows 'library .*ld-linux-x86-64\.so\.2$' &&
		shows 'vdso .*\[vdso\]$'
}

test_again()
{
	local before

	succeeds --list
	before=$(wc -l <stdout)
	succeeds -q "$prog" && [ ! -s stdout ] && succeeds --list &&
		[ "$(wc -l <stdout)" -eq "$before" ]
}

test_dynamic()
{
	succeeds -v "$prog-dynamic" &&
		shows "^registered .*/libHSrts.*: .*GHC " &&
		shows "^registered .*/libHSbase" &&
		grep '^registered' stdout | tail -1 |
		grep -q "^registered $out/prog-dynamic: "
}

# All that is written for perf, and where.
test_symbols()
{
	local slot id

	id=$(readelf -n "$prog" | sed -n 's/.*Build ID: //p')
	slot=home/.debug$out/prog/$id/elf
	rm -rf home/.debug
	succeeds --no-symbols "$prog" && lacks '^wrote' && [ ! -e home/.debug ] &&
		succeeds --dry-run "$prog" && shows "^  symbols +$out/$slot$" &&
		[ ! -e home/.debug ] &&
		succeeds --dry-run --json "$prog" && is_json &&
		shows "\"path\": \"$out/$slot\"" &&
		succeeds "$prog" && shows '^wrote symbols of 1 file for perf: [0-9.]+ .*--remove' &&
		[ -f "$slot" ] && [ "home/.debug/.build-id/${id:0:2}/${id:2}/elf" -ef "$slot" ] &&
		succeeds -q "$prog" && [ ! -s stdout ] &&
		succeeds --remove "$prog" && shows '^removed symbols of 1 file: ' &&
		[ -z "$(find home/.debug -type f)" ]
}

test_symbols_only()
{
	export FAKE_OPEN=2
	succeeds --symbols-only -v "$prog" && lacks '^registered' &&
		shows "^symbols of $out/prog: $out/home/" &&
		fails 2 '--symbols-only needs' --symbols-only --list &&
		fails 2 '--symbols-only and --no-symbols exclude' --symbols-only --no-symbols "$prog" &&
		succeeds --symbols-only --remove all && shows '^removed symbols of' &&
		HOME='' fails 1 'set HOME' --symbols-only --remove all
	local ret=$?
	unset FAKE_OPEN
	return "$ret"
}

# Registration is more important.
test_no_place_for_symbols()
{
	local HOME=$out/dir/nohome

	mkdir -p dir && echo text >dir/nohome
	run "$prog" && [ "$status" -eq 0 ] && shows "^registered $out/prog: " &&
		grep -q 'warning: .*dir/nohome.* cannot be made' stderr &&
		run --symbols-only "$prog" && [ "$status" -eq 1 ]
}

test_lookup()
{
	mkdir -p dir/bin && cp "$prog" dir/bin/hsprog &&
		ln -sf bin/hsprog dir/link || return 1
	PATH=$out/dir/bin:$PATH succeeds hsprog &&
		shows "^registered $out/dir/bin/hsprog: " &&
		succeeds dir/link && shows "^registered $out/dir/bin/hsprog: " &&
		fails 1 '^hsunwind-register: nosuchprog is neither here nor in PATH' nosuchprog &&
		fails 1 '^hsunwind-register: \./nosuchprog cannot be found: No such file' ./nosuchprog ||
		return 1
	local reg="env PATH= $reg"
	fails 1 'nor in PATH' nosuchprog
}

test_script()
{
	cat >dir/wrapper <<-END
	#!/bin/sh
	bindir="$out/dir/bin"
	name='hsprog'
	program="\$bindir/\${name}"
	exec "\$program" -B"/lib" \${1+"\$@"}
	END
	chmod +x dir/wrapper
	printf '#! /usr/bin/env python3\nprint(1)\n' >dir/other
	# shellcheck disable=SC2016
	printf '#!/bin/sh\nexec $(which x) "$@"\n' >dir/third
	fails 1 "dir/wrapper is a script for /bin/sh: register the program that it starts, $out/dir/bin/hsprog$" dir/wrapper &&
		fails 1 'dir/other is a script for /usr/bin/env: register the program that it starts$' dir/other &&
		fails 1 'dir/third is a script for /bin/sh: register the program that it starts$' dir/third
}

# patched FILE OFFSET BYTES: a copy of the program with other bytes
patched()
{
	cp "$prog" "$1" && printf %b "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

test_wrong_files()
{
	echo text >dir/text
	: >dir/empty
	mkfifo dir/fifo
	head -c 100000 "$prog" >dir/truncated
	head -c 40 "$prog" >dir/stub
	patched dir/elf32 4 '\x01' || return 1
	patched dir/bigendian 5 '\x02' || return 1
	patched dir/arm 18 '\xb7\x00' || return 1
	patched dir/object 16 '\x01\x00' || return 1
	fails 1 'dir/text is not an ELF file: give' dir/text &&
		fails 1 'dir/empty is not an ELF file: give' dir/empty &&
		fails 1 'dir/fifo is no regular file: give' dir/fifo &&
		fails 1 'dir is no regular file: give' dir &&
		fails 1 'dir/truncated is truncated.*copy' dir/truncated &&
		fails 1 'dir/stub is truncated.*copy' dir/stub &&
		fails 1 'dir/elf32 is not a 64-bit.*only x86-64' dir/elf32 &&
		fails 1 'dir/bigendian is not a 64-bit.*only x86-64' dir/bigendian &&
		fails 1 'dir/arm is made for another processor.*only x86-64' dir/arm &&
		fails 1 'dir/object is no program or shared library.*linked' dir/object &&
		fails 1 'plain is not made by GHC, and neither is any library' ./plain &&
		fails 1 'dir/text is not an ELF' "$prog" dir/text
}

test_unreadable()
{
	[ "$(id -u)" -eq 0 ] || return 4
	command -v setpriv >/dev/null || return 4
	cp "$prog" dir/secret && chmod 0711 dir/secret || return 1
	local reg="setpriv --reuid=65534 --clear-groups $reg"

	setpriv --reuid=65534 --clear-groups test -x ./hsunwind-register || return 4
	fails 1 'dir/secret cannot be opened: Permission denied' --dry-run dir/secret
}

# A program may name anything as its interpreter: it must not be run.
test_interpreter()
{
	cat >dir/evil <<-END
	#!/bin/sh
	touch $out/dir/pwned
	END
	chmod +x dir/evil
	gcc -o dir/trap "$here/image_plain.c" \
		-Wl,--dynamic-linker="$out/dir/evil" || return 1
	run dir/trap
	[ ! -e dir/pwned ]
}

test_missing_library()
{
	mkdir -p dir/lib
	echo 'int gone(void); int gone(void) { return 1; }' |
		gcc -shared -fPIC -x c -o dir/lib/libgone.so - || return 1
	ghc -v0 -outputdir o -o dir/needy -O "$here/image_main.hs" \
		"$here/image_main_c.c" -optl-Wl,--no-as-needed \
		"-optl-L$out/dir/lib" -optl-lgone 2>/dev/null || return 1
	fails 1 'library libgone.so of .*/dir/needy is not found: install it, or set LD_LIBRARY_PATH' dir/needy ||
		return 1
	LD_LIBRARY_PATH=$out/dir/lib succeeds dir/needy && succeeds --list &&
		shows 'dir/lib/libgone.so$'
}

# Starts the program so that it waits; sets $pid.
start()
{
	coproc "$1" wait
	pid=$COPROC_PID
	while ! grep -q prog "/proc/$pid/comm" 2>/dev/null ||
		! grep -q libgmp "/proc/$pid/maps"; do
		sleep 0.05
	done
}

stop()
{
	kill "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

test_process()
{
	local ok=1

	succeeds --remove all || return 1
	cp "$prog" dir/prog-p
	start dir/prog-p
	succeeds -p "$pid" && shows "^registered process $pid: 7 mappings$" &&
		succeeds --list && shows "^ *$pid +7$" &&
		shows 'library .* .*/dir/prog-p$' && shows 'vdso' &&
		shows 'libgmp' && succeeds --remove "$pid" &&
		succeeds --list && lacks "^ *$pid +7$" &&
		fails 1 "process $pid is not registered" --remove "$pid" && ok=0
	if [ "$(id -u)" -eq 0 ] && [ "$ok" -eq 0 ]; then
		rm dir/prog-p
		succeeds --dry-run -p "$pid" && shows '/dir/prog-p \(deleted\)$' || ok=1
	fi
	stop
	return "$ok"
}

# Registering a process must not disarm its program.
test_keep_program()
{
	local ok=1

	succeeds --remove all && succeeds "$prog" || return 1
	start "$prog"
	succeeds --pid "$pid" && succeeds --list &&
		shows "program .* $out/prog$" && ok=0
	stop
	return "$ok"
}

# What is shown is a matter of the file that is asked for, not of its libraries.
test_shown()
{
	local ok=1

	succeeds --remove all &&
		succeeds --show-internal --gc drop --fold-recursion "$prog-dynamic" &&
		succeeds --list &&
		shows 'program .*/prog-dynamic  --show-internal  --gc=drop  --fold-recursion$' &&
		shows '/libHSbase.*\.so$' && lacks '\.so  --' &&
		succeeds --list --json && is_json &&
		shows '^ +"--gc=drop",?$' || return 1
	# The last one counts, and so does the last registration.
	succeeds --gc=drop --gc=show --show-rts "$prog-dynamic" && succeeds --list &&
		shows '/prog-dynamic  --show-rts  --gc=show$' &&
		succeeds --gc=show --gc=collapse "$prog-dynamic" && succeeds --list &&
		shows '/prog-dynamic$' || return 1
	# A process says it of its program; as a library of another one keeps its own.
	start "$prog"
	succeeds --pid "$pid" --show-rts && succeeds --list &&
		shows "library .* $out/prog  --show-rts$" && lacks '\.so[.0-9]*  --' && ok=0
	stop
	fails 2 '--gc takes collapse, show or drop, not some' --gc=some "$prog" &&
		fails 2 'what is shown is told when a program is registered' --list --show-rts &&
		fails 2 'what is shown is told' --symbols-only --gc=show "$prog" || return 1
	return "$ok"
}

# One's own beside that for everyone: neither replaces the other.
test_own()
{
	local uid

	uid=$(id -u)
	succeeds --remove all && succeeds --own "$prog" && succeeds --list &&
		shows "program .* $out/prog  --own \(user $uid\)$" &&
		shows "vdso .*  --own \(user $uid\)$" &&
		succeeds --list --json && is_json && shows "^ +\"uid\": $uid,$" &&
		shows '^ +"--own"' &&
		succeeds "$prog" && succeeds --list && shows "program .* $out/prog$" &&
		shows "program .* $out/prog  --own" &&
		succeeds --remove "$prog" && succeeds --list && lacks "/prog( |$)" &&
		fails 2 '--own needs a program or -p' --own --list &&
		fails 2 '--own and --symbols-only exclude each other' \
			--own --symbols-only "$prog"
}

# Between the reading of a file and its registration.
test_changed_meanwhile()
{
	cp "$prog" dir/changed && succeeds --remove all || return 1
	FAKE_TOUCH=$PWD/dir/changed fails 1 \
		'dir/changed was changed while it was read: register it again$' \
		-q dir/changed && succeeds --list && lacks 'dir/changed' &&
		succeeds dir/changed && succeeds --list && shows 'dir/changed$'
}

test_wrong_processes()
{
	fails 1 'there is no process 99999999' -p 99999999 &&
		fails 1 "process $$ runs no code made by GHC" -p $$ &&
		fails 2 'not a process number: 12x' -p 12x &&
		fails 2 'not a process number: 0' --pid=0 || return 1
	[ "$(id -u)" -ne 0 ] || [ ! -e /proc/2/maps ] || [ -s /proc/2/maps ] ||
		fails 1 'process 2 maps no program: it is a kernel thread' -p 2
}

test_remove()
{
	succeeds --remove all && succeeds "$prog" && succeeds "$prog-dynamic" &&
		succeeds --remove ./prog && succeeds --list &&
		lacks "$out/prog$" && shows "$out/prog-dynamic$" &&
		fails 1 '^hsunwind-register: \./prog is not registered: --list' --remove ./prog &&
		fails 1 'nosuchprog is not registered: --list' --remove nosuchprog &&
		succeeds --remove all && succeeds --list && shows '^no files' || return 1
	# by the name that --list shows, when the file is gone
	cp "$prog" dir/gone && succeeds dir/gone && rm dir/gone &&
		succeeds --remove "$out/dir/gone"
}

test_status()
{
	succeeds --status && shows '^samples +10000 ' &&
		shows '^complete +9995 +99\.950 % ' &&
		shows '^no-code +5 +0\.050 % .*-p PID' && lacks '^bad-frame' &&
		succeeds --status -v && shows '^bad-frame +0 ' &&
		succeeds --status --json && shows '"complete": 9995' && is_json
}

# The reasons in the header, by number, are what --status shows, in order.
test_reasons()
{
	succeeds --status -v || return 1
	sed -n -E 's/^	X\([0-9]+, [A-Z0-9_]+, "([a-z0-9-]+)".*/\1/p' \
		"$top/include/uapi/hsunwind.h" | sort >want
	awk '$2 ~ /^[0-9]+$/ { print $1 }' stdout | sort | diff want - | sed 's/^/# /'
	[ "${PIPESTATUS[1]}" -eq 0 ]
}

test_ioctl_errors()
{
	FAKE_IOCTL='image_add 22' fails 1 'refuses the image of .*hsunwind_image_add.data' -q "$prog" &&
		FAKE_IOCTL='image_add 27' fails 1 'hsunwind_image_add.len is [0-9]+' -q "$prog" &&
		FAKE_IOCTL='image_add 9' fails 1 'hsunwind_image_add.fd' -q "$prog" &&
		FAKE_IOCTL='image_add 28' fails 1 'no room for the image of .*--remove' -q "$prog" &&
		FAKE_IOCTL='image_add 28' fails 1 'raise max_images or max_bytes in /sys/module/hsunwind/parameters$' -q "$prog" &&
		FAKE_IOCTL='image_add 122' fails 1 'raise max_user_images or max_user_bytes in /sys' -q "$prog" &&
		FAKE_IOCTL='image_add 26' fails 1 'is open for writing .hsunwind_image_add.fd.*again' -q "$prog" &&
		FAKE_IOCTL='image_add 1' fails 1 'or give --own$' -q "$prog" &&
		FAKE_IOCTL='image_add 12' fails 1 'no memory left' -q "$prog" &&
		FAKE_IOCTL='image_add 1' fails 1 'run as root or with CAP_PERFMON' -q "$prog" &&
		FAKE_IOCTL='image_add 7' fails 1 'hsunwind_image_add.size' -q "$prog" &&
		FAKE_IOCTL='image_next 25' fails 1 'does not know hsunwind_image_info: load' --remove "$prog" &&
		FAKE_IOCTL='stats 22' fails 1 'a field of hsunwind_stats' --status &&
		FAKE_IOCTL='process_remove 1' fails 1 'none that you may trace .hsunwind_process.pid' --remove 1 &&
		FAKE_IOCTL='stats 1' fails 1 'run as root or with CAP_PERFMON' --status &&
		FAKE_IOCTL='stats 5' fails 1 'hsunwind_stats failed: Input/output error' --status
}

test_dry_run()
{
	FAKE_OPEN=2 succeeds --dry-run "$prog" && shows "^$out/prog$" &&
		shows '^  GHC +[0-9]+\.[0-9]+\.[0-9]+; known by' &&
		shows '^  StgRun +frame of 16440 bytes' &&
		shows '^  stand-ins +0x[0-9a-f]+ for the .*, 0x[0-9a-f]+ for frames' &&
		shows '^	haskell +[0-9.]+ KiB' && shows '^	rts ' &&
		lacks '^  losses' && succeeds -v --dry-run "$prog" &&
		shows '^  losses +0 inexpressible rows, 0 damaged' &&
		shows '^/.*/libgmp\.so' || return 1
	succeeds --dry-run --json "$prog" && is_json && shows '"haskell": true' &&
		shows '"frame": 16440'
}

test_usage()
{
	fails 2 'no program given' &&
		fails 2 'exclude each other' --list --status &&
		fails 2 'too many arguments' --list "$prog" &&
		fails 2 'too many arguments' --status -p 1 &&
		fails 2 '--dry-run needs' --dry-run --list &&
		fails 2 '--json needs' --json "$prog" &&
		fails 2 "not a process number: '';" -p '' &&
		fails 2 "drop, not '';" --gc= "$prog" &&
		fails 1 ": '' (cannot be found|is neither here)" '' || return 1
	run --nonsense && [ "$status" -eq 2 ] && grep -q -e --help stderr || return 1
	run -p && [ "$status" -eq 2 ] || return 1
	succeeds --help && shows '^usage:' && succeeds --version &&
		shows "^hsunwind-register $(cat "$top/VERSION")$"
}

test_full_disk()
{
	[ -e /dev/full ] || return 4
	$reg --help >/dev/full 2>stderr
	[ $? -eq 1 ] && grep -q 'cannot be written' stderr
}

test_man_page()
{
	local page=$top/userspace/man/hsunwind-register.8 o

	$reg --help | grep -o -E -e '--[a-z-]+' | sort -u >options
	while read -r o; do
		grep -q -E "Fl -${o#--}( |,|\$)" "$page" || {
			echo "# $o is not in the manual page"
			return 1
		}
	done <options
	command -v mandoc >/dev/null || return 0
	! mandoc -T lint -W warning "$page" | sed 's/^/# /' | grep .
}

# hsunwind-stack reads copies of the mapped files only if they are copies.
test_copies()
{
	local pid ret=0

	mkfifo -m 600 input.fifo 2>/dev/null
	rm -rf copies && mkdir copies
	$prog wait <input.fifo >/dev/null 2>&1 &
	pid=$!
	exec 9>input.fifo
	refused_copies "$pid" || ret=1
	exec 9>&-
	wait "$pid"
	return "$ret"
}

# stack OPTION... PID: prints what it says in case of errors.
stack()
{
	san/hsunwind-stack --files copies -q "$@" >stdout 2>stderr
}

refused_copies()
{
	local pid=$1 o

	strip -o copies/prog "$prog" || return 1
	for o in -q --both; do
		stack "$o" "$pid" && ! [ -s stderr ] || return 1
		# Another program, and none at all.
		cp plain copies/prog
		! stack "$o" "$pid" || return 1
		[ "$(wc -l <stderr)" -eq 1 ] &&
			grep -q -E "copies/prog is no copy of .*/prog: build-id [0-9a-f]+, not [0-9a-f]+; copy it" stderr ||
			{ cat stderr; return 1; }
		echo text >copies/prog
		! stack "$o" "$pid" && grep -q 'copies/prog' stderr ||
			{ cat stderr; return 1; }
		strip -o copies/prog "$prog"
	done
}

# Code that has no symbol is not called by one that tells no size: those of C's
# start-up code lie directly in front of it.
test_no_wrong_name()
{
	local pid

	[ "$(readelf -sW first | awk '$8 == "frame_dummy" { print $3 }')" = 0 ] || return 1
	./first >/dev/null &
	pid=$!
	sleep 0.5
	san/hsunwind-stack "$pid" >stdout 2>stderr
	kill "$pid"
	wait "$pid" 2>/dev/null
	sed 's/^/# /' stdout
	grep -q -E '^#0 +L 0x[0-9a-f]+ \(first\)$' stdout &&
		grep -q -E '^#[0-9]+ +H 0x[0-9a-f]+ ' stdout &&
		! grep frame_dummy stdout
}

tests="no_module register again dynamic symbols symbols_only
no_place_for_symbols lookup script wrong_files unreadable
interpreter missing_library process keep_program shown own changed_meanwhile
wrong_processes remove status
reasons ioctl_errors dry_run usage full_disk man_page copies no_wrong_name"

run_tests ghc
