# SPDX-License-Identifier: GPL-2.0-only
"""The same stops with all that a -g build knows, and with what its stripped
twin still knows: the answers must be the same.
"""

import collections
import os
import subprocess
import tempfile

import bars
import process
from ktap import Fail, say


def check(name, *args):
    """Stripping moves no code, so that one process can be looked at twice at
    the same moment, with images from either file. A process of the stripped
    file itself would have other stops.
    """
    samples = bars.size['deep' if name.startswith('deep') else 'twin']
    least = samples // 3
    same = 0
    kinds = collections.Counter()
    examples = {}
    first = {}
    path = process.fixture(name)
    with tempfile.TemporaryDirectory() as folder, \
            process.Program([path, '600', *args], warm_up=1) as p:
        subprocess.run(['strip', '-o', os.path.join(folder, name), path],
                       check=True)
        names = process.Names(p.pid)
        for stack in process.stacks_until(
                lambda: same + sum(kinds.values()) >= least, p.pid, samples,
                '--files', folder, '--both'):
            if stack.tid not in first:
                first[stack.tid] = stack
                continue
            other = first.pop(stack.tid)
            if not stack.has_haskell() and not other.has_haskell():
                continue
            if (stack.body, stack.stop) == (other.body, other.stop):
                same += 1
            else:
                leaf = names.name(*stack.frames()[0])
                kinds[leaf] += 1
                examples.setdefault(leaf, (other, stack))
    report(same, kinds, examples)
    if same + sum(kinds.values()) < least:
        raise Fail('too few stacks with Haskell frames')
    if kinds:
        raise Fail('%d stacks differ' % sum(kinds.values()))


def report(same, kinds, examples):
    differ = sum(kinds.values())
    say('%d stacks with Haskell frames, %.3f %% the same without symbols and '
        '.debug_frame' % (same + differ, bars.percent(same, same + differ)))
    for leaf, count in kinds.most_common(5):
        say('%6d differ in %s' % (count, leaf))
        for stack in examples[leaf]:
            say('addresses: %s E %s' % (
                ' '.join('%s:%x' % f for f in stack.frames()[:24]),
                stack.stop))
