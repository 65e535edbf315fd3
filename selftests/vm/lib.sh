# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What run, kdir and build-root have in common. Sourced, never executed.

# Tools of a Debian system live in sbin too, which a user's PATH often lacks.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

# These names are used by the scripts that source this file.
# shellcheck disable=SC2034
{
	vm_dir=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
	repo_dir=$(CDPATH='' cd -- "$vm_dir/../.." && pwd)
	cache_dir=${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/hsunwind/vm
	default_suite=bookworm
}

say()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
}

# 125 is "the runner failed", as in timeout(1) and env(1): a COMMAND in the
# guest hardly ever uses it, so the two can be told apart.
die()
{
	say "$*"
	exit 125
}

die_usage()
{
	say "$* (try '${0##*/} --help')"
	exit 2
}

# The text of --help is the comment block at the top of each script, so that
# the two cannot differ.
help_from_header()
{
	sed -n -e '1,2d' -e '/^#/!q' -e 's/^# \{0,1\}//p' "$0"
}

# An option's argument, or the sentence that it is missing.
need_arg()
{
	[ "$2" -ge 2 ] || die_usage "$1 needs an argument"
}

check_suite()
{
	case $1 in
	'' | *[!a-z0-9-]*) die_usage "'$1' is not a name of a Debian suite" ;;
	esac
}

check_number()
{
	case $2 in
	'' | 0 | *[!0-9]*) die_usage "$1 needs a whole number above 0, not '$2'" ;;
	esac
}

as_root()
{
	if [ "$(id -u)" -eq 0 ]; then
		"$@"
	elif command -v sudo >/dev/null; then
		sudo -- "$@"
	else
		die "this needs root once, to run '$1', and there is no sudo: run it as root"
	fi
}

# need_packages COMMAND:PACKAGE... - installs the packages whose command is
# missing. The lock keeps two runners from fighting over apt's lists, which
# apt, unlike dpkg's database, cannot wait for.
need_packages()
{
	local pair missing=()

	for pair in "$@"; do
		command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
	done
	[ ${#missing[@]} -gt 0 ] || return 0

	command -v apt-get >/dev/null ||
		die "please install what provides: ${missing[*]} (no apt-get here to do it)"
	say "installing ${missing[*]}"
	mkdir -p "$cache_dir"
	(
		flock 9
		as_root apt-get -q update &&
			as_root env DEBIAN_FRONTEND=noninteractive \
				apt-get -qy -o DPkg::Lock::Timeout=600 \
				install --no-install-recommends "${missing[@]}"
	) 9>"$cache_dir/apt.lock" >"$cache_dir/apt.log" 2>&1 || {
		tail -n 20 "$cache_dir/apt.log" >&2
		die "could not install ${missing[*]}: see above, or install them by hand"
	}
}

check_machine()
{
	[ "$(uname -m)" = x86_64 ] ||
		die "only x86-64 guests on x86-64 hosts are supported, this is $(uname -m)"
}

# make_ext4 FOLDER IMAGE - 10 % and 32 MB are ample for ext4's own tables; what
# is not used of them stays a hole. There is no journal, as nobody writes. mke2fs
# may make up to 8 inodes fewer than it is told for each group of 8 MB or more.
make_ext4()
{
	local kib files

	kib=$(du -sk -- "$1" | cut -f1)
	files=$(find "$1" | wc -l)
	kib=$((kib * 11 / 10 + 32768))
	truncate -s "${kib}K" "$2"
	mke2fs -q -F -t ext4 -O ^has_journal -E root_owner=0:0 -m 0 \
		-N "$((files + kib / 1024 + 64))" -d "$1" "$2" >&2
}
