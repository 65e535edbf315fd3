# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the scripts here have in common. Sourced, never executed, in the folder
# that ./vm has put together.

# These names are used by the scripts that source this file.
# shellcheck disable=SC2034
{
	fixtures=$PWD/fixtures
	register=$PWD/hsunwind-register
	modules=$PWD/modules
	failed=0
}
export LD_LIBRARY_PATH=$fixtures/lib

n=0

say()
{
	printf '# %s\n' "$*"
}

# result STATUS NAME
result()
{
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n $2"
	else
		echo "not ok $n $2"
		# shellcheck disable=SC2034
		failed=1
	fi
}

# subtests PROGRAM: it prints KTAP itself, which is indented.
subtests()
{
	local status

	"./$1" >log
	status=$?
	sed 's/^TAP version.*/KTAP version 1/; s/^/  /' log
	result $status "$1"
}

# Waits up to $1 seconds for the rest to succeed.
eventually()
{
	local end=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}

# A counter or stop reason of the module by name.
counter()
{
	"$register" --status --json | tr -d ' \n' |
		sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p"
}

# Every sample has ended for a reason, or was left to the kernel. To be called
# while nobody samples. Leaves the two numbers in samples and accounted.
counters_add_up()
{
	local status

	status=$("$register" --status --json | tr -d ' \n') || return 1
	samples=$(sed -n 's/.*"samples":\([0-9]*\).*/\1/p' <<<"$status")
	accounted=$(sed -n 's/.*"stops":{\([^}]*\)}.*/\1/p' <<<"$status" |
		tr ',' '\n' | awk -F: '{ n += $2 } END { printf "%d", n }')
	accounted=$((accounted + $(sed -n 's/.*"busy":\([0-9]*\).*/\1/p' <<<"$status")))
	[ -n "$samples" ] && [ "$samples" -eq "$accounted" ]
}

# The last kernel message that has $1, without what is in front of that.
message()
{
	dmesg | sed -n "s/.*\($1\)/\1/p" | tail -n 1
}
