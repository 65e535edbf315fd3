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


def capi(number, name):
    """The C function that GHC writes for a capi import."""
    return 'ghczuwrapperZC%dZCmainZCMainZC%s' % (number, name)


def kinds():
    leaf = ['c_leaf', 'c_spin']
    paths = [ROOT + [leg] + leaf for leg in
             ('unsafe', 'safe', 'interruptibly',
              'unsafeIO', 'safeIO', 'interruptiblyIO')]
    library = 'base_ForeignziCziError_throwErrnoIfMinus1Retry2'
    paths += [
        ROOT + ['capiUnsafe', capi(2, 'czucapi'), 'c_capi', 'c_spin'],
        ROOT + ['capiSafe', capi(1, 'czucapi'), 'c_capi', 'c_spin'],
        ROOT + ['variadic', capi(0, 'czusum'), 'c_sum', 'c_spin'],
        ROOT + ['checked', library, 'checked', 'c_fails', 'c_spin'],
        ROOT + ['dynamicUnsafe', 'c_dynamic', 'c_spin'],
        ROOT + ['realignedUnsafe', 'c_realigned', 'c_spin'],
    ]
    for leg, function in (('back', 'c_back'), ('backInterruptible', 'c_back'),
                          ('dynamicBack', 'c_dynamic_back'),
                          ('realignedBack', 'c_realigned_back')):
        paths += working(ROOT + [leg, function, stub('mkBack'), 'inHaskell'])
    return paths


def pointers():
    # qsort() calls a function that calls itself for each half.
    sorting = [['[libc.so.6]'] * depth for depth in range(2, 7)]
    compare = [stub('mkCompare'), 'compareWords']
    paths = [ROOT + [leg, 'c_leaf', 'c_spin']
             for leg in ('callsC', 'callsSafely')]
    paths += [ROOT + [leg, 'c_nine', 'c_spin']
              for leg in ('callsNine', 'callsNineSafely')]
    for way in [['callsNineSafely', stub('mkNine'), 'wrappedNine'],
                ['callsExported', 'hs_exported', 'exported'],
                ['callsWrapped', stub('mkNumber'), 'wrapped'],
                ['passesExported', 'c_call', 'hs_exported', 'exported'],
                ['passesWrapped', 'c_call', stub('mkNumber'), 'wrapped'],
                ['searches', '[libc.so.6]'] + compare] + \
            [['sorts'] + libc + compare for libc in sorting] + \
            [['sortsExported'] + libc + ['hs_compare', 'compareWords']
             for libc in sorting]:
        paths += working(ROOT + way)
    return paths


FIXTURES = {
    'ffi_args': (args, ROOT),
    'ffi_kinds': (kinds, ROOT),
    'ffi_pointers': (pointers, ROOT),
}
