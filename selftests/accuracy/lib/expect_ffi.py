# SPDX-License-Identifier: GPL-2.0-only
"""The chains of the fixtures about foreign calls, ffi_*: see expect.py."""

# Of Work.hs.
ROOT = ['loop', 'each']


def working(way):
    """The work at the end of a way: a call of C, then a loop (a tail call)."""
    return [way + ['work', 'fixture_rounds'], way + ['spin']]


def stub(name):
    """The C function that calls the Haskell function of a wrapper import."""
    return 'zdmainzdMainzdMainzu' + name


def args():
    paths = []
    for shape in ('i6', 'i7', 'i8', 'i20', 'd8', 'd9', 'd10', 'f9', 'odd',
                  'even'):
        name = shape.capitalize()
        for leg in ('unsafe', 'safe'):
            paths.append(ROOT + [leg + name, 'leaf_' + shape, 'c_spin'])
        paths += working(ROOT + ['call' + name, 'call_' + shape,
                                 stub('mk' + name), 'back' + name])
    return paths


FIXTURES = {
    'ffi_args': (args, ROOT),
}
