# SPDX-License-Identifier: GPL-2.0-only
"""The chains that the fixtures must show, known from their sources.

A path lists functions from the root to a leaf. A sample is right if its chain
is exactly a path, or a path cut short: then the leaf is one of the functions on
the way, before or after its call. What hsunwind leaves out by default (frames
of GHC's run-time system, and its plumbing below a Haskell stack) is not listed.
"""

import expect_ffi
import expect_runtime

ROOT = ['top', 'loop']
F = ['f%d' % i for i in range(1, 13)]


def working(way):
    """The work at the end of a way: a call of C, then a loop (a tail call)."""
    return [way + ['work', 'fixture_rounds'], way + ['spin']]


def chain():
    way = ROOT + F
    return working(way) + \
        [way + ['workCalls', 'workCallee'], way + ['fixture_rounds']] + \
        working(way[:way.index('f7') + 1]) + \
        working(way[:way.index('f5') + 1])


def mixed():
    # The stub that calls mkCallback's functions. The code of the imports is
    # part of the functions that use them.
    stub = 'zdmainzdMainzdMainzumkCallback'
    in_c1 = ROOT + ['h1', 'c1']
    in_h2 = in_c1 + [stub, 'h2']
    in_c2 = in_h2 + ['c2']
    in_h4 = in_c2 + ['hs_three', 'hsThree', 'h3', 'c3', stub, 'h4']
    return working(in_h4) + working(in_h2) + [
        in_h4 + ['c_leaf', 'c_spin'],
        in_c2 + ['c_frame', 'c_spin'],
        in_c1 + ['c_spin'],
    ]


def cmain():
    # Two functions of glibc lie between _start and main.
    in_outer = ['_start', '[libc.so.6]', '[libc.so.6]', 'main', 'c_outer',
                'hs_outer', 'hsOuter']
    in_inner = in_outer + ['h1', 'c_inner']
    return working(in_inner + ['hs_inner', 'hsInner']) + working(in_outer) + \
        [in_inner + ['c_spin']]


def frames():
    way = ROOT + ['delays', 'force', 'delays', 'catches', 'masks', 'transact',
                  'orElses', 'catchesSTM', 'inSTM', 'impure', 'unknown',
                  'adder', 'wide']
    # The action that each of these passes on has code of its own there, which
    # only jumps to the next function.
    actions = [way[:way.index(f) + 1] + [f]
               for f in ('catches', 'masks', 'transact', 'orElses',
                         'catchesSTM')]
    return working(way) + actions


def deep():
    return working(ROOT + ['descend'] * 50000)


def integer():
    # What these call in ghc-bignum and libgmp is not judged.
    # But some evaluates an argument, which is code of numbers again, once
    # with arguments of the same kind.
    way = ROOT + ['numbers']
    return [way + ['square']] + [
        way + [f] + ['ghczmbignum_GHCziNumziInteger_integer' + g for g in lib] +
        ['numbers']
        for f, lib in (('multiply', ['Mul']), ('divide', ['Quot']),
                       ('common', ['Gcd']), ('cut', ['And']),
                       ('cut', ['And', 'Add']), ('cut', ['And', 'Add', 'Add']))]


def bound():
    way = ['thread', 'loop', 'b1', 'b2']
    return working(way) + [way + ['c_leaf', 'c_spin']]


# name of the fixture: paths, and the functions at the root that are no work:
# a leaf in one of them is in the loop around the work. Where a third one is
# given, it must explain all samples that are not inside the work.
FIXTURES = {
    'chain': (chain, ROOT),
    'mixed': (mixed, ROOT),
    'cmain': (cmain, ['_start', 'main']),
    'frames': (frames, ROOT),
    'deep': (deep, ROOT),
    'integer': (integer, ROOT),
    'bound': (bound, ['thread', 'loop']),
    **expect_ffi.FIXTURES,
    **expect_runtime.FIXTURES,
}


def paths_of(program):
    """Returns the arguments of a Checker for a program, by its name.

    The parts of a name after the fixture's tell how it was made.
    """
    make, *rest = FIXTURES[program.split('-')[0]]
    return make(), *rest
