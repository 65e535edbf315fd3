# SPDX-License-Identifier: GPL-2.0-only
"""Stops programs without a known chain: do their stacks reach the bottom?

And since a complete stack is not yet a right one: is every frame possible?
"""

import collections
import os
import shutil
import subprocess

import bars
import process
from ktap import Fail, Skip, say
from live import wait_for
from plausible import Plausible

# of one generated input
BYTES = {'md': 3000000, 'sh': 150000, 'hs': 60000}
# More than the deepest recursion.
MAX_FRAMES = 131072


class Counts:
    """Stop reasons, for all stacks and for those with Haskell in them."""

    def __init__(self):
        self.all = collections.Counter()
        self.haskell = collections.Counter()
        self.leaves = collections.Counter()
        self.examples = {}
        self.scanned = 0

    def add(self, stack, names):
        self.all[stack.stop] += 1
        self.scanned += stack.scanned
        if stack.has_haskell():
            self.haskell[stack.stop] += 1
        if stack.stop != 'complete':
            frames = stack.frames()
            leaf = stack.stop + ' at ' + names.name(*frames[0])
            self.leaves[leaf] += 1
            self.examples.setdefault(leaf, ' '.join(
                '%s:%x=%s' % (*f, names.name(*f)) for f in
                frames[:8] + frames[8:][-8:]))

    def nr_haskell(self):
        return sum(self.haskell.values())

    def report(self):
        for what, counts in (('stacks', self.all),
                             ('of them with Haskell frames', self.haskell)):
            total = sum(counts.values())
            say('%d %s, %.3f %% complete' % (
                total, what, bars.percent(counts['complete'], total)))
        if self.scanned:
            say('%d by a scan' % self.scanned)
        for reason, count in self.all.most_common():
            if reason != 'complete':
                say('%6d %s' % (count, reason))
        for where, count in self.leaves.most_common(8):
            say('       %d times %s: %s' %
                (count, where, self.examples[where]))


def check(argv, restart=False, share=1, interval=1, compacting=False,
          **kwargs):
    """Stops a program at random; its stacks must reach the bottom.

    restart: the program ends by itself, and is started again until there are
    enough stacks with Haskell in them. share: of the number that is usual.
    compacting: by a collector that turns round the links between objects for a
    while. Then a stack that is reached by them ends where it does, and only
    what is shown of it counts.
    """
    counts = Counts()
    plausible = Plausible()
    least = int(bars.size['haskell'] * share)
    while True:
        before = counts.nr_haskell()
        with process.Program(argv, **kwargs) as p:
            names = process.Names(p.pid)
            plausible.begin(names)
            try:
                # All frames: what calls what can only be told without gaps.
                for stack in process.stacks(p.pid, 10 * least, interval,
                                            '--all', '--max-frames',
                                            str(MAX_FRAMES)):
                    counts.add(stack, names)
                    plausible.add(stack)
                    if counts.nr_haskell() >= least:
                        break
            except Fail:
                # It may have ended, or be about to.
                if not restart:
                    raise
                wait_for(lambda: p.state() == 'Z', 'the program to end')
        if counts.nr_haskell() >= least or not restart or \
           counts.nr_haskell() == before:
            break
    counts.report()
    if not compacting:
        bars.stops.update(counts.all)
    if counts.nr_haskell() < least:
        raise Fail('only %d stacks with Haskell frames, %d wanted' %
                   (counts.nr_haskell(), least))
    plausible.verdict()
    for c in () if compacting else (counts.all, counts.haskell):
        bars.need(c['complete'], sum(c.values()), bars.COMPLETE, 'complete')


def threads(name, rts=('-N2', '-A64k'), **kwargs):
    check([process.fixture(name), '600', '+RTS', *rts], warm_up=1, **kwargs)


def installed(program):
    path = shutil.which(program)
    if not path:
        raise Skip('%s is not installed' % program)
    return path


def generated(kind, nr=1):
    """Inputs of a few MB for a distribution's program."""
    paths = []
    os.makedirs(process.OUT, exist_ok=True)
    for i in range(nr):
        paths.append(os.path.join(process.OUT, 'input%d.%s' % (i, kind)))
        if not os.path.exists(paths[-1]):
            subprocess.run([os.path.join(process.HERE, 'gen-input'), kind,
                            paths[-1], str(BYTES[kind]), str(i)], check=True)
    return paths


def pandoc():
    check([installed('pandoc'), '-f', 'markdown', '-t', 'html', '-o',
           '/dev/null', *generated('md')], restart=True)


def shellcheck():
    # 3 MB in pieces: in one piece it would not get beyond parsing.
    check([installed('shellcheck'), *generated('sh', 20)], restart=True)


def ghc_command():
    """The compiler itself: ghc is a script that starts it."""
    libdir = subprocess.run([installed('ghc'), '--print-libdir'], check=True,
                            text=True, stdout=subprocess.PIPE).stdout.strip()
    return [os.path.join(libdir, 'bin', 'ghc'), '-B' + libdir]


def ghc_compiles():
    """A large program that is linked dynamically, against many packages."""
    objects = os.path.join(process.OUT, 'compile.d')
    os.makedirs(objects, exist_ok=True)
    check([*ghc_command(), '-v0', '-O', '-fforce-recomp', '-c', '-outputdir',
           objects, *generated('hs')], restart=True)


def bytecode():
    """Interpreted code, whose frames have their layout in a heap object."""
    program = ('let { d :: Int -> Int; d 0 = 0; d n = 1 + d (n - 1); '
               'go :: Int -> Int -> Int; go 0 acc = acc; '
               'go k acc = go (k - 1) (acc + sum (map d [1 .. 60])) } '
               'in print (go 100000000 0)')
    check([*ghc_command(), '-e', program], warm_up=4)
