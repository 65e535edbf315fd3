# SPDX-License-Identifier: GPL-2.0-only
"""What of a stack is shown: options, the collector, deep stacks, recursion."""

import collections
import os
import re
import subprocess
import tempfile

import bars
import expect
import process
from chains import COLLECTOR, GAP, GC, has_part, short
from ktap import Fail, say

# As a kernel of today gives it, and what the module takes for its time.
LIMITS = ('--max-frames', '127', '--max-steps', '16384')
LEAF, ROOT = 127 - 1 - 127 // 2, 127 // 2
# Entries of the root that are hidden when it is known that they are plumbing.
PLUMBING = 10

CYCLE = 8
# Of a recursion with a cycle of three, that has some callers and calls something.
LONGEST_FOLDED = 20


def chains_of(argv, samples, *options, warm_up=0.5):
    """Yields each stack and its names, leaf first."""
    with process.Program(argv, warm_up=warm_up) as p:
        names = process.Names(p.pid)
        for stack in process.stacks(p.pid, samples, 1, *options):
            yield stack, [names.name(*f) for f in stack.frames()]


def run_of(name, rts, divisor='1'):
    return [process.fixture(name), '600', divisor] + \
        (['+RTS', *rts] if rts else [])


def gap(name, rts=()):
    """A stack that is too deep: leaf-most, one gap, and root-most frames."""
    paths = [path[::-1] for path in expect.paths_of(name)[0]]
    known = {name for path in paths for name in path}
    deep = [path for path in paths if len(path) > 127]
    roots = {}
    leaves = collections.Counter()
    gapped = whole = 0
    for stack, chain in chains_of(run_of(name, rts), bars.size['shown'],
                                  *LIMITS):
        if stack.stop != 'complete':
            raise Fail('%s: %s' % (stack.stop, short(chain)))
        if GAP not in chain:
            whole += chain in paths
            continue
        gapped += 1
        if chain.count(GAP) > 1 or len(chain) > 127:
            raise Fail('gaps: %s' % short(chain))
        leaf, root = chain[:chain.index(GAP)], chain[chain.index(GAP) + 1:]
        leaves[len(leaf)] += 1
        roots[tuple(root)] = True
        # What is called by the program's functions is not judged.
        while leaf and leaf[0] not in known:
            del leaf[0]
        if not leaf or not any(has_part(path, leaf) and
                               path[-len(root):] == root for path in deep):
            raise Fail('of no known chain: %s' % short(chain))
    say('%d stacks with a gap, %d known ones without; %d roots of %s frames' %
        (gapped, whole, len(roots), ', '.join(str(len(r)) for r in roots)))
    if gapped < bars.size['shown'] // 2:
        raise Fail('too few stacks with a gap')
    if set(leaves) != {LEAF}:
        raise Fail('frames at the leaf: %s' % leaves)
    # All hang from the same, and from as much of it as there is room for.
    if len(roots) != 1 or not ROOT - PLUMBING <= len(list(roots)[0]) <= ROOT:
        raise Fail('%d different roots' % len(roots))


def no_root(name, rts):
    """Chunks so large that their frames take too long: it is told."""
    seen = collections.Counter()
    for stack, chain in chains_of(run_of(name, rts), 20, *LIMITS):
        seen[stack.stop] += 1
        if stack.stop == 'steps' and (len(chain) != LEAF + 1 or
                                      chain[-1] != GAP):
            raise Fail('not ended by the gap: %s' % short(chain))
    say(', '.join('%s %d' % c for c in seen.items()))
    if seen['steps'] < 10:
        raise Fail('the root was reached, or nothing deep was seen')


def fold(chain):
    """A chain, leaf first, with cycles of up to 8 callers only once."""
    out = []
    for name in chain:
        out.append(name)
        for n in range(1, CYCLE + 1):
            if 2 * n <= len(out) and out[-n:] == out[-2 * n:-n]:
                del out[-n:]
                break
    return out


def folded(name, rts=()):
    """Recursion is shown once: nearly every chain is a known one, folded.

    The others are in functions that are called on the way, before they call.
    """
    known = set()
    for path in expect.paths_of(name)[0]:
        # The leaf is no return address: it is a cycle's only if that returns.
        known.add((path[-1], *fold(path[-2::-1])))
    shown = collections.Counter()
    for stack, chain in chains_of(run_of(name, rts), bars.size['shown'],
                                  '--fold-recursion'):
        if stack.stop != 'complete' or GAP in chain:
            raise Fail('%s: %s' % (stack.stop, short(chain)))
        shown[tuple(chain)] += 1
    good = sum(n for chain, n in shown.items() if chain in known)
    total = sum(shown.values())
    longest = max(len(chain) for chain in shown)
    say('%d of %d stacks are known ones, folded; the longest has %d frames' %
        (good, total, longest))
    if good < 0.8 * total or longest > LONGEST_FOLDED:
        for chain, n in shown.most_common(20):
            if chain not in known:
                say('%d times: %s' % (n, short(chain[::-1])))
        raise Fail('too few, or too long')


