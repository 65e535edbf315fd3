# SPDX-License-Identifier: GPL-2.0-only
"""Running programs, what their addresses mean, and hsunwind-stack."""

import bisect
import os
import signal
import subprocess
import tempfile
import time

import chains
import elf
from ktap import Fail, Skip

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
REPO = os.path.dirname(os.path.dirname(HERE))
FIXTURES = os.path.join(REPO, 'selftests', 'fixtures')
OUT = os.environ.get('HSUNWIND_FIXTURES', os.path.join(FIXTURES, 'out'))
TOOL = os.environ.get('HSUNWIND_STACK',
                      os.path.join(REPO, 'userspace', 'hsunwind-stack'))

# Entries of a chain that are no frames, by their letters.
STANDS_FOR = {'G': chains.GC, 'M': chains.GAP}

# of taking the usual number of samples
MAX_ROUNDS = 4

# Are fixtures built, or taken as they are?
build = True
# Modules of several fixtures.
SHARED = ['Runtime.hs', 'Work.hs']

_maps = {}


def fixture(name):
    path = os.path.join(OUT, name)
    if build and subprocess.run(['make', '-s', '-C', FIXTURES, 'OUT=' + OUT,
                                 path], stdout=subprocess.DEVNULL,
                                check=False).returncode:
        raise Fail('%s could not be built' % name)
    if not os.path.exists(path):
        raise Fail('%s is missing: make -C selftests/fixtures' % path)
    return path


def sources_of(program):
    """The Haskell sources of a fixture that was made with -g."""
    parts = os.path.basename(program).removesuffix('.so').split('-')
    path = os.path.join(FIXTURES, parts[0] + '.hs')
    if not os.path.exists(path) or 'nog' in parts:
        return []
    return [path] + [os.path.join(FIXTURES, name) for name in SHARED]


def map_rows(path):
    """The rows of elf.make_map() for a fixture or a library."""
    sources = []
    debug = None
    if os.path.dirname(path) == OUT:
        sources = sources_of(path)
        if path.endswith('-strip'):
            debug = path[:-len('-strip')]
    return elf.make_map(path, sources, debug)


def map_of(path):
    if path not in _maps:
        _maps[path] = (elf.Elf(path), elf.Map(map_rows(path)))
    return _maps[path]


class Names:
    """Names for the code addresses of one live process."""

    def __init__(self, pid):
        self.pid = pid
        self.known = {}
        self.read()

    def read(self):
        self.areas = []
        with open('/proc/%d/maps' % self.pid, encoding='utf-8') as f:
            for line in f:
                words = line.split(None, 5)
                if 'x' not in words[1]:
                    continue
                start, end = (int(x, 16) for x in words[0].split('-'))
                path = words[5].strip() if len(words) > 5 else ''
                self.areas.append((start, end, int(words[2], 16), path))
        self.starts = [a[0] for a in self.areas]

    def name(self, kind, addr):
        """The function of a frame of hsunwind-stack."""
        if kind in STANDS_FOR:
            return STANDS_FOR[kind]
        key = (addr, kind != 'L')
        if key not in self.known:
            self.known[key] = self.look_up(*key)
        return self.known[key]

    def look_up(self, addr, is_return):
        i = bisect.bisect_right(self.starts, addr) - 1
        if i < 0 or addr >= self.areas[i][1]:
            return '[%x]' % addr
        start, _, offset, path = self.areas[i]
        base = os.path.basename(path)
        if not path.startswith('/'):
            return path or '[anonymous]'
        if os.path.dirname(path) == OUT or base.startswith('libHS'):
            file, names = map_of(path)
            vaddr = file.vaddr(addr - start + offset)
            return '?' if vaddr is None else names.name(vaddr, is_return)
        return '[%s]' % base


def state(pid):
    """The letter that /proc gives, X if there is no such process."""
    try:
        with open('/proc/%d/stat' % pid, encoding='utf-8') as f:
            return f.read().rsplit(')', 1)[1].split()[0]
    except FileNotFoundError:
        return 'X'


class Program:
    """A program that is running; use it with `with`."""

    def __init__(self, argv, warm_up=0.5, **kwargs):
        self.argv = argv
        self.warm_up = warm_up
        self.kwargs = kwargs

    def __enter__(self):
        self.kwargs.setdefault('stdout', subprocess.DEVNULL)
        self.popen = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL,
                                      **self.kwargs)
        self.pid = self.popen.pid
        time.sleep(self.warm_up)
        if self.popen.poll() is not None:
            raise Fail('%s ended early, status %d' % (
                ' '.join(self.argv), self.popen.returncode))
        return self

    def __exit__(self, *_):
        if self.popen.poll() is None:
            self.popen.send_signal(signal.SIGKILL)
        self.popen.wait()

    def state(self):
        return state(self.pid)


class Stack:
    """One thread's stack as printed by --raw."""

    def __init__(self, block):
        head, _, rest = block.partition(b'\n')
        self.tid = int(head)
        body, _, end = rest.rpartition(b'E ')
        words = end.split(b'\n', 1)[0].decode().split()
        self.stop = words[0]
        self.scanned = 'scanned' in words[1:]
        self.body = body

    def has_haskell(self):
        return b'\nH ' in self.body

    def frames(self):
        """[(kind, address)], leaf first"""
        return [(line[:1].decode(), int(line[2:], 16))
                for line in self.body.split(b'\n') if line]


def need_tool():
    if not os.access(TOOL, os.X_OK):
        raise Skip('there is no %s: make tools' % TOOL)


def stacks(pid, samples, interval, *options):
    """Runs hsunwind-stack and yields each Stack while it arrives."""
    need_tool()
    argv = [TOOL, '--raw', '--samples', str(samples), '--interval',
            str(interval), *options, str(pid)]
    with tempfile.TemporaryFile() as err, \
            subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=err) as tool:
        rest = b''
        while True:
            data = tool.stdout.read1(1 << 20)
            if not data:
                break
            rest += data
            # A block ends where the next begins, or at the summary.
            *blocks, rest = rest.split(b'\nT ')
            for block in blocks:
                yield Stack(block[2:] if block.startswith(b'T ') else block)
        block = rest.split(b'\n# ', 1)[0]
        if b'E ' in block:
            yield Stack(block[2:] if block.startswith(b'T ') else block)
        tool.wait()
        if tool.returncode:
            err.seek(0)
            raise Fail('%s failed: %s' % (' '.join(argv),
                                          err.read().decode().strip()))


def stacks_until(enough, pid, samples, *options):
    """As stacks(), and again if there are not enough of those that count: on a
    busy machine a program may do little but wait.
    """
    for _ in range(MAX_ROUNDS):
        yield from stacks(pid, samples, 1, *options)
        if enough():
            break
