#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Usage: vm-test.sh [TEST]...
#
# What `perf record -g` shows with the module: runs as root in the guest, in the
# folder that ./vm has put together. Prints KTAP. With --list, the tests.
#
# The guest may be emulated, 10 to 20 times slower than the host: programs run
# for a few seconds, and the number of samples that is enough is small.

# Tests are called by name.
# shellcheck disable=SC2317

set -u
cd "$(dirname -- "$0")/.." || exit 1
here=$PWD
fixtures=$here/fixtures
recordings=/tmp/recordings	# fetched by ./vm
register=$here/hsunwind-register
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
# For fixtures made with -dynamic, and for hsunwind-register.
export LD_LIBRARY_PATH=$fixtures/lib

seconds=3
rate=249
exact='chain chain-thr chain-dyn chain-pie chain-strip mixed mixed-thr mixed-dyn cmain frames bound-thr integer'
exact+=' ffi_args ffi_kinds ffi_pointers ffi_cxx ffi_nested ffi_threads-thr'
exact+=' async-thr stm-thr lazy-strip recursion processes-thr'

say()
{
	printf '# %s\n' "$*"
}

# record FILE OPTION... -- COMMAND...: a recording, with what went wrong shown.
record()
{
	local file=$1

	shift
	perf record -q -e cpu-clock -F "$rate" -g -o "$file" "$@" \
		>record.out 2>record.err || {
		sed 's/^/# perf record: /' record.err
		return 1
	}
}

check()
{
	"$here/accuracy/perf_chain" "$@"
}

# map NAME
map()
{
	printf '%s' "$fixtures/$1.map"
}

# Why walks have ended so far: name:number lines from --status.
stops()
{
	"$register" --status --json | tr -d ' \n' |
		sed -n 's/.*"stops":{\([^}]*\)}.*/\1/p' | tr -d '"' | tr ',' '\n'
}

# Compares two files of stops(): at least 99.95 % complete, of at least $3.
complete_enough()
{
	awk -F: -v least="$3" '
		NR == FNR { before[$1] = $2; next }
		{ d = $2 - before[$1]; total += d; n[$1] = d }
		END {
			for (s in n)
				if (n[s])
					printf "# %8d %s\n", n[s], s
			printf "# %d samples, %.3f %% complete\n", total,
				total ? 100 * n["complete"] / total : 0
			exit total < least || n["complete"] < 0.9995 * total
		}' "$1" "$2"
}

# run_counted PROGRAM LEAST COMMAND...: completeness by the module's own counters.
run_counted()
{
	local name=$1 least=$2 status

	shift 2
	stops >before
	# -B: nobody reads this, and looking up the files of all frames is slow.
	perf record -q -B --buildid-mmap -e cpu-clock -F 997 -g -o counted.data "$@" \
		>record.out 2>record.err
	stops >after
	complete_enough before after "$least"
	status=$?
	[ "$status" -eq 0 ] || check ends "$name" counted.data
	case $name in
	pandoc) mkdir -p "$recordings" && mv counted.data "$recordings/$name.data" ;;
	*) rm -f counted.data ;;
	esac
	return "$status"
}

# What the tests that are run need; with all libraries, once. Where all stacks are
# to be complete, those of the collector count, too.
test_register()
{
	mapfile -t programs < <(programs_needed | grep -v '^complete_' | sort -u)
	register_programs || return 1
	mapfile -t programs < <(programs_needed | sed -n 's/^complete_//p')
	register_programs --gc=show
}

# register_programs OPTION...: all in programs, if there are any
register_programs()
{
	local program paths=()

	for program in "${programs[@]}"; do
		case $program in
		pandoc | shellcheck) program=$(command -v "$program") ;;
		*) program=$fixtures/$program ;;
		esac
		paths+=("$program")
	done
	[ ${#paths[@]} -gt 0 ] || return 0
	"$register" --no-symbols "$@" "${paths[@]}" >out 2>&1 || {
		sed 's/^/# /' out
		return 1
	}
}

programs_needed()
{
	local name args

	while read -r name args; do
		case $name in
		exact | tight) echo "$args" ;;
		first | by_pid | tracepoint) echo mixed && echo chain ;;
		system_wide | bpftrace | bcc | unchanged) echo chain ;;
		recordings) echo demo && echo demo-plain ;;
		gap) echo deep ;;
		complete_threads) echo complete_threads-thr ;;
		complete_threads_dyn) echo complete_threads-dyn ;;
		complete_*) echo "$name" ;;
		esac
	done <tests
}

