# SPDX-License-Identifier: GPL-2.0-only
"""Can these frames follow each other?

A complete chain is not yet a right one. Where no chain is known, the machine
code still tells what cannot be: this reads it again, independently of the rows
that the chain was made with. It wants all frames (hsunwind-stack --all), as
those that are left out are links too.

 - A frame of the Haskell stack is code behind the info table of a frame.
 - What is below C code was left by a call instruction, also in Haskell code.
   A direct call leads to the function of the frame above it, if need be by
   jumps.
 - The one call below a Haskell stack is that of StgRun.
 - Haskell code is not its own caller, unless it is recursive: then its frame is
   on top of itself elsewhere. A recursion that is seen a few times only, never
   deeper, cannot be told from a mistake; it counts as one if the caller had to
   be searched for.
 - The bottom is where the kernel starts a program or the C library a thread.
"""

import bisect
import collections
import os

from ktap import Fail, say
from machinecode import MachineCode, RET_FUN

SHOWN = 5

# mov $15,%rax; syscall: the return address of a signal handler.
SIGRETURN = bytes.fromhex('48c7c00f0000000f05')
SYSCALL = 7     # where in that
# add $16,%rsp; ret: adjustors with arguments on the stack push this address of
# GHC's obscure_ccall_ret_code, which nothing calls.
ADJUSTOR_RETURN = bytes.fromhex('4883c410c3')
# mov %rax,%rdi; mov $60,%eax; syscall: exit, behind the function of a thread.
THREAD_EXIT = bytes.fromhex('4889c7b83c0000000f05')
# of code that one continuation is searched in
OWN_CODE = 1 << 16
# times that code without any other sign of recursion may be its own caller
FEW = 4

_files = {}


class Frame:
    """A line of --raw: its kind, and its place in a file, if it is in one."""

    def __init__(self, line, names):
        self.kind = line[:1].decode()
        self.addr = int(line[2:], 16)
        self.code = self.vaddr = None
        self.vdso = False
        i = bisect.bisect_right(names.starts, self.addr) - 1
        if i < 0 or self.addr >= names.areas[i][1]:
            return
        start, _, offset, path = names.areas[i]
        if not path.startswith('/'):
            self.vdso = path == '[vdso]'
            return
        if path not in _files:
            _files[path] = MachineCode(path)
        self.code = _files[path]
        self.vaddr = self.code.vaddr(self.addr - start + offset)

    def function(self):
        """Bounds of a C function, None in Haskell code (and some assembler).

        A return address belongs to the call before it.
        """
        return self.code and self.code.function(
            self.vaddr - (self.kind != 'L'))

    def starts_with(self, code):
        return self.code and self.code.bytes(self.vaddr, len(code)) == code

    def is_table_frame(self):
        return self.code and self.code.is_frame(self.vaddr)

    def is_call_of_function(self):
        """A frame of stg_gc_fun, which hsunwind does not show by default. It is
        the only one whose size no table tells, so that one too many may seem to
        be there while it is being taken off."""
        return self.code.frame_type(self.vaddr) == RET_FUN

    def call(self):
        return self.code and self.code.call_before(self.vaddr)

    def __str__(self):
        if not self.code:
            return '%s:%x' % (self.kind, self.addr)
        return '%s:%s+%x' % (self.kind, os.path.basename(self.code.path),
                             self.vaddr)


