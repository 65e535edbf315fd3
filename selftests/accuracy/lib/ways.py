# SPDX-License-Identifier: GPL-2.0-only
"""The ways of building and running that the fixtures are looked at in.

Each way is there once for Haskell, once for foreign calls and, where it changes
the run-time system, once for its frames; every one with every fixture would
take long, and is what the lists of more tests are for.

Those with "llvm" need llvm-13, which GHC 9.0.2 takes although it is newer than
what it asks for (9 to 12).
"""

WAYS = ('O0', 'O2', 'g1', 'g3', 'prof', 'scc', 'dbg', 'thr-dbg', 'thr-prof',
        'dyn-dbg', 'evl', 'llvm', 'split', 'static',
        'bfd', 'lld')

EXACT = (
    'chain-O2', 'chain-scc', 'chain-split', 'chain-lld',
    'mixed-O0', 'mixed-g3', 'mixed-prof', 'mixed-thr-dbg', 'mixed-static',
    'frames-prof', 'frames-dbg', 'cmain-prof', 'deep-prof',
    'bound-thr-dbg')
TIGHT = ('chain-prof', 'mixed-prof', 'mixed-thr-dbg', 'mixed-static')
# The optimiser finds that one of the lazy values of frames is not lazy.
MORE = tuple(name for name in
             (fixture + '-' + way for fixture in ('chain', 'mixed', 'frames')
              for way in WAYS) if name not in EXACT + ('frames-O2',))

# Options of the run-time system: what collects and moves stacks, and how large
# those are.
COLLECT = (('-N2', '-A64k'), ('--nonmoving-gc', '-A64k'), ('-c', '-A64k'),
           ('-G3', '-A64k'), ('-A16m',), ('-I0.01',))
STACKS = ('-ki1k', '-kc2k', '-kb1k')

RTS = (
    ('mixed-thr', ('-N2', '-A64k')),
    ('mixed-thr', ('--nonmoving-gc', '-A64k')),
    ('mixed-thr', ('-c', '-A64k')),
    ('frames', STACKS),
    ('deep', STACKS),
)
MORE_RTS = tuple((name, rts) for name in ('mixed-thr', 'bound-thr', 'integer')
                 for rts in COLLECT + (STACKS,)
                 if (name, rts) not in RTS and
                 (name != 'integer' or '-N2' not in rts))
RTS_THREADS = (
    ('threads-thr', ('-N2', '--nonmoving-gc', '-A64k')),
    ('threads-thr', ('-N2', *STACKS)),
)
COMPACTING = ('threads-thr', ('-N2', '-c', '-A64k'))
MORE_RTS_THREADS = (
    ('threads-thr', ('-N1', '-G3', '-A64k')),
    ('threads-thr', ('-N4', '-A16m')),
    ('threads-thr', ('-N2', '-I0.01', '-A64k')),
    ('threads-thr-prof', ('-N2', '-A64k')),
    ('threads-thr-dbg', ('-N2', '-A64k')),
    ('threads-thr-llvm', ('-N2', '-A64k')),
)

# A fixture, and its arguments: mostly as they are, and with little work.
TWINS = (
    ('chain', '20000'), ('chain-O', '20000'), ('mixed', '20000'),
    ('mixed-thr', '20000'), ('mixed-dyn', '20000'), ('frames', '20000'),
    ('deep',), ('cmain', '20000'),
    ('threads-thr', '1', '+RTS', '-N2', '-A64k'),
)
MORE_TWINS = (
    ('chain-thr', '20000'), ('chain-dyn', '20000'), ('mixed-O', '20000'),
    ('frames-thr', '20000'), ('frames-dyn', '20000'), ('frames-O', '20000'),
    ('deep-thr',), ('deep-dyn',), ('deep-O',), ('cmain-thr', '20000'),
    ('cmain-dyn', '20000'), ('cmain-O', '20000'),
    ('threads-thr-O', '1', '+RTS', '-N2', '-A64k'),
    ('threads-dyn', '1', '+RTS', '-N2', '-A64k'),
)
