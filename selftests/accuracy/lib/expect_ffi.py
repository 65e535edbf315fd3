# SPDX-License-Identifier: GPL-2.0-only
"""The chains of the fixtures about foreign calls, ffi_*: see expect.py."""

from chains import GC

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


def cxx():
    callback = [stub('mkNumber'), 'inHaskell']
    compare = [stub('mkCompare'), 'isLess']
    # std::sort() with a function pointer, on an array of long.
    loop = '_ZSt16__introsort_loopIPllN9__gnu_cxx5__ops15_Iter_comp_iterI' \
        'PFlllEEEEvT_S7_T0_T1_'
    insertion = '_ZSt16__insertion_sortIPlN9__gnu_cxx5__ops15_Iter_comp_iter' \
        'IPFlllEEEEvT_S7_T0_'
    virtual = ROOT + ['virtual', 'cxx_virtual',
                      '_ZL9apply_allRKSt6vectorIP4baseSaIS1_EEl']
    guarded = ROOT + ['guarded', 'cxx_guarded']
    catches = ROOT + ['catches', 'cxx_catches']
    throws = catches + ['_ZL6throwsPFllEl']
    sorts = ROOT + ['sorts', 'cxx_sort']
    guard = ['_ZN5guardD2Ev', 'c_spin']
    paths = [virtual + ['_ZN5works5applyEl', 'c_spin'],
             guarded + guard, throws + guard, catches + ['c_spin']]
    for way in [virtual + ['_ZN5calls5applyEl'] + callback,
                guarded + callback, throws + callback,
                ROOT + ['forEach', 'cxx_each'] + callback,
                sorts + compare, sorts + [insertion] + compare] + \
            [sorts + [loop] * depth + compare for depth in range(1, 7)]:
        paths += working(way)
    return paths


def nested():
    # Two functions of glibc lie between _start and main.
    root = ['_start', '[libc.so.6]', '[libc.so.6]', 'main']
    in_haskell = ['hs_level', 'level']
    paths = []
    for depth in range(1, 8):
        in_c = root + ['c_level'] + (in_haskell + ['c_level']) * (depth - 1)
        paths.append(in_c + ['c_spin'])
        if depth < 7:
            paths += working(in_c + in_haskell)
    for way in (in_c, root + ['c_padded']):
        paths += [way + ['hs_bottom', 'bottom', c, 'c_spin']
                  for c in ('c_many', 'c_leaf')]
    return paths


def threads():
    # The two functions of glibc that a thread begins in.
    start = ['[libc.so.6]', '[libc.so.6]']
    calling = start + ['calling_thread']
    in_haskell = calling + ['hs_calls', 'calls']
    mine = ROOT + ['mine']
    return working(in_haskell) + working(mine) + working(['waits', 'woken']) + \
        working(in_haskell + ['c_calls_back', 'hs_works', 'works']) + [
            calling + ['c_spin'],
            mine + ['c_leaf', 'c_spin'],
            start + ['waking_thread', 'c_spin'],
        ]


def finalizers():
    # The C code of finalizers hangs from the collector, which runs them. Of the
    # three functions of the library one is not exported.
    paths = [[GC, 'c_finalize', 'c_spin']] + working(['base_GHCziWeak_runFinalizzerBatch1', '?',
                     'base_GHCziForeignPtr_addForeignPtrConcFinalizzer3',
                     'finalize'])
    for leg in ('inC', 'inHaskell'):
        paths += working(ROOT + [leg])
    return paths


def moves():
    # lazily() ends in a call of force(); the lazy value's code is in its lines.
    lazily = ['force', 'lazily']
    second = lazily + ['second', 'c_leaf', 'c_spin']
    calls = ['returns'] + lazily + ['calls', 'c_back']
    in_haskell = calls + [stub('mkNumber'), 'inHaskell']
    return [
        ['moves', 'first'] + second,
        calls + ['c_spin'],
        in_haskell + second,
        ['moves', 'first', 'lazily'],
        ['returns', 'lazily'],
        in_haskell + ['lazily'],
    ]


def library():
    in_haskell = ['c_level', 'lib_calls', 'calls']
    paths = []
    for root, levels in ((['_start', '[libc.so.6]', '[libc.so.6]', 'main'], 3),
                         (['[libc.so.6]', '[libc.so.6]', 'second_thread'], 1)):
        for depth in range(levels + 1):
            way = root + in_haskell * depth
            paths.append(way + ['c_level', 'c_spin'])
            if depth:
                paths += working(way)
        paths += working(way + ['c_level', 'lib_works', 'works'])
    return paths


FIXTURES = {
    'ffi_args': (args, ROOT),
    'ffi_kinds': (kinds, ROOT),
    'ffi_pointers': (pointers, ROOT),
    'ffi_cxx': (cxx, ROOT),
    'ffi_nested': (nested, ['_start', 'main']),
    'ffi_threads': (threads, ROOT + ['waits']),
    'ffi_finalizers': (finalizers, ROOT),
    'ffi_moves': (moves, ['moves', 'returns']),
    'ffi_library': (library, ['_start', 'main', 'second_thread']),
}

# The programs that are tested, and those that are also tested with hardly any
# work in them.
EXACT = (
    'ffi_args', 'ffi_args-O', 'ffi_args-thr', 'ffi_args-dyn', 'ffi_args-strip',
    'ffi_kinds', 'ffi_kinds-O', 'ffi_kinds-thr', 'ffi_kinds-dyn',
    'ffi_pointers', 'ffi_pointers-O', 'ffi_pointers-thr', 'ffi_pointers-dyn',
    'ffi_cxx', 'ffi_cxx-O', 'ffi_cxx-thr', 'ffi_cxx-dyn', 'ffi_nested',
    'ffi_nested-O', 'ffi_nested-thr', 'ffi_nested-dyn', 'ffi_nested-strip',
    'ffi_threads-thr', 'ffi_threads-thr-O', 'ffi_threads-dyn',
    'ffi_finalizers', 'ffi_finalizers-O', 'ffi_moves-thr', 'ffi_moves-dyn',
    'ffi_moves-thr-strip', 'ffi_library')
TIGHT = ('ffi_args', 'ffi_kinds', 'ffi_pointers', 'ffi_cxx', 'ffi_nested',
         'ffi_threads-thr', 'ffi_moves-thr', 'ffi_library')
