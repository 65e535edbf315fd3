# SPDX-License-Identifier: GPL-2.0-only
"""The native accuracy tests, over hsunwind-stack: their names."""

import bars
import complete
import exact
import expect_ffi
import live
import runtime
import shown
import twins
import ways

EXACT = (
    'chain', 'chain-O', 'chain-thr', 'chain-dyn', 'chain-pie', 'chain-strip',
    'chain-nog', 'mixed', 'mixed-O', 'mixed-thr', 'mixed-dyn', 'mixed-pie',
    'mixed-strip', 'cmain', 'cmain-thr', 'cmain-dyn', 'frames', 'frames-strip',
    'bound-thr', 'integer', 'deep', 'deep-nog')
# With little work, so that most stops are at calls and returns.
TIGHT = ('chain', 'chain-O', 'chain-thr', 'chain-dyn', 'mixed', 'mixed-O',
         'mixed-thr', 'mixed-dyn', 'cmain', 'frames')
DIVISOR = 20000
THREADS = ('threads-thr', 'threads-thr-O', 'threads-thr-nog',
           'threads-thr-strip', 'threads-dyn')


def exact_test(name, divisor=1, rts=()):
    kind = 'exact' if divisor == 1 else 'tight'
    return '-'.join((kind, name)) + ''.join('+' + o.strip('-') for o in rts), \
        lambda: exact.check(name, divisor, rts)


def threads_test(name, rts=None, kind='complete', **kwargs):
    if not rts:
        return '-'.join((kind, name)), lambda: complete.threads(name)
    return '-'.join((kind, name)) + ''.join('+' + o.strip('-') for o in rts), \
        lambda: complete.threads(name, rts, share=0.25, **kwargs)


def test_list():
    """(name, function) of the tests that are run if none is named."""
    tests = [exact_test(name)
             for name in EXACT + ways.EXACT + expect_ffi.EXACT]
    tests += [exact_test(name, DIVISOR)
              for name in TIGHT + ways.TIGHT + expect_ffi.TIGHT]
    tests += [exact_test(name, rts=rts) for name, rts in ways.RTS]
    tests += runtime.test_list()
    tests += [threads_test(name) for name in THREADS]
    tests += [threads_test(name, rts) for name, rts in ways.RTS_THREADS]
    tests += [
        threads_test(*ways.COMPACTING, kind='plausible', compacting=True),
        ('complete-pandoc', complete.pandoc),
        ('complete-shellcheck', complete.shellcheck),
        ('complete-ghc', complete.ghc_compiles),
        ('complete-bytecode', complete.bytecode),
    ]
    tests += [twin_test(*args) for args in ways.TWINS]
    tests += shown.test_list()
    tests += [
        ('stays-stopped', live.stays_stopped),
        ('signals-arrive', live.signals_arrive),
        ('complete-whole-run', bars.whole),
    ]
    return tests


def more_tests():
    """What takes too long to be run always; only if it is named."""
    tests = [exact_test(name) for name in ways.MORE]
    tests += [exact_test(name, DIVISOR) for name in ways.MORE
              if name not in ways.TIGHT]
    tests += [exact_test(name, rts=rts) for name, rts in ways.MORE_RTS]
    tests += [threads_test(name, rts) for name, rts in ways.MORE_RTS_THREADS]
    tests += [twin_test(*args) for args in ways.MORE_TWINS]
    tests += shown.more_tests()
    return tests


def twin_test(name, *args):
    return 'twin-' + name, lambda: twins.check(name, *args)