def collector(name, rts, least=0.01):
    """The collector is one frame, alone, and nothing of it is in other stacks.

    Looked at twice, with the program's own files and with stripped ones.
    """
    samples = bars.size['shown']
    path = process.fixture(name)
    first = {}
    total = alone = differ = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(['strip', '-o', os.path.join(folder, name), path],
                       check=True)
        for stack, chain in chains_of(run_of(name, rts), samples, '--files',
                                      folder, '--both', warm_up=1):
            if stack.tid not in first:
                first[stack.tid] = (stack.body, stack.stop)
                total += 1
                if GC in chain:
                    if chain != [GC]:
                        raise Fail('with the collector: %s' % short(chain))
                    alone += 1
                elif any(COLLECTOR.match(n) for n in chain):
                    raise Fail('of the collector: %s' % short(chain[::-1]))
            else:
                differ += first.pop(stack.tid) != (stack.body, stack.stop)
    say('%d stacks, %d of them the collector; %d others without symbols' %
        (total, alone, differ))
    if alone < least * total:
        raise Fail('too few of the collector')
    if differ:
        raise Fail('%d stacks differ without symbols' % differ)


def gc_modes(name, rts):
    """The same program with the collector's own frames, and without any."""
    seen = collections.Counter()
    for mode in ('show', 'drop'):
        for stack, chain in chains_of(run_of(name, rts),
                                      bars.size['shown'] // 2,
                                      '--gc=' + mode, warm_up=1):
            if GC in chain or (mode == 'show' and not chain):
                raise Fail('--gc=%s: %s' % (mode, short(chain)))
            if not chain:
                seen['dropped'] += 1
            elif any(COLLECTOR.match(n) for n in chain):
                seen['shown with --gc=' + mode] += 1
    say(', '.join('%s %d' % c for c in seen.items()))
    if not seen['dropped'] or not seen['shown with --gc=show'] or \
            seen['shown with --gc=drop']:
        raise Fail('not as told')


def hidden(name, option, pattern):
    """Frames that match are there with the option, and else not at all."""
    count = collections.Counter()
    for options in ((), (option,)):
        for _, chain in chains_of(run_of(name, ()), 100, '--gc=drop',
                                  *options):
            # Where a thread is, is shown in any case.
            count[options] += any(re.match(pattern, n) for n in chain[1:]
                                  if 'loop' in chain)
    say('%d stacks without %s, %d with it' %
        (count[()], option, count[(option,)]))
    if count[()] or count[(option,)] < 50:
        raise Fail('not as told')


TINY = ('-ki1k', '-kc2k', '-kb1k')
# Fixture, and options of the run-time system.
GAPS = (('deep', ()), ('deep', ('-kc1k', '-kb256')), ('recursion', TINY))
MORE_GAPS = (('deep', TINY), ('deep', ('-kc64k',)), ('deep-nog', ()),
             ('recursion-strip', ('-kc4k',)))
COLLECTORS = (('threads-thr', ('-N2', '-A64k')),
              ('threads-thr', ('-N2', '--nonmoving-gc', '-A64k')),
              ('threads-thr', ('-N2', '-c', '-A64k')))
MORE_COLLECTORS = (('threads-thr', ('-N2', '-qg', '-A64k')),
                   ('threads-thr-dbg', ('-N2', '-A64k')),
                   ('threads-thr-prof', ('-N2', '-A64k')),
                   ('threads-thr-dbg', ('-N2', '--nonmoving-gc', '-A64k')))


def test(kind, check, name, rts):
    return '-'.join((kind, name)) + ''.join('+' + o.strip('-') for o in rts), \
        lambda: check(name, rts)


def more_tests():
    return [test('gap', gap, *args) for args in MORE_GAPS] + \
        [test('gc', collector, *args) for args in MORE_COLLECTORS]


def test_list():
    tests = [test('gap', gap, *args) for args in GAPS]
    tests.append(test('gap', no_root, 'deep', ('-kc1m',)))
    tests.append(test('fold', folded, 'recursion', ()))
    tests += [test('gc', collector, *args) for args in COLLECTORS]
    tests.append(test('gc-modes', gc_modes, *COLLECTORS[0]))
    tests += [
        ('show-internal', lambda: hidden('frames', '--show-internal',
                                         r'(__)?stg_')),
        ('show-rts', lambda: hidden('mixed', '--show-rts',
                                    r'schedule|hs_main|_start|main$')),
    ]
    return tests
