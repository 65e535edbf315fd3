#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Usage: hostile.sh [SECONDS]
#
# Samples programs that do their worst, each for SECONDS (10). They must be
# unwound, nobody may be hurt, and every sample must be accounted for. As root,
# with the module loaded; prints KTAP.
set -u
cd "$(dirname "$0")" || exit 1
# shellcheck source=lib.sh
. ./lib.sh
seconds=${1:-10}
modes=(rewrite unmap maps exec fork exit pids)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# run_mode MODE: the program's own verdict, and that it was sampled.
run_mode()
{
	local before status taken

	before=$(counter samples)
	# Its exit status is that of the program, which starts when perf is ready.
	perf record -a -g -F 999 -e cpu-clock -o - -- \
		"$work/program" "$1" "$seconds" 2>"$work/log" >/dev/null
	status=$?
	sed 's/^/# /' "$work/log"
	taken=$(($(counter samples) - before))
	say "$1: $taken samples"
	[ $status -eq 0 ] && [ $taken -gt 0 ] && counters_add_up
}

echo "KTAP version 1"
echo "1..$((${#modes[@]} + 1))"
cp hostile "$work/program"
./hostile register "$work/program" || exit 1
for mode in "${modes[@]}"; do
	[ "$mode" != pids ] || sysctl -qw kernel.pid_max=400
	run_mode "$mode"
	result $? "$mode"
	sysctl -qw kernel.pid_max=32768
done

# Nobody is left.
forgotten()
{
	! "$register" --list --json | grep -q '"pid"'
}
eventually 20 forgotten
result $? "they are forgotten"
"$register" --status | sed 's/^/# /'
exit $failed
