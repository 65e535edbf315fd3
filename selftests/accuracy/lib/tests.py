# SPDX-License-Identifier: GPL-2.0-only
"""The native accuracy tests, over hsunwind-stack."""

import collections
import os
import shutil
import signal
import subprocess
import time

import expect
import process
import runtime
from chains import Checker
from ktap import Fail, Skip, say

# Bars of the issue, in per cent.
EXACT = 99.5
COMPLETE = 99.95

SIZES = {
    # samples of chain tests, of completeness tests, of the deep chain; stops
    # of twin tests; the least number of samples inside and of Haskell stacks
    'full': dict(chain=1500, complete=3000, deep=60, twin=150,
                 inside=1000, haskell=4000),
    'quick': dict(chain=300, complete=500, deep=15, twin=30,
                  inside=150, haskell=500),
}
# of one generated input
BYTES = {'md': 3000000, 'sh': 150000, 'hs': 60000}
size = SIZES['full']


def percent(part, whole):
    return 100.0 * part / whole if whole else 0.0


def exact_chains(name, bar=EXACT, divisor=1, options=(), rts=()):
    """Stops a fixture at random and compares its chains with the known ones.

    With a divisor the work is less by that, and more of the stops are where
    functions begin, call and return.
    """
    checker = Checker(*expect.paths_of(name))
    deep = name.startswith('deep')
    samples = size['deep' if deep else 'chain']
    argv = [process.fixture(name), '600', str(divisor)]
    if rts:
        argv += ['+RTS', *rts]
    with process.Program(argv) as p:
        names = process.Names(p.pid)
        for stack in process.stacks(p.pid, samples, 1, *options):
            frames = stack.frames()
            chain = [names.name(*f) for f in reversed(frames)]
            checker.add(chain, stack.stop == 'complete', stack)
    judge(checker, samples, bar)


def judge(checker, samples, bar=EXACT):
    checker.report(say)
    show_wrong(checker)
    least = size['inside'] * samples // size['chain']
    if checker.inside < least:
        raise Fail('only %d samples inside the work, %d wanted' %
                   (checker.inside, least))
    if checker.share() < bar:
        raise Fail('%.3f %% exact, at least %g %% wanted' %
                   (checker.share(), bar))


def show_wrong(checker):
    """The addresses of one wrong chain of each kind, for whoever looks."""
    for key, _ in checker.wrong.most_common(3):
        stack = checker.examples[key]
        text = ' '.join('%s:%x' % f for f in stack.frames()[:40])
        say('addresses: thread %d: %s E %s' % (stack.tid, text, stack.stop))


class Counts:
    """Stop reasons, for all stacks and for those with Haskell in them."""

    def __init__(self):
        self.all = collections.Counter()
        self.haskell = collections.Counter()
        self.leaves = collections.Counter()

    def add(self, stack, names=None):
        self.all[stack.stop] += 1
        if stack.has_haskell():
            self.haskell[stack.stop] += 1
        if stack.stop != 'complete' and names:
            first = stack.frames()[0]
            self.leaves[stack.stop + ' at ' + names.name(*first)] += 1

    def report(self):
        for what, counts in (('stacks', self.all),
                             ('of them with Haskell frames', self.haskell)):
            total = sum(counts.values())
            say('%d %s, %.3f %% complete' % (
                total, what, percent(counts['complete'], total)))
        for reason, count in self.all.most_common():
            if reason != 'complete':
                say('%6d %s' % (count, reason))
        for where, count in self.leaves.most_common(8):
            say('       %d times %s' % (count, where))

    def share(self):
        """The worse of the two."""
        return min(percent(c['complete'], sum(c.values()))
                   for c in (self.all, self.haskell))


