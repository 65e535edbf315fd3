# SPDX-License-Identifier: GPL-2.0-only
"""How many samples a test takes, how good they must be, and the sum of all."""

import collections

from ktap import Fail, Skip, say

# Per cent. Wrong chains may not occur at all.
EXACT = 99.9
COMPLETE = 99.99

SIZES = {
    # samples of chain tests, of the deep chain; stops of twin tests; the least
    # number of samples inside the work; stacks with Haskell frames of
    # completeness tests; samples of tests of what is shown
    'full': dict(chain=1000, deep=60, twin=1000, inside=500, haskell=20000,
                 shown=300),
    'quick': dict(chain=300, deep=15, twin=150, inside=150, haskell=500,
                  shown=100),
}
size = dict(SIZES['full'])

# Stop reasons of all stacks that count for any test.
stops = collections.Counter()


def percent(part, whole):
    return 100.0 * part / whole if whole else 0.0


def allowed(total, bar):
    """Misses of a sample that has this size: one is never too many.

    Where the bar stands for less than one miss, the sample is too small to
    tell apart a rare miss from none.
    """
    return max(1, int(total * (100 - bar) / 100 + 1e-9))


def need(good, total, bar, what):
    if total - good > allowed(total, bar):
        raise Fail('%.3f %% %s, at least %g %% wanted' %
                   (percent(good, total), what, bar))


def whole():
    """All that was looked at in this run, which the small tests cannot tell."""
    total = sum(stops.values())
    if not total:
        raise Skip('no other test has run')
    say('%d stacks, %.4f %% complete' %
        (total, percent(stops['complete'], total)))
    for reason, count in stops.most_common():
        if reason != 'complete':
            say('%6d %s' % (count, reason))
    need(stops['complete'], total, COMPLETE, 'complete')
