# SPDX-License-Identifier: GPL-2.0-only
"""The same stops with all that a -g build knows, and with what its stripped
twin still knows: the answers must be the same.
"""

import collections
import os
import signal
import subprocess
import tempfile
import time

import bars
import process
from ktap import Fail, say
from live import wait_for


def strip_into(folder, name):
    """A stripped copy of a fixture, under its own name."""
    path = os.path.join(folder, name)
    subprocess.run(['strip', '-o', path, process.fixture(name)], check=True)
    return path


def look(pid, *options):
    return {s.tid: s for s in process.stacks(pid, 1, 0, *options)}


def check(name, *args):
    """Stripping moves no code, so that one stopped process can be looked at
    twice, with images from either file. A process of the stripped file itself
    would have other stops.
    """
    same = 0
    kinds = collections.Counter()
    examples = {}
    with tempfile.TemporaryDirectory() as folder, \
            process.Program([process.fixture(name), '600', *args],
                            warm_up=1) as p:
        strip_into(folder, name)
        names = process.Names(p.pid)
        for _ in range(bars.size['twin']):
            p.popen.send_signal(signal.SIGSTOP)
            wait_for(lambda: p.state() in 'Tt', 'the process to stop')
            looks = [look(p.pid), look(p.pid, '--files', folder)]
            p.popen.send_signal(signal.SIGCONT)
            time.sleep(0.003)
            for tid, stack in looks[0].items():
                other = looks[1].get(tid)
                if not stack.has_haskell() and \
                        not (other and other.has_haskell()):
                    continue
                if other and other.body == stack.body and \
                        other.stop == stack.stop:
                    same += 1
                else:
                    leaf = names.name(*stack.frames()[0])
                    kinds[leaf] += 1
                    examples.setdefault(leaf, (stack, other))
    report(same, kinds, examples)


def report(same, kinds, examples):
    differ = sum(kinds.values())
    say('%d stacks with Haskell frames, %.2f %% the same without symbols and '
        '.debug_frame' % (same + differ, bars.percent(same, same + differ)))
    for leaf, count in kinds.most_common(5):
        say('%6d differ in %s' % (count, leaf))
        for stack in examples[leaf]:
            if stack:
                say('addresses: %s E %s' % (
                    ' '.join('%s:%x' % f for f in stack.frames()[:24]),
                    stack.stop))
    if same + differ < bars.size['twin'] // 3:
        raise Fail('too few stacks with Haskell frames')
    if differ:
        raise Fail('%d stacks differ' % differ)