def complete_stacks(argv, restart=False, least=None, interval=2, options=(),
                    **kwargs):
    """Stops a program at random; its stacks must reach the bottom.

    restart: the program ends by itself, and is started again until there are
    enough stacks with Haskell in them.
    """
    counts = Counts()
    least = least or size['haskell']
    while True:
        before = sum(counts.haskell.values())
        with process.Program(argv, **kwargs) as p:
            names = process.Names(p.pid)
            try:
                for stack in process.stacks(p.pid, size['complete'], interval,
                                            *options):
                    counts.add(stack, names)
                    if sum(counts.haskell.values()) >= 2 * least:
                        break
            except Fail:
                # It may have ended before the first look.
                if not restart or p.state() != 'Z':
                    raise
        got = sum(counts.haskell.values())
        if got >= least or not restart or got == before:
            break
    counts.report()
    if sum(counts.haskell.values()) < least:
        raise Fail('only %d stacks with Haskell frames, %d wanted' %
                   (sum(counts.haskell.values()), least))
    if counts.share() < COMPLETE:
        raise Fail('%.3f %% complete, at least %g %% wanted' %
                   (counts.share(), COMPLETE))


def threads(name):
    complete_stacks([process.fixture(name), '600', '+RTS', '-N2', '-A64k'],
                    warm_up=1)


def complete_fixture(name):
    complete_stacks([process.fixture(name), '600'],
                    least=size['inside'])


def installed(program):
    path = shutil.which(program)
    if not path:
        raise Skip('%s is not installed' % program)
    return path


def generated(kind, nr=1):
    """Inputs of a few MB for a distribution's program."""
    paths = []
    for i in range(nr):
        paths.append(os.path.join(process.OUT, 'input%d.%s' % (i, kind)))
        if not os.path.exists(paths[-1]):
            subprocess.run([os.path.join(process.HERE, 'gen-input'), kind,
                            paths[-1], str(BYTES[kind]), str(i)], check=True)
    return paths


def pandoc():
    complete_stacks([installed('pandoc'), '-f', 'markdown', '-t', 'html',
                     '-o', '/dev/null', *generated('md')], restart=True)


def shellcheck():
    # 3 MB in pieces: in one piece it would not get beyond parsing.
    complete_stacks([installed('shellcheck'), *generated('sh', 20)],
                    restart=True)


def ghc_command():
    """The compiler itself: ghc is a script that starts it."""
    libdir = subprocess.run([installed('ghc'), '--print-libdir'], check=True,
                            text=True, stdout=subprocess.PIPE).stdout.strip()
    return [os.path.join(libdir, 'bin', 'ghc'), '-B' + libdir]


def ghc_compiles():
    """A large program that is linked dynamically, against many packages."""
    objects = os.path.join(process.OUT, 'compile.d')
    os.makedirs(objects, exist_ok=True)
    complete_stacks([*ghc_command(), '-v0', '-O', '-fforce-recomp', '-c',
                     '-outputdir', objects, *generated('hs')], restart=True,
                    least=size['inside'])


def bytecode():
    """Interpreted code, whose frames have their layout in a heap object."""
    program = ('let { d :: Int -> Int; d 0 = 0; d n = 1 + d (n - 1); '
               'go :: Int -> Int -> Int; go 0 acc = acc; '
               'go k acc = go (k - 1) (acc + sum (map d [1 .. 60])) } '
               'in print (go 100000000 0)')
    complete_stacks([*ghc_command(), '-e', program], warm_up=4,
                    least=size['inside'])


def twin(name, *args, bar):
    """The same stops, once with and once without debug information.

    A stripped copy of a program has no other stops than its own: it is the
    same process that is looked at twice while it is stopped.
    """
    same = differ = 0
    kinds = collections.Counter()
    with process.Program([process.fixture(name), '600', *args],
                         warm_up=1) as p:
        names = process.Names(p.pid)
        for _ in range(size['twin']):
            p.popen.send_signal(signal.SIGSTOP)
            wait_for(lambda: p.state() in 'Tt', 'the process to stop')
            looks = []
            for options in ((), ('--no-debug',)):
                looks.append({s.tid: s for s in
                              process.stacks(p.pid, 1, 0, *options)})
            p.popen.send_signal(signal.SIGCONT)
            time.sleep(0.003)
            for tid, stack in looks[0].items():
                if not stack.has_haskell():
                    continue
                other = looks[1].get(tid)
                if other and other.body == stack.body and \
                   other.stop == stack.stop:
                    same += 1
                else:
                    differ += 1
                    kinds[names.name(*stack.frames()[0])] += 1
    say('%d stacks with Haskell frames, %.2f %% the same without .debug_frame'
        % (same + differ, percent(same, same + differ)))
    for leaf, count in kinds.most_common(5):
        say('%6d differ in %s' % (count, leaf))
    if same + differ < size['twin'] // 2:
        raise Fail('too few stacks with Haskell frames')
    if percent(same, same + differ) < bar:
        raise Fail('at least %g %% wanted' % bar)