# Why walks of the samples in a test have ended; also tells what perf shows of a
# walk that broke off.
show_stops()
{
	stops >now
	awk -F: 'NR == FNR { before[$1] = $2; next }
		$2 > before[$1] { printf "# %8d %s\n", $2 - before[$1], $1 }' "$1" now
}

# Options for the run-time system: many threads at once, small stack chunks, no
# ticks whose handler would be on top of the work.
rts_options()
{
	case $1 in
	async-thr | stm-thr) echo '+RTS -N2' ;;
	recursion) echo '+RTS -ki1k -kc2k -kb1k' ;;
	signals) echo '+RTS -V0' ;;
	esac
}

# test_exact PROGRAM [DIVISOR]
test_exact()
{
	stops >before
	# shellcheck disable=SC2046
	record exact.data -- "$fixtures/$1" "$seconds" "${2-1}" \
		$(rts_options "$1") || return 1
	show_stops before
	check exact "$(map "$1")" "$1" exact.data
}

# Stops where functions begin, call and return.
test_tight()
{
	test_exact "$1" 20000
}

test_first()
{
	# Anew, so that nothing is known of earlier processes.
	"$register" --remove all >out 2>&1
	"$register" --no-symbols "$fixtures/chain" "$fixtures/mixed" >out 2>&1 || return 1
	cat >many.sh <<-'END'
		for i in $(seq 40); do "$1" 0.3 & done
		wait
	END
	record first.data -a -- bash many.sh "$fixtures/chain" >/dev/null || return 1
	check --least 30 --bar 100 first "$(map chain)" chain first.data || return 1
	# One after the other.
	# shellcheck disable=SC2016
	record first.data -a -- bash -c \
		'for i in $(seq 10); do "$0" 0.3; done' "$fixtures/mixed" || return 1
	check --least 8 --bar 100 first "$(map mixed)" mixed first.data
}

test_system_wide()
{
	local pid status

	"$fixtures/chain" 60 >/dev/null &
	pid=$!
	record wide.data -a -- sleep "$seconds" &&
		check exact "$(map chain)" chain wide.data
	status=$?
	kill "$pid"
	return "$status"
}

test_by_pid()
{
	local pid status

	"$fixtures/mixed" 60 >/dev/null &
	pid=$!
	sleep 1
	record pid.data -p "$pid" -- sleep "$seconds" &&
		check exact "$(map mixed)" mixed pid.data
	status=$?
	kill "$pid"
	return "$status"
}

# A tracepoint's sample is taken in the kernel: two programs that take turns on
# one CPU are switched in the middle of their work.
test_tracepoint()
{
	local chain mixed

	taskset -c 0 "$fixtures/chain" 60 >/dev/null &
	chain=$!
	taskset -c 0 "$fixtures/mixed" 60 >/dev/null &
	mixed=$!
	sleep 1
	perf record -q -e sched:sched_switch -g -a -o tp.data -- sleep "$seconds" \
		>record.out 2>&1
	kill "$chain" "$mixed"
	check --least 20 exact "$(map chain)" chain tp.data &&
		check --least 20 haskell "$(map mixed)" mixed tp.data
}

