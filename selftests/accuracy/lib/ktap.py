# SPDX-License-Identifier: GPL-2.0-only
"""Results in the format of the kernel's tests (KTAP)."""

import os


class Skip(Exception):
    """Raised by a test that cannot run here; the text says why."""


class Fail(Exception):
    """Raised by a test that has failed; the text says why."""


def say(text):
    for line in str(text).splitlines():
        print('# ' + line, flush=True)


def run(tests):
    """Runs (name, function) pairs; returns the exit status."""
    require_all = os.environ.get('HSUNWIND_TEST_REQUIRE_ALL') == '1'
    bad = 0
    print('KTAP version 1\n1..%d' % len(tests), flush=True)
    for number, (name, test) in enumerate(tests, 1):
        end = ''
        good = True
        try:
            test()
        except Skip as e:
            end = ' # SKIP %s' % e
            good = not require_all
        except Fail as e:
            say(e)
            good = False
        bad += not good
        print('%s %d %s%s' % ('ok' if good else 'not ok', number, name, end),
              flush=True)
    return 1 if bad else 0