def wait_for(condition, what, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Fail('waited %d s in vain for %s' % (seconds, what))
        time.sleep(0.001)


def stays_stopped():
    with process.Program([process.fixture('threads-thr'), '600', '+RTS',
                          '-N2']) as p:
        for _ in range(20):
            p.popen.send_signal(signal.SIGSTOP)
            wait_for(lambda: p.state() == 'T', 'the process to stop')
            seen = list(process.stacks(p.pid, 3, 1))
            if len({s.tid for s in seen}) < 3:
                raise Fail('not all threads were shown')
            time.sleep(0.05)
            if p.state() != 'T':
                raise Fail('the process is in state %s after hsunwind-stack, '
                           'no longer stopped' % p.state())
            p.popen.send_signal(signal.SIGCONT)
            wait_for(lambda: p.state() != 'T', 'the process to go on')
            time.sleep(0.01)


def signals_arrive():
    """Signals sent while the process is looked at all arrive, once."""
    sent = 0
    with process.Program([process.fixture('threads-thr'), '6', '+RTS', '-N2'],
                         warm_up=1, stdout=subprocess.PIPE, text=True) as p:
        end = time.monotonic() + 3
        looking = process.stacks(p.pid, 100000, 1)
        for _ in looking:
            # One at a time: equal pending signals merge into one.
            if pending(p.pid, signal.SIGUSR1):
                continue
            p.popen.send_signal(signal.SIGUSR1)
            sent += 1
            if time.monotonic() > end:
                break
        looking.close()
        out = p.popen.stdout.read()
        status = p.popen.wait()
    say('%d signals sent, the program says: %s' % (sent, out.strip()))
    if status:
        raise Fail('the program ended with status %d' % status)
    got = int(out.split()[-1])
    if got != sent or sent < 100:
        raise Fail('%d signals of %d arrived' % (got, sent))


def pending(pid, number):
    with open('/proc/%d/status' % pid, encoding='utf-8') as f:
        masks = [int(line.split()[1], 16) for line in f
                 if line.startswith(('SigPnd', 'ShdPnd'))]
    return any(m >> (number - 1) & 1 for m in masks)


def test_list():
    tests = []
    for name in ('chain', 'chain-O', 'chain-thr', 'chain-dyn', 'chain-pie',
                 'chain-strip', 'mixed', 'mixed-O', 'mixed-thr', 'mixed-dyn',
                 'mixed-pie', 'mixed-strip', 'cmain', 'cmain-thr', 'cmain-dyn',
                 'frames', 'frames-strip', 'bound-thr', 'integer', 'deep'):
        tests.append(('exact-' + name, lambda n=name: exact_chains(n)))
    for name in ('chain', 'chain-O', 'chain-thr', 'chain-dyn', 'mixed',
                 'mixed-O', 'mixed-thr', 'mixed-dyn', 'cmain', 'frames'):
        tests.append(('tight-' + name,
                      lambda n=name: exact_chains(n, divisor=20000)))
    # Without -g the bar is lower; a later issue raises it.
    for name in ('chain-nog', 'deep-nog'):
        tests.append(('exact-' + name, lambda n=name: exact_chains(n, bar=95)))
    for name in ('threads-thr', 'threads-thr-O', 'threads-thr-nog',
                 'threads-thr-strip', 'threads-dyn'):
        tests.append(('complete-' + name, lambda n=name: threads(n)))
    tests += [
        ('complete-pandoc', pandoc),
        ('complete-shellcheck', shellcheck),
        ('complete-ghc', ghc_compiles),
        ('complete-bytecode', bytecode),
        ('twin-mixed', lambda: twin('mixed', bar=95)),
        ('twin-threads', lambda: twin('threads-thr', '+RTS', '-N2', '-A64k',
                                      bar=90)),
        ('stays-stopped', stays_stopped),
        ('signals-arrive', signals_arrive),
    ]
    return tests + runtime.test_list(exact_chains, judge,
                                     lambda: size['chain'])
