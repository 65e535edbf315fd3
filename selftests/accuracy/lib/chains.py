# SPDX-License-Identifier: GPL-2.0-only
"""Compares chains of function names with the expected ones, and counts."""

import collections
import re

SHOWN = 5       # wrong chains that are printed
LONG = 40       # names of one chain that are printed

# How names begin that are in a path but not the program's own.
LIBRARY = ('[', '?', 'ghczm')
# Entries that stand for something else: all that the collector does, and frames
# that are left out.
GC = '[GC]'
GAP = '[frames left out]'
# Functions of GHC 9.0.2's collector, as far as they have symbols.
COLLECTOR = re.compile(
    'GarbageCollect|scheduleDoGC|gcWorkerThread|waitForGcThreads|'
    'releaseGCThreads|nonmoving(Mark|Collect|Concurrent|Sweep|Tidy)|scavenge|'
    'evacuate|markCAFs|traverseWeakPtrList|alloc_todo_block|compact$|update_fwd|'
    'thread_(obj|stack)|sweep$|resizeNurseries|stat_(start|end)GC')
# In a path: one frame of Haskell code of a library, whatever it is called. Most
# of such code has no symbol of its own.
ANY_LIBRARY = '?'

# What a chain can be. A shorter one stopped for a reason that is told, and all
# that it shows is right. A wrong one claims to be complete, or shows a frame
# that cannot be there.
EXACT, SHORTER, WRONG = 'exact', 'shorter', 'wrong'


def short(names):
    """A chain for a diagnostic line, root first, repetitions folded."""
    out = []
    for name in names:
        if out and out[-1][0] == name:
            out[-1][1] += 1
        else:
            out.append([name, 1])
    words = [n if k == 1 else '%s*%d' % (n, k) for n, k in out]
    if len(words) > LONG:
        words = words[:LONG // 2] + ['...'] + words[-LONG // 2:]
    return ' '.join(words)


def has_part(path, names):
    """Is names a connected part of path?"""
    first = names[0]
    return any(path[i] == first and path[i:i + len(names)] == names
               for i in range(len(path) - len(names) + 1))


class Checker:
    """Judges the samples of one program.

    A sample is inside the work if its leaf is in a function of the program
    that is not one of the root functions, or is called from such a function:
    then the frames of libraries and the run-time system on the leaf's side are
    not judged. All others are counted by leaf; if explain is given, it tells
    why a chain is outside, and one that it cannot explain is wrong.
    """

    def __init__(self, paths, root, explain=None):
        self.paths = paths
        known = {name for path in paths for name in path}
        self.known = {n for n in known if not n.startswith(LIBRARY)}
        self.work = self.known - set(root)
        self.explain = explain
        self.inside = 0
        self.called = 0
        self.kinds = collections.Counter()
        self.leaves = collections.Counter()
        self.outside = collections.Counter()
        self.shorter = collections.Counter()
        self.wrong = collections.Counter()
        self.examples = {}

    @property
    def exact(self):
        return self.kinds[EXACT]

    def judge(self, names, complete):
        plain = [ANY_LIBRARY if n.startswith('base_') else n for n in names]
        if complete:
            right = any(path[:len(names)] in (names, plain)
                        for path in self.paths)
            return EXACT if right else WRONG
        if not names or any(has_part(path, names) or has_part(path, plain)
                            for path in self.paths):
            return SHORTER
        return WRONG

    def add(self, names, stop='complete', raw=None):
        """names: the chain from the root to the leaf, never empty."""
        complete = stop == 'complete'
        own = len(names)
        while own and names[own - 1] not in self.known:
            own -= 1
        # Of a stack that breaks off nobody can say that it is outside.
        if complete and (not own or names[own - 1] not in self.work):
            why = self.explain(names) if self.explain else names[-1]
            if why:
                self.outside[why] += 1
            else:
                self.inside += 1
                self.note_wrong(names, 'not explained', raw)
            return
        self.inside += 1
        self.called += own < len(names)
        self.leaves[names[-1]] += 1
        kind = self.judge(names[:own], complete)
        self.kinds[kind] += 1
        if kind == EXACT:
            return
        key = '%s (%s)' % (short(names), stop)
        (self.wrong if kind == WRONG else self.shorter)[key] += 1
        self.examples.setdefault(key, raw)

    def note_wrong(self, names, why, raw):
        key = '%s (%s)' % (short(names), why)
        self.kinds[WRONG] += 1
        self.wrong[key] += 1
        self.examples.setdefault(key, raw)

    def share(self):
        return 100.0 * self.exact / self.inside if self.inside else 0.0

    def report(self, say):
        say('%d samples inside the work, %d of them in libraries; '
            '%d exact (%.3f %%), %d shorter, %d wrong' % (
                self.inside, self.called, self.exact, self.share(),
                self.kinds[SHORTER], self.kinds[WRONG]))
        say('leaves: ' + ', '.join('%s %d' % c for c in
                                   self.leaves.most_common(12)))
        if self.outside:
            say('%d outside: %s' % (
                sum(self.outside.values()),
                ', '.join('%s %d' % c for c in self.outside.most_common(8))))
        for kind, chains in ((SHORTER, self.shorter), (WRONG, self.wrong)):
            for key, count in chains.most_common(SHOWN):
                say('%s, %d times: %s' % (kind, count, key))
