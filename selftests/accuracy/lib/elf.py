# SPDX-License-Identifier: GPL-2.0-only
"""What address belongs to what function of an ELF file.

Only the standard library of python3-minimal is used, since maps are loaded in
the guest too; they are made on the host, where readelf reads the line table.
"""

import bisect
import os
import re
import struct
import subprocess

SHT_SYMTAB = 2
SHT_DYNSYM = 11
PT_LOAD = 1
PF_X = 1

UNKNOWN = ('?', False)


class Elf:
    """The headers and symbols of a 64-bit little-endian ELF file."""

    def __init__(self, path):
        with open(path, 'rb') as f:
            self.data = f.read()
        if self.data[:6] != b'\x7fELF\x02\x01':
            raise ValueError(path + ' is no 64-bit ELF file')
        phoff, shoff, phsize, phnum, shsize, shnum = \
            struct.unpack_from('<QQ6xHHHH', self.data, 32)
        self.loads = []
        for i in range(phnum):
            p_type, flags, offset, vaddr, _, filesz = struct.unpack_from(
                '<IIQQQQ', self.data, phoff + i * phsize)
            if p_type == PT_LOAD:
                self.loads.append((offset, vaddr, filesz, flags))
        self.sections = [
            struct.unpack_from('<IIQQQQIIQQ', self.data, shoff + i * shsize)
            for i in range(shnum)]

    def symbols(self):
        """Yields (address, size, name) of what is in executable sections."""
        kinds = {s[1] for s in self.sections}
        want = SHT_SYMTAB if SHT_SYMTAB in kinds else SHT_DYNSYM
        for sh in self.sections:
            if sh[1] != want:
                continue
            strings = self.sections[sh[6]][4]
            for at in range(sh[4], sh[4] + sh[5], 24):
                name, info, _, shndx, value, size = struct.unpack_from(
                    '<IBBHQQ', self.data, at)
                # No section symbols, files and the like; GHC makes functions
                # objects for LLVM. SHF_EXECINSTR.
                if info & 15 not in (0, 1, 2, 10) or not name or \
                   not 0 < shndx < len(self.sections) or \
                   not self.sections[shndx][2] & 4:
                    continue
                end = self.data.index(b'\0', strings + name)
                yield value, size, self.data[strings + name:end].decode()

    def vaddr(self, offset):
        return vaddr_of([load[:3] for load in self.loads], offset)


def top_level_lines(source):
    """The function that each line of a Haskell fixture belongs to."""
    names = []
    name = UNKNOWN[0]
    with open(source, encoding='utf-8') as f:
        for line in f:
            m = re.match(r'([a-z]\w*)\b(?! (import|export) )', line)
            if m and m[1] not in ('module', 'import', 'data', 'type',
                                  'instance', 'foreign', 'where'):
                name = m[1]
            names.append(name)
    return names


def line_rows(binary, sources):
    """Yields (address, line, source) for the rows that stem from sources."""
    by_name = {os.path.basename(source): source for source in sources}
    out = subprocess.run(['readelf', '-W', '--debug-dump=decodedline', binary],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         check=True, text=True, errors='replace').stdout
    for line in out.splitlines():
        words = line.split()
        # file, line, address [, view][, is_stmt]; END of a sequence: line "-"
        if len(words) >= 3 and words[2].startswith('0x'):
            source = by_name.get(os.path.basename(words[0]))
            if source:
                yield (int(words[2], 16),
                       None if words[1] == '-' else int(words[1]), source)


def plain_name(name):
    """f3 for Main_f3_info, but the full name for what is in a library.

    Also tells whether it is Haskell code. What GCC has split a C function
    into is that function.
    """
    for end in ('_info', '_entry'):
        if name.endswith(end):
            return re.sub(r'^(Main|Cmain|Nested|Library|Work)_', '', name[:-len(end)]), True
    return name.partition('.')[0], False


def name_local_code(symbols):
    """Symbols, without the names that GHC makes up when it uses LLVM.

    It calls code name$def then, and makes a function of each continuation
    (c1pB_info), which stands behind what it belongs to, and of each closure
    (r14u_info, s1aB_info), which stands in front of that.
    """
    out = []
    outer = None
    for addr, size, name in reversed(symbols):
        if name.endswith('$def'):
            name = name[:-len('$def')]
            if name[0].isupper():
                outer = name
            elif name[0] in 'rs' and outer:
                name = outer
        out.append((addr, size, name))
    out.reverse()
    inner = None
    for i, (addr, size, name) in enumerate(out):
        if re.match('c[0-9A-Za-z]+_info$', name) and inner:
            out[i] = addr, size, inner
        elif name.endswith('_info'):
            inner = name
    return out


def make_map(binary, sources=(), debug=None):
    """Returns the rows (start address, name, is it Haskell) of a file, sorted.

    The names of Haskell code with lines in the sources are those of the
    top-level function that the line belongs to: local closures have no names
    of their own worth comparing. Everything else is named by its symbol.
    debug is the file with symbols and lines, if the binary was stripped.
    """
    debug = debug or binary
    starts = {}
    ends = set()
    for addr, size, name in name_local_code(sorted(Elf(debug).symbols())):
        # Of several names for one address any does, but a stable one.
        if addr not in starts or size:
            starts[addr] = plain_name(name)
        if size:
            ends.add(addr + size)
    for end in ends:
        starts.setdefault(end, UNKNOWN)
    if sources:
        lines = {source: top_level_lines(source) for source in sources}
        # Lines win over symbols. But a symbol between two rows begins a
        # function without any lines, and what follows the last row, where the
        # line is None, is named by symbols again.
        before = UNKNOWN
        for addr, line, source in sorted(
                line_rows(debug, sources),
                key=lambda row: (row[0], row[1] or 0)):
            if line is None:
                starts.setdefault(addr, before)
            else:
                before = starts[addr] = (lines[source][line - 1],
                                         True)
    return sorted((addr, *row) for addr, row in starts.items())


class Map:
    """Finds the function of an address in rows made by make_map()."""

    def __init__(self, rows):
        self.starts = [r[0] for r in rows]
        self.rows = rows

    def name(self, addr, is_return=False):
        """The name for an address.

        A return address where a function seems to begin: of Haskell code it is
        right, as code begins behind its info table, but of C it belongs to the
        function before, which ended with a call.
        """
        i = bisect.bisect_right(self.starts, addr) - 1
        if is_return and i >= 0 and addr == self.starts[i] and \
           not self.rows[i][2]:
            i -= 1
        return self.rows[i][1] if i >= 0 else UNKNOWN[0]


def save_map(path, binary, rows):
    """Writes rows and what the guest must know of the file for the bias."""
    with open(path, 'w', encoding='utf-8') as f:
        for load in Elf(binary).loads:
            if load[3] & PF_X:
                f.write('L %x %x %x\n' % load[:3])
        for addr, name, haskell in rows:
            f.write('%s %x %s\n' % ('H' if haskell else 'C', addr, name))


def load_map(path):
    """Returns the Map of a saved file, and its executable segments."""
    rows = []
    loads = []
    with open(path, encoding='utf-8') as f:
        for line in f:
            words = line.split()
            if words[0] == 'L':
                loads.append(tuple(int(w, 16) for w in words[1:]))
            else:
                rows.append((int(words[1], 16), words[2], words[0] == 'H'))
    return Map(rows), loads


def vaddr_of(loads, offset):
    """The address that a file offset is linked at, or None."""
    for p_offset, vaddr, filesz in loads:
        if p_offset <= offset < p_offset + filesz:
            return offset - p_offset + vaddr
    return None