test_bpftrace()
{
	local pid

	# It must live until bpftrace has looked up its symbols, at the end.
	"$fixtures/chain" 300 >/dev/null &
	pid=$!
	timeout -s INT 200 bpftrace -e \
		'profile:hz:99 { @[ustack] = count(); } interval:s:6 { exit(); }' \
		>bpftrace.out 2>&1
	kill "$pid"
	# One stack with all the functions, in order.
	awk '
		/^@\[/ { chain = "" }
		match($1, /Main_(f[0-9]+|loop|top)_info/) {
			split($1, part, "_")
			chain = chain " " part[2]
		}
		/^\]: / {
			n = substr($0, 4)
			all += n
			if (chain ~ /f12 f11 f10 f9 f8 f7 f6 f5 f4 f3 f2 f1 loop/)
				good += n
		}
		END {
			printf "# %d samples of all programs, %d with the whole chain\n", all, good
			exit good < 50
		}' bpftrace.out || {
		head -n 40 bpftrace.out | sed 's/^/# /'
		return 1
	}
}

# bcc compiles its programs for this kernel, with the headers from /add.
# folded FILE DEEP: are these the stacks of chain, root first, and a number? At
# least the share DEEP must be of its longest ones.
folded()
{
	awk -v least="$2" '
		{ all += $NF }
		/^chain;Main_top_info;Main_loop_info;/ { good += $NF }
		/;Main_f1_info;.*;Main_f11_info;Main_f12_info;Main_(spin|work)/ { deep += $NF }
		END {
			printf "# %d in all, %d from the root, %d through f12\n", all, good, deep
			exit good < 0.95 * all || deep < least * all || all < 30
		}' "$1" && return 0
	cut -c 1-200 "$1" | head -n 20 | sed 's/^/# /'
	return 1
}

test_bcc()
{
	local pid status release

	release=$(uname -r)
	ln -sfn "/add/src/linux-headers-$release" "/lib/modules/$release/build"
	ln -sfn "/add/src/linux-headers-${release%-*}-common" \
		"/lib/modules/$release/source"
	"$fixtures/chain" 600 >/dev/null &
	pid=$!
	profile-bpfcc -f -U -F 49 -p "$pid" 4 >profile.out 2>log &&
		folded profile.out 0.2 &&
		offcputime-bpfcc -f -U -p "$pid" 3 >offcpu.out 2>>log &&
		folded offcpu.out 0
	status=$?
	kill "$pid"
	[ "$status" -eq 0 ] || tail -n 5 log | sed 's/^/# /'
	return "$status"
}

test_complete_threads()
{
	run_counted threads-thr 1000 "$fixtures/threads-thr" 15 50 +RTS -N2 -A64k -kc2k -kb1k
}

test_complete_threads_dyn()
{
	run_counted threads-dyn 1000 "$fixtures/threads-dyn" 15 50 +RTS -N2 -A64k -kc2k -kb1k
}

test_complete_pandoc()
{
	run_counted pandoc 1000 timeout 20 pandoc -f markdown -t html -o /dev/null \
		"$fixtures/input.md"
}

test_complete_shellcheck()
{
	run_counted shellcheck 1000 timeout 20 shellcheck "$fixtures/input.sh"
}

# record_event EVENT COMMAND...: a recording of each of them
record_event()
{
	perf record -q --buildid-all -e "$1" -c 1 -g -o "$recordings/${1##*:}.data" \
		"${@:2}" >/dev/null 2>record.err && return 0
	say "$1: $(cat record.err)"
	return 1
}

# What ./names looks at on the host, where it need not be emulated: recordings of
# a program with and without -g, by time and by events.
test_recordings()
{
	local demo=$fixtures/demo event other status

	mkdir -p "$recordings" || return 1
	# what it would be without hsunwind
	"$register" --remove "$demo" >out && record "$recordings/before.data" -- "$demo" 5 >/dev/null &&
		"$register" -q "$demo" || return 1
	record "$recordings/debug.data" -- "$demo" 15 >/dev/null &&
		record "$recordings/plain.data" -- "$demo-plain" 15 >/dev/null || return 1
	# stg_gc_noregs: where Haskell code goes when its allocation area is full
	echo "p:hs/full $demo:$(cat "$fixtures/full")" >/sys/kernel/tracing/uprobe_events ||
		return 1
	# Another one on the same CPU, so that it is made to wait in its own code.
	taskset -c 0 "$demo" 1000 >/dev/null &
	other=$!
	record_event sched:sched_switch taskset -c 0 "$demo" 2
	status=$?
	kill "$other"
	[ "$status" -eq 0 ] || return 1
	for event in page-faults raw_syscalls:sys_enter hs:full; do
		record_event "$event" "$demo" 2 || return 1
	done
	echo >/sys/kernel/tracing/uprobe_events
	perf trace -e write,mmap --call-graph fp -o "$recordings/trace.txt" \
		"$demo" 2 >out 2>&1 || return 1
	"$register" --symbols-only -q --remove all
}

