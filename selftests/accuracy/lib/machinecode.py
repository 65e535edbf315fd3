# SPDX-License-Identifier: GPL-2.0-only
"""What the machine code of an ELF file says about addresses in it.

An own reading, on purpose: nothing is shared with what makes images.
"""

import bisect
import mmap
import re
import struct
import subprocess

PT_LOAD = 1
PT_GNU_EH_FRAME = 0x6474e550

NEAR = 4096     # bytes in which the code of a function jumps to itself

# Closure types of stack frames (rts/storage/ClosureTypes.h of GHC).
RET_FUN = 32
FRAME_TYPES = set(range(29, 37)) | {55, 56, 57}

JUMP = re.compile(r'^\s*[0-9a-f]+:\s+(?:notrack )?j\w+\s+(\*|[0-9a-f]+)',
                  re.M)


def call_length(code):
    """Length of the indirect call that code ends with, 0 if there is none."""
    for length in range(2, 9):
        insn = code[-length:]
        if len(insn) < length:
            return 0
        if insn[0] & 0xf0 == 0x40 or insn[0] == 0x3e:   # REX, notrack
            insn = insn[1:]
        if insn[0] != 0xff or len(insn) < 2 or insn[1] >> 3 & 7 != 2:
            continue
        mod, rm = insn[1] >> 6, insn[1] & 7
        size = 2 + (mod != 3 and rm == 4) + (0, 1, 4, 0)[mod]
        if mod == 0 and (rm == 5 or rm == 4 and len(insn) > 2 and
                         insn[2] & 7 == 5):
            size += 4
        if size == len(insn):
            return length
    return 0


class MachineCode:
    """The code of one file, by the addresses that it is linked at."""

    def __init__(self, path):
        self.path = path
        with open(path, 'rb') as f:
            self.data = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
        entry, phoff, shoff, phsize, phnum, shsize, shnum, shstr = \
            struct.unpack_from('<QQQ6xHHHHH', self.data, 24)
        self.entry = entry
        self.loads = []
        self.starts = []
        self.fdes = []
        for i in range(phnum):
            kind, _, offset, vaddr, _, size = struct.unpack_from(
                '<IIQQQQ', self.data, phoff + i * phsize)
            if kind == PT_LOAD:
                self.loads.append((offset, vaddr, size))
            elif kind == PT_GNU_EH_FRAME:
                self.read_table(offset, vaddr)
        sections = [struct.unpack_from('<IIQQQQ', self.data, shoff + i * shsize)
                    for i in range(shnum)]
        self.plts = []
        for name, _, _, vaddr, _, size in sections:
            at = sections[shstr][4] + name
            if self.data[at:at + 4] == b'.plt':
                self.plts.append((vaddr, vaddr + size))
        self.jumps = {}

    def read_table(self, at, vaddr):
        """The sorted table of FDEs that the linker makes."""
        version, eh_enc, nr_enc, table_enc = self.data[at:at + 4]
        if (version, eh_enc, nr_enc, table_enc) != (1, 0x1b, 3, 0x3b):
            raise ValueError('%s: unusual .eh_frame_hdr' % self.path)
        nr, = struct.unpack_from('<I', self.data, at + 8)
        words = struct.unpack_from('<%di' % (2 * nr), self.data, at + 12)
        self.starts = [vaddr + w for w in words[::2]]
        self.fdes = [vaddr + w for w in words[1::2]]

    def offset(self, vaddr):
        for offset, start, size in self.loads:
            if start <= vaddr < start + size:
                return vaddr - start + offset
        return None

    def vaddr(self, offset):
        for start, vaddr, size in self.loads:
            if start <= offset < start + size:
                return offset - start + vaddr
        return None

    def bytes(self, vaddr, nr):
        at = self.offset(vaddr)
        return b'' if at is None else self.data[at:at + nr]

    def function(self, vaddr):
        """(start, end) of the function with call frame information, or None.

        GHC's own begin one byte early: they are none of C.
        """
        i = bisect.bisect_right(self.starts, vaddr) - 1
        if i < 0:
            return None
        at = self.offset(self.fdes[i])
        start = self.starts[i]
        # behind the address, with the same encoding (a plain pc-relative one)
        size, = struct.unpack_from('<I', self.data, at + 12)
        return (start, start + size) if vaddr < start + size else None

    def in_plt(self, vaddr):
        return any(start <= vaddr < end for start, end in self.plts)

    def frame_type(self, vaddr):
        """The closure type in the info table that ends here, if any."""
        table = self.bytes(vaddr - 8, 4)
        return vaddr % 8 == 0 and len(table) == 4 and \
            struct.unpack_from('<I', table)[0]

    def is_frame(self, vaddr):
        return self.frame_type(vaddr) in FRAME_TYPES

    def runs_in(self, start, vaddr):
        """Is this still the code that starts there, with no info table of
        anything else in between?"""
        code = self.bytes(start, (vaddr - start) // 8 * 8 + 8)
        types = struct.unpack_from('<%dI' % (len(code) // 4), code)[::2]
        return not any(0 < t < 64 for t in types[:(vaddr - start) // 8])

    def jumps_into(self, start, vaddr):
        """Does other code seem to jump to behind start, up to vaddr?

        Every byte near by is taken for a jump, as in what separates functions
        nothing tells where instructions begin.
        """
        base = max(start - NEAR, 0)
        code = self.bytes(base, vaddr + NEAR - base)
        for i in range(len(code) - 6):
            if code[i] == 0xeb or code[i] & 0xf0 == 0x70:
                to = base + i + 2 + struct.unpack_from('b', code, i + 1)[0]
            elif code[i] == 0xe9:
                to = base + i + 5 + struct.unpack_from('<i', code, i + 1)[0]
            elif code[i] == 0x0f and code[i + 1] & 0xf0 == 0x80:
                to = base + i + 6 + struct.unpack_from('<i', code, i + 2)[0]
            else:
                continue
            if start < to <= vaddr and not start <= base + i < vaddr:
                return True
        return False

    def call_before(self, vaddr):
        """The target of the call that returns here; 0 for an indirect call,
        None if there is none."""
        code = self.bytes(vaddr - 8, 8)
        if len(code) < 8:
            return None
        if code[3] == 0xe8:
            return vaddr + struct.unpack_from('<i', code, 4)[0]
        return 0 if call_length(code) else None

    def jumps_of(self, start, end):
        """Targets of the jumps in a function; 0 stands for an unknown one."""
        if start not in self.jumps:
            text = subprocess.run(
                ['objdump', '-d', '--no-show-raw-insn', '--start-address=%d' %
                 start, '--stop-address=%d' % end, self.path],
                stdout=subprocess.PIPE, check=True, text=True).stdout
            self.jumps[start] = {0 if t == '*' else int(t, 16)
                                 for t in JUMP.findall(text)}
        return self.jumps[start]

    def leads_to(self, target, vaddr, depth=4):
        """Can a call of target get to vaddr by nothing but jumps?

        None: cannot be told, since a jump on the way has no fixed target.
        """
        seen = set()
        todo = {target}
        unknown = False
        for _ in range(depth):
            found = set()
            for t in todo - seen:
                if self.in_plt(t):
                    unknown = True
                    continue
                bounds = self.function(t)
                if not bounds:
                    unknown = True
                    continue
                if bounds[0] <= vaddr < bounds[1]:
                    return True
                found |= {j for j in self.jumps_of(*bounds)
                          if not bounds[0] <= j < bounds[1]}
            unknown |= 0 in found
            seen |= todo
            todo = found - {0}
        return None if unknown else False
