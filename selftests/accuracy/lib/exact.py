# SPDX-License-Identifier: GPL-2.0-only
"""Stops fixtures at random and compares their chains with the known ones."""

import bars
import expect
import process
from chains import Checker
from ktap import Fail, say


def check(name, divisor=1, rts=(), options=()):
    """Every chain that is looked at inside the known work must be known.

    With a divisor the work is less by that, and more of the stops are where
    functions begin, call and return. rts: options for GHC's run-time system.
    """
    checker = Checker(*expect.paths_of(name))
    deep = name.startswith('deep')
    samples = bars.size['deep' if deep else 'chain']
    argv = [process.fixture(name), '600', str(divisor)]
    if rts:
        argv += ['+RTS', *rts]
    least = bars.size['inside'] * samples // bars.size['chain']
    if deep:
        least //= 2     # much time goes into collecting such a stack
    scanned = 0
    with process.Program(argv) as p:
        names = process.Names(p.pid)
        for stack in process.stacks_until(lambda: checker.inside >= least,
                                          p.pid, samples, *options):
            before = checker.inside
            chain = [names.name(*f) for f in reversed(stack.frames())]
            checker.add(chain, stack.stop, stack)
            if checker.inside > before:
                bars.stops[stack.stop] += 1
                scanned += stack.scanned
    if scanned:
        say('%d of these by a scan' % scanned)
    judge(checker, least)


def judge(checker, least):
    """Prints the account; raises Fail if the bars are not met."""
    checker.report(say)
    show_examples(checker)
    if checker.inside < least:
        raise Fail('only %d samples inside the work, %d wanted' %
                   (checker.inside, least))
    if checker.wrong:
        raise Fail('%d wrong chains' % sum(checker.wrong.values()))
    bars.need(checker.exact, checker.inside, bars.EXACT, 'exact')


def show_examples(checker):
    """The addresses of one bad chain of each kind, for whoever looks."""
    for chains in (checker.wrong, checker.shorter):
        for key, _ in chains.most_common(3):
            stack = checker.examples[key]
            text = ' '.join('%s:%x' % f for f in stack.frames()[:40])
            say('addresses: thread %d: %s E %s' %
                (stack.tid, text, stack.stop))