class Plausible:
    """Collects what cannot be in the stacks of one program."""

    def __init__(self):
        self.bad = collections.Counter()
        self.examples = {}
        self.counts = collections.Counter()
        self.own = collections.Counter()
        self.recursive = set()
        self.stgruns = collections.defaultdict(set)

    def begin(self, names):
        """A new process; names knows its mappings."""
        self.names = names
        self.frames = {}
        self.good = set()
        self.bottoms = set()

    def frame(self, line):
        if line not in self.frames:
            self.frames[line] = Frame(line, self.names)
            if not self.frames[line].code:
                # perhaps loaded since
                self.names.read()
                self.frames[line] = Frame(line, self.names)
        return self.frames[line]

    def add(self, stack):
        lines = stack.body.split(b'\n')
        if not lines[-1]:
            lines.pop()
        self.counts['stacks'] += 1
        # Next to a gap nothing has called anything.
        pairs = [p for p in zip(lines, lines[1:])
                 if not any(line.startswith(b'M') for line in p)]
        for pair in set(pairs) - self.good:
            callee, caller = (self.frame(line) for line in pair)
            why = self.impossible(callee, caller)
            if why:
                self.found(why, '%s below %s' % (caller, callee), stack)
            else:
                self.good.add(pair)
        if pairs and pairs[0][0] == lines[0]:
            self.look_at_leaf(*(self.frame(line) for line in pairs[0]), stack)
        if stack.stop == 'complete' and len(lines) > 1 and \
           lines[-1] not in self.bottoms:
            if self.is_bottom(self.frame(lines[-1])):
                self.bottoms.add(lines[-1])
            else:
                self.found('no bottom', str(self.frame(lines[-1])), stack)

    def found(self, why, where, stack):
        self.bad[why + ': ' + where] += 1
        self.examples.setdefault(why + ': ' + where, stack)

    def impossible(self, callee, caller):
        """Why these two cannot follow each other, or None."""
        self.counts['pairs'] += 1
        # Behind a signal handler is whatever was interrupted.
        if callee.starts_with(SIGRETURN) or callee.kind == 'L' and \
           callee.starts_with(SIGRETURN[SYSCALL:]):
            return None
        if caller.vdso:
            return None
        if not caller.code:
            return 'a caller in no file'
        if callee.kind == 'H' and caller.kind == 'H' or \
           caller.kind == 'H' and caller.is_table_frame() and \
           not callee.function():
            if not caller.is_table_frame():
                return 'no info table'
            if callee.addr == caller.addr:
                self.recursive.add(str(caller))
            return None
        if caller.starts_with(SIGRETURN) or \
           caller.starts_with(ADJUSTOR_RETURN):
            return None
        target = caller.call()
        if target is None:
            return 'no call'
        if callee.kind == 'H':
            if target:
                self.stgruns[caller.code.path].add(target)
            return None
        if not target or not callee.function() or \
           callee.code is not caller.code:
            self.counts['targets not known'] += 1
            return None
        leads = caller.code.leads_to(target, callee.vaddr -
                                     (callee.kind != 'L'))
        if leads is None:
            self.counts['targets not known'] += 1
        else:
            self.counts['targets'] += 1
        return 'a call of another function' if leads is False else None

    def look_at_leaf(self, leaf, caller, stack):
        """Is the caller a continuation that the leaf itself runs in?

        Not if it can have come there from the entry of the function.
        """
        if leaf.code is caller.code and leaf.code and caller.kind == 'H' and \
           caller.vaddr <= leaf.vaddr < caller.vaddr + OWN_CODE and \
           caller.is_table_frame() and not caller.is_call_of_function() and \
           caller.code.runs_in(caller.vaddr, leaf.vaddr) and \
           not caller.code.jumps_into(caller.vaddr, leaf.vaddr):
            self.own[str(caller)] += FEW + 1 if stack.scanned else 1
            self.examples.setdefault('its own caller: ' + str(caller), stack)

    def is_bottom(self, last):
        if last.starts_with(THREAD_EXIT):
            return True
        if not last.code:
            return False
        bounds = last.code.function(last.vaddr - 1)
        return bool(bounds) and bounds[0] <= last.code.entry < bounds[1]

    def verdict(self):
        unclear = 0
        for where, count in self.own.items():
            if where in self.recursive:
                continue
            if count > FEW:
                self.bad['its own caller: ' + where] += count
            else:
                unclear += count
        for path, targets in self.stgruns.items():
            if len(targets) > 1:
                self.bad['several functions called like StgRun: %s: %s' %
                         (os.path.basename(path),
                          ' '.join('%x' % t for t in sorted(targets)))] += 1
        say('%d different pairs of frames in %d stacks, %d targets of calls '
            'known and %d not, %d leaves in recursive code, %d perhaps' % (
                self.counts['pairs'], self.counts['stacks'],
                self.counts['targets'], self.counts['targets not known'],
                sum(self.own.values()) - unclear, unclear))
        for why, count in self.bad.most_common(SHOWN):
            say('impossible, %d times: %s' % (count, why))
            stack = self.examples.get(why)
            if stack:
                frames = [str(self.frame(line)) for line in
                          stack.body.split(b'\n')[:16] if line]
                say('    %s E %s%s' % (' '.join(frames), stack.stop,
                                       ' scanned' if stack.scanned else ''))
        if self.bad:
            raise Fail('%d impossible frames of %d kinds' %
                       (sum(self.bad.values()), len(self.bad)))
