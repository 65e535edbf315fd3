#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Checks the symbols that hsunwind-register writes for perf against DWARF.

check_symbols.py blocks BINARY COPY: every block of code that the debugging
information of BINARY knows must have one name in COPY, that of its procedure;
the byte before a return point, too.

check_symbols.py samples COPY: every line "address symbol" on standard input,
as perf script prints it, must be what COPY has there, readable.
"""

import bisect
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                '..', 'accuracy', 'lib'))
# pylint: disable=wrong-import-position
import elf  # noqa: E402

ESCAPES = {'za': '&', 'zb': '|', 'zc': '^', 'zd': '$', 'ze': '=', 'zg': '>',
           'zh': '#', 'zi': '.', 'zl': '<', 'zm': '-', 'zn': '!', 'zp': '+',
           'zq': "'", 'zr': '\\', 'zs': '/', 'zt': '*', 'zu': '_', 'zv': '%',
           'zz': 'z', 'ZL': '(', 'ZR': ')', 'ZM': '[', 'ZN': ']', 'ZC': ':',
           'ZZ': 'Z'}


def zdecode(text):
    """Undoes GHC's z-encoding of what occurs in the fixtures."""
    return re.sub(r'z([0-9][0-9a-f]*)U|[zZ][A-Za-z]',
                  lambda m: chr(int(m[1], 16)) if m[1] else ESCAPES[m[0]],
                  text)


def readable(linkage):
    """Main.parse for Main_parse_info."""
    parts = re.sub('(_con)?_(info|slow)$', '', linkage).split('_')
    return '.'.join(zdecode(p) for p in parts[-2:])


class Symbols:
    """The symbols of a file by address."""

    def __init__(self, path):
        self.rows = sorted(set(elf.Elf(path).symbols()))
        self.starts = [row[0] for row in self.rows]

    def name(self, addr):
        """The symbol that perf would show, or None."""
        i = bisect.bisect_right(self.starts, addr) - 1
        if i < 0 or addr >= self.rows[i][0] + self.rows[i][1]:
            return None
        return self.rows[i][2]


def blocks(binary):
    """Yields (address, label, its procedure's address and linkage name)."""
    out = subprocess.run(['readelf', '-W', '--debug-dump=info', binary],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         check=True, text=True, errors='replace').stdout
    ghc = label = linkage = proc = None
    for line in out.splitlines():
        m = re.search(r'DW_AT_(\w+)\s*: (?:\([a-z][^)]*\):? )?(.*)', line)
        if 'DW_TAG' in line:
            kind = re.search(r'DW_TAG_(\w+)', line)[1]
        elif m and m[1] == 'producer':
            ghc = 'Glasgow' in m[2]
        elif m and m[1] == 'name':
            label = m[2].strip()
        elif m and m[1] == 'MIPS_linkage_name':
            linkage = m[2].strip()
        elif m and m[1] == 'low_pc' and ghc and \
                kind in ('subprogram', 'lexical_block'):
            addr = int(m[2], 16)
            if kind == 'subprogram':
                proc = addr, linkage
            yield addr, label, proc


def check_blocks(binary, copy):
    """Returns the number of blocks, and of problems."""
    symbols = Symbols(copy)
    nr = bad = 0
    for addr, label, (start, linkage) in blocks(binary):
        want = symbols.name(start)
        places = [addr]
        if addr != start and label.endswith('_info'):
            places.append(addr - 1)
        for place in places:
            nr += 1
            if want is None or symbols.name(place) != want:
                bad += 1
                print('# %x in %s: %s, not %s' %
                      (place, linkage, symbols.name(place), want))
        if addr == start and linkage[0].isupper() and \
           want != readable(linkage):
            bad += 1
            print('# %x: %s, not %s' % (start, want, readable(linkage)))
    return nr, bad


def check_samples(copy):
    """Returns the number of lines, and of problems."""
    symbols = Symbols(copy)
    nr = bad = 0
    for line in sys.stdin:
        addr, name = line.rstrip('\n').lstrip().split(' ', 1)
        name = re.sub(r'\+0x[0-9a-f]+$', '', name)
        nr += 1
        if name != symbols.name(int(addr, 16)) or \
           re.search(r'z[a-z]\w*_(info|slow|entry)$|\[unknown\]', name):
            bad += 1
            print('# %s: %s, not %s' % (addr, name,
                                        symbols.name(int(addr, 16))))
    return nr, bad


def main():
    """Runs the check that the arguments name."""
    if sys.argv[1] == 'blocks':
        nr, bad = check_blocks(sys.argv[2], sys.argv[3])
    else:
        nr, bad = check_samples(sys.argv[2])
    print('# %d places, %d wrong' % (nr, bad))
    sys.exit(bad > 0 or nr < 100)


main()