# A stack much deeper than what perf takes by default.
test_gap()
{
	local status

	"$register" --symbols-only -q "$fixtures/deep" &&
		sysctl -q kernel.perf_event_max_stack=127 &&
		record gap.data -- "$fixtures/deep" "$seconds" &&
		check gap "$(map deep)" deep gap.data
	status=$?
	sysctl -q kernel.perf_event_max_stack=4000
	"$register" --symbols-only -q --remove all
	return "$status"
}

# collected FILE MODE: a recording of a program that collects a lot.
collected()
{
	"$register" -q --gc="$2" "$fixtures/threads-thr" &&
		record "$1" -- "$fixtures/threads-thr" "$seconds" 50 +RTS -N2 -A64k
}

# The collector is one frame, or none, on all threads.
test_gc()
{
	local status

	collected gc.data collapse && check gc "$(map threads-thr)" threads-thr gc.data &&
		collected drop.data drop &&
		check --least 20 no-gc "$(map threads-thr)" threads-thr drop.data
	status=$?
	"$register" -q --no-symbols --gc=show "$fixtures/threads-thr"
	"$register" --symbols-only -q --remove all
	return "$status"
}

# A program that is not registered: as if there were no module. Last, since it
# unloads it.
test_unchanged()
{
	record with.data -- setarch -R "$fixtures/fp" "$seconds" || return 1
	modprobe -r hsunwind || return 1
	record without.data -- setarch -R "$fixtures/fp" "$seconds" || return 1
	modprobe hsunwind || return 1
	check same with.data without.data
}

all_tests()
{
	local name

	echo register
	for name in $exact; do
		echo "exact $name"
	done
	for name in chain mixed mixed-thr frames; do
		echo "tight $name"
	done
	echo gap
	echo gc
	printf '%s\n' complete_threads complete_threads_dyn complete_pandoc \
		complete_shellcheck system_wide by_pid tracepoint bpftrace bcc \
		recordings first unchanged
}

if [ "${1-}" = --list ]; then
	all_tests | tr ' _' '-'
	exit 0
fi

# Deep stacks: as many frames as a record of 64 KiB has room for. Only possible
# while nothing is recorded.
sysctl -q kernel.perf_event_max_stack=4000 kernel.perf_event_paranoid=-1

# wanted NAME PATTERN...
wanted()
{
	local name=$1 pattern

	shift
	for pattern; do
		# shellcheck disable=SC2053
		[[ $name != $pattern ]] || return 0
	done
	# What all others need.
	[ $# -eq 0 ] || [ "$name" = register ]
}

all_tests | while read -r line; do
	! wanted "$(tr ' _' '-' <<<"$line")" "$@" || echo "$line"
done >tests
printf 'KTAP version 1\n1..%d\n' "$(wc -l <tests)"
number=0
failed=0
while read -r name args <&3; do
	number=$((number + 1))
	start=$SECONDS
	# shellcheck disable=SC2086
	if "test_$name" $args; then
		result=ok
	else
		result='not ok'
		failed=1
	fi
	say "$((SECONDS - start)) s"
	echo "$result $number perf-${name//_/-}${args:+-$args}"
	if [ "$name $result" = 'register not ok' ]; then
		echo 'Bail out! Without a registration there is nothing to test.'
		break
	fi
done 3<tests
"$register" --status | sed 's/^/# /'
exit $failed
