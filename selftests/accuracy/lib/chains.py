# SPDX-License-Identifier: GPL-2.0-only
"""Compares chains of function names with the expected ones, and counts."""

import collections

SHOWN = 5       # wrong chains that are printed
LONG = 40       # names of one chain that are printed

# In a path: one frame of Haskell code of a library, whatever it is called. Most
# of such code has no symbol of its own.
LIBRARY = '?'


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
        self.known = {n for n in known - {LIBRARY} if not n.startswith('[')}
        self.work = self.known - set(root)
        self.explain = explain
        self.inside = 0
        self.called = 0
        self.exact = 0
        self.leaves = collections.Counter()
        self.outside = collections.Counter()
        self.wrong = collections.Counter()
        self.examples = {}

    def is_right(self, names):
        names = [LIBRARY if n.startswith('base_') else n for n in names]
        return any(path[:len(names)] == names for path in self.paths)

    def add(self, names, complete=True, raw=None):
        """names: the chain from the root to the leaf, never empty."""
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
                self.note_wrong(names, '(not explained)', raw)
            return
        self.inside += 1
        self.called += own < len(names)
        self.leaves[names[-1]] += 1
        if complete and self.is_right(names[:own]):
            self.exact += 1
            return
        self.note_wrong(names, '' if complete else '(incomplete)', raw)

    def note_wrong(self, names, why, raw):
        key = '%s %s' % (short(names), why)
        self.wrong[key] += 1
        self.examples.setdefault(key, raw)

    def share(self):
        return 100.0 * self.exact / self.inside if self.inside else 0.0

    def report(self, say):
        say('%d samples inside the work, %d of them in libraries; %d exact '
            '(%.3f %%)' % (self.inside, self.called, self.exact, self.share()))
        say('leaves: ' + ', '.join('%s %d' % c for c in
                                   self.leaves.most_common(12)))
        if self.outside:
            say('%d outside: %s' % (
                sum(self.outside.values()),
                ', '.join('%s %d' % c for c in self.outside.most_common(8))))
        for key, count in self.wrong.most_common(SHOWN):
            say('wrong, %d times: %s' % (count, key))
