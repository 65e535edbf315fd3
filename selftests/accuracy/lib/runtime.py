# SPDX-License-Identifier: GPL-2.0-only
"""The accuracy tests of the run-time system: its fixtures and how they are run.

Their expected chains are in expect_runtime.py.
"""

import collections
import time

import bars
import exact
import expect
import process
from chains import Checker
from ktap import Fail, say

# The scheduler switches and interrupts often.
SWITCHING = ('-V0.001', '-C0.001')
PARALLEL = ('-N2',)
TINY = ('-ki1k', '-kc2k', '-kb1k')
LARGE = ('-ki64k', '-kc1m', '-kb512k')
# No ticks: their handler would run on top of the work like those of the program.
SILENT = ('-V0',)
SHALLOW = ('-K100k', '-kc4k')

# The end of the test's name, fixture, options of the run-time system.
RUNS = [
    ('forkio-O', 'forkio-O', SWITCHING),
    ('forkio-thr', 'forkio-thr', PARALLEL),
    ('forkio-thr-tiny', 'forkio-thr', PARALLEL + TINY),
    ('forkos-thr', 'forkos-thr', PARALLEL),
    ('handlers', 'handlers', ()),
    ('handlers-O', 'handlers-O', ()),
    ('handlers-tiny', 'handlers', TINY),
    ('async', 'async', SWITCHING),
    ('async-O', 'async-O', SWITCHING),
    ('async-thr', 'async-thr', PARALLEL),
    ('timeouts', 'timeouts', SWITCHING),
    ('timeouts-thr', 'timeouts-thr', PARALLEL),
    ('stm-O', 'stm-O', SWITCHING),
    ('stm-thr', 'stm-thr', PARALLEL),
    ('stm-thr-strip', 'stm-thr-strip', PARALLEL + SWITCHING),
    ('lazy', 'lazy', ()),
    ('lazy-O', 'lazy-O', ()),
    ('lazy-thr', 'lazy-thr', PARALLEL + TINY),
    ('lazy-strip', 'lazy-strip', ()),
    ('recursion', 'recursion', ()),
    ('recursion-tiny', 'recursion', TINY),
    ('recursion-large', 'recursion', LARGE),
    ('recursion-strip', 'recursion-strip', TINY),
    ('overflow', 'overflow', SHALLOW),
    ('overflow-O', 'overflow-O', SHALLOW),
    ('sparks-thr-O', 'sparks-thr-O', PARALLEL),
    ('signals', 'signals', SILENT),
    ('signals-thr', 'signals-thr', SILENT),
    ('processes', 'processes', ()),
]

# Where the work is least and the run-time system does most: with a divisor that
# leaves enough samples inside.
TIGHT = [
    ('forkio-O', 'forkio-O', SWITCHING, 100),
    ('handlers', 'handlers', (), 20000),
    ('handlers-O', 'handlers-O', (), 20000),
    ('async', 'async', SWITCHING, 20),
    ('stm-thr', 'stm-thr', PARALLEL, 100),
    ('lazy', 'lazy', (), 20000),
    ('lazy-O', 'lazy-O', TINY, 20000),
    ('recursion', 'recursion', TINY, 20000),
    ('overflow', 'overflow', SHALLOW, 10),
    ('sparks-thr', 'sparks-thr', PARALLEL, 100),
]


def child_of(pid):
    """A child process that has not ended yet."""
    with open('/proc/%d/task/%d/children' % (pid, pid), encoding='utf-8') as f:
        for child in f.read().split():
            if process.state(int(child)) not in 'ZX':
                return int(child)
    return None


def children():
    """The children of a program, from fork over exec to their end."""
    samples = bars.size['chain']
    checker = Checker(*expect.paths_of('processes'))
    # Here a frame of the parent's work is wrong.
    checker.paths = [p for p in checker.paths if p[0] != 'first']
    roots = collections.Counter()
    with process.Program([process.fixture('processes'), '600', '1']) as p:
        end = time.monotonic() + 120
        while (checker.inside < samples or
               min(roots['child'], roots['second']) < samples // 10) and \
                time.monotonic() < end:
            child = child_of(p.pid)
            if not child:
                time.sleep(0.01)
                continue
            # Of one program, without what has moved since it was executed.
            try:
                names = process.Names(child)
                for stack in process.stacks(child, 100, 1):
                    chain = [names.name(*f) for f in reversed(stack.frames())]
                    checker.add(chain, stack.stop, stack)
                    roots[chain[0]] += 1
            except (Fail, OSError):
                # It may have ended meanwhile.
                if process.state(child) not in 'ZX':
                    raise
    exact.judge(checker, bars.size['inside'])
    say('%d samples after fork, %d after exec' %
        (roots['child'], roots['second']))
    if min(roots['child'], roots['second']) < samples // 10:
        raise Fail('too few of one of them')


def test_list():
    tests = [('exact-' + name, lambda f=fixture, r=rts: exact.check(f, rts=r))
             for name, fixture, rts in RUNS]
    tests += [('tight-' + name,
               lambda f=fixture, r=rts, d=divisor: exact.check(f, d, r))
              for name, fixture, rts, divisor in TIGHT]
    return tests + [('exact-processes-children', children)]
