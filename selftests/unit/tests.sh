# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only
#
# To be sourced. run_tests TOOL... runs the tests that $tests names, and exits; if a
# tool is missing, none. There is a function test_NAME for each, build() makes what
# they need, and before(), if it is there, is called in front of each. A test that
# returns 4 is not possible here.
run_tests()
{
	local t n=0 failed=0

	echo "KTAP version 1"
	for t in "$@"; do
		if ! command -v "$t" >/dev/null; then
			echo "1..0 # SKIP no $t"
			exit 4
		fi
	done
	# shellcheck disable=SC2154 # set by whoever sources this
	echo "1..$(wc -w <<<"$tests")"
	build || {
		echo "Bail out! the tests cannot be built"
		exit 1
	}
	for t in $tests; do
		n=$((n + 1))
		if declare -F before >/dev/null; then
			before
		fi
		"test_$t"
		case $? in
		0) echo "ok $n $t" ;;
		4) echo "ok $n $t # SKIP not possible here" ;;
		*)
			echo "not ok $n $t"
			failed=1
			;;
		esac
	done
	exit $failed
}
