# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the scripts of the fuzzers share.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=$(dirname "$here")/build/fuzz
targets="walk image elf cli"
export HSUNWIND_FUZZ_FILE=$out/good

# Bounds on memory and time of one input, and its length in bytes.
limits()
{
	case $1 in
	elf | cli) set -- 1024 20 512 ;;
	*) set -- 1024 10 64 ;;
	esac
	printf '%s\n' -max_len="$1" -timeout="$2" -malloc_limit_mb="$3" \
		-rss_limit_mb=2048 -verbosity=0 -print_final_stats=0
}

# All kept inputs of a target, one a file: TARGET FOLDER
unpack()
{
	rm -rf "$2"
	mkdir -p "$2"
	if [ -d "$here/inputs/$1" ]; then
		cp "$here/inputs/$1"/* "$2"
	else
		cat "$here/inputs/$1".* | "$out/text" "$1" "$2"
	fi
}

# An input as text, for people: TARGET FILE
show()
{
	if [ "$1" = cli ]; then
		cat -v "$2"
	else
		"$out/text" -d "$1" "$2"
	fi
}
