# SPDX-License-Identifier: GPL-2.0-only
"""The chains of the fixtures of the run-time system: see expect.py.

Threads, exceptions, STM, laziness, recursion, signals and processes. No function
of theirs is left out as a root: what is sampled outside of the known paths is
code of the run-time system or of a library, and explained() says which.
"""

import re

from chains import ANY_LIBRARY, GC

ROOT = ['top', 'loop']
DONE = ['finished', 'fixture_done']


def working(way):
    """The work at the end of a way: a call of C, then a loop (a tail call)."""
    return [way + ['work', 'fixture_rounds'], way + ['spin']]


def toiling(way):
    """Likewise, with a loop that calls another one."""
    return [way + ['toil', 'fixture_rounds'], way + ['churn', 'spin']]


def passing(way, *functions):
    """Leaves at the end of a way: code that ends with a call of what follows.

    The action that a function passes on, or a lazy value that it makes, has
    code of its own there, as a rule, with the name of that function.
    """
    return [way + [f] for f in functions]


def inlined(paths):
    """Adds what the optimiser makes of them: a frame of a library's function is
    then one of the function that uses it."""
    both = list(paths)
    for path in paths:
        if ANY_LIBRARY in path:
            path = path[:]
            while ANY_LIBRARY in path:
                i = path.index(ANY_LIBRARY)
                path[i] = path[i - 1]
            both.append(path)
    return both


def numbered(way, k):
    """The way to the action of a thread or value with a number, and the leaves
    next to it: functions that end with the call of the next one."""
    leaves = [way + ['numbered']]
    for place in range(4, -1, -1):
        leaves.append(way + ['digit'])
        way = way + ['one' if k >> place & 1 else 'zero']
    leaves.append(way + ['digit'])
    way = way + ['down'] * k
    return way, leaves + [way + ['down']]


def forkio():
    way = ['thread', 'loop']
    paths = [way + DONE]
    for k in range(1, 32):
        end, leaves = numbered(way, k)
        paths += leaves + working(end + ['turn'])
    return paths


def forkos():
    # What it passes to forkOS is a lazy value.
    paths = [ROOT + DONE, ROOT + ['three'], ROOT + ['three', 'three']]
    for root in ('bound', 'unbound'):
        for k in range(32):
            end, leaves = numbered([root], k)
            paths += leaves + working(end + ['brief']) + \
                [end + ['brief', 'c_leaf', 'c_spin']]
        # Its last action, made there.
        paths += passing([root], 'three')
    return paths


def throwing(way):
    """Work in a function that makes an exception, or looks at one."""
    return working(way) + passing(way, 'oops', 'code')


def handlers():
    nested = ROOT + ['nested']
    paths = [ROOT + DONE]
    for way in (
            nested + ['inner', 'thrower'],
            nested + ['inner', 'innerHandler'],
            nested + ['outerHandler'],
            nested + ['outerHandler', 'thrower'],
            nested + ['outerHandler', 'lastHandler'],
            ROOT + ['falls'] + ['descend'] * 301,
            ROOT + ['falls', 'lastHandler'],
            ROOT + ['breaks', 'forces', 'force', 'bad'],
            ROOT + ['breaks', 'lastHandler']):
        paths += throwing(way)
    for way in (nested, nested + ['inner'], nested + ['outerHandler'],
                ROOT + ['falls'], ROOT + ['breaks']):
        paths += passing(way, way[-1])
    paths += passing(ROOT + ['breaks', 'forces', 'force'], 'breaks')
    return paths + masks() + brackets()


def masks():
    ways = [ROOT + ['masks']]
    for f in ('stays', 'unmasks', 'recovers'):
        ways.append(ways[-1] + [f])
    paths = [way + way[-1:] for way in ways]
    for way in ways[1:3] + [ways[3] + ['thrower'],
                            ways[3] + ['maskedHandler', 'lastHandler']]:
        paths += throwing(way)
    return paths + passing(ways[3] + ['maskedHandler'], 'maskedHandler')


def brackets():
    """The frames of bracket and finally, which wait for what they are given;
    the handlers in them wait for what they run before they throw again."""
    outer = ROOT + ['brackets']
    bracket = outer + ['brackets1', ANY_LIBRARY]
    final = bracket + ['use', ANY_LIBRARY]
    paths = passing(outer, 'brackets') + \
        passing(outer + ['brackets1'], 'brackets1') + \
        passing(bracket, 'brackets1', 'use') + \
        passing(bracket + ['use'], 'use') + passing(final, 'use')
    for way in (bracket + ['acquire'],
                final + ['used'],
                final + ['release'],
                bracket + ['thrower'],
                bracket + [ANY_LIBRARY, 'release'],
                outer + ['lastHandler']):
        paths += throwing(way)
    return inlined(paths)


def asynchronous():
    paths = [ROOT + DONE, ['ends'], *toiling(ROOT + ['masked']),
             *toiling(ROOT + ['struck', 'open', 'busy']),
             ROOT + ['struck', 'struck'], ROOT + ['struck', 'open', 'open'],
             ROOT + ['slow'],
             *working(ROOT + ['struck', 'handler']),
             *working(['striker', 'strikes'])]
    for f in ('freezes', 'thaws'):
        asking = ROOT + [f, 'attempt', 'ask', 'force']
        paths += toiling(asking + ['slow', 'force', 'slower'])
        paths += [ROOT + [f, f], ROOT + [f, 'attempt', 'attempt'],
                  asking + ['loop'], asking + ['slow', 'force', 'slow'],
                  ROOT + [f, 'again']]
    return paths


def timeouts():
    # timeout is bracket (a thread or an entry of the timer manager) around
    # fmap Just; finally as above.
    timed = ROOT + ['timed', ANY_LIBRARY, ANY_LIBRARY]
    return inlined([ROOT + DONE, *working(ROOT + ['kills']),
                    *toiling(timed + ['busy']), timed + ['timed'],
                    *toiling(['victim', ANY_LIBRARY, 'doomed']),
                    *working(['victim', ANY_LIBRARY, 'lastWords']),
                    *working(['victim', ANY_LIBRARY, ANY_LIBRARY, 'lastWords'])])


def stm():
    root = ['thread', 'loop']
    paths = [root + DONE]
    for k in range(1, 7):
        end, leaves = numbered(root, k)
        paths += leaves
        if k > 4:
            waits = end + ['waits']
            paths += passing(waits, 'waits') + working(waits + ['awaits'])
            continue
        transact = end + ['transact']
        chooses = transact + ['chooses']
        protects = chooses + ['protects']
        paths += passing(transact, 'transact') + passing(chooses, 'chooses') + \
            passing(protects, 'protects')
        for way in (chooses + ['gives'], protects + ['fails'],
                    protects + ['mends']):
            paths += working(way)
    return paths


def lazy():
    way = ['top', 'constant', 'inside', 'loop']
    linked = way + ['linked', 'force']
    paths = [way + DONE]
    for grown in range(41):
        paths += passing(linked + ['grows', 'force'] * grown, 'linked', 'link',
                         'grows', 'seed')
    paths += working(linked + ['grows', 'force'] * 40 + ['seed'])
    selects = way + ['selects', 'force']
    paths += passing(selects, 'selects', 'half') + \
        passing(selects + ['half'], 'selects') + working(selects + ['pair'])
    applies = way + ['applies', 'force']
    paths += passing(applies, 'applies', 'apply')
    for f in ('plus', 'adder', 'three'):
        paths += working(applies + [f])
    for acting in (way + ['performs', ANY_LIBRARY], way + ['performs', 'impure'],
                   way + ['interleaves', 'force', ANY_LIBRARY]):
        paths += working(acting + ['acts'])
    paths += passing(way + ['performs'], 'impure') + \
        passing(way + ['performs', ANY_LIBRARY], 'impure') + \
        passing(way + ['interleaves'], 'interleaves') + \
        passing(way + ['interleaves', 'force', ANY_LIBRARY], 'interleaves')
    return inlined(paths)


def recursion():
    paths = [ROOT + DONE]
    way = ROOT[:]
    for n in range(900, 0, -3):
        paths += passing(way, 'level')
        if n % 100 == 0:
            way = way + ['station']
            paths += working(way)
        for f in ('small', 'middle', 'large'):
            way = way + [f]
            paths += [way + ['spin']]
    paths += passing(way, 'level')
    way = way + ['bottom']
    return paths + working(way) + working(way + ['hops'] + ['hop'] * 30) + \
        passing(way + ['hops'] + ['hop'] * 30, 'hop')


def overflow():
    attempt = ROOT + ['attempt']
    descent = attempt + ['endless'] + ['descend'] * 10000
    return [ROOT + DONE, descent, *passing(attempt, 'attempt'),
            *working(descent[:descent.index('descend') + 100]),
            *working(attempt + ['handler'])]


def sparks():
    collects = ROOT + ['collects', 'force']
    paths = [ROOT + DONE, ROOT + ['sparks', 'lazyTask'],
             *passing(collects, 'lazyTask')]
    # A spark is evaluated by a thread of the base library, runSparks.
    for way in (collects, [ANY_LIBRARY]):
        for k in range(1, 32):
            end, leaves = numbered(way + ['task'], k)
            paths += leaves + passing(end, 'task') + working(end + ['acts'])
    return paths


def signals():
    # The handlers run on top of what they interrupt; between the two is code of
    # the C library, and so it is where a signal waits to be let in. The linker's
    # stubs are named like what stands in front of them.
    libc = '[libc.so.6]'
    stub = '_init'
    paths = [['onSignal'], ROOT + ['sends'], ROOT + DONE]
    for way in (['onSignal', 'outer', 'inner'], ROOT + ['outer', 'inner']):
        paths += working(way)
        for at in (way, way + ['work'], way + ['work', 'fixture_rounds'],
                   way + ['spin'], way + ['c_let_in'],
                   way + ['c_let_in', stub],
                   way + ['c_let_in', libc], way + ['c_let_in', libc, libc]):
            for handler in ('on_timer', 'on_own_stack'):
                paths.append(at + [libc, handler, 'c_spin'])
    return paths


def processes():
    first = ['first', 'loop']
    work = ['heavy', 'churn', 'spin']
    # Nothing returns to the thread that has forked: it ends in the child.
    return [first + DONE, first + ['parent'] + work,
            ['child', 'forked'] + work, ['second', 'executed'] + work]


# Where samples may be that are on no known path, by what their chains have.
SCHEDULER = re.compile(r'schedule|rts_|hs_|workerStart|forkProcess|'
                       r'forkOS_createThreadWrapper')
EVENTS = re.compile(r'base_GHCziEvent')
LIBRARY_CODE = re.compile(r'\?|base_|stg_|ZCMain_|main$')


def explained(names):
    """What a sample without any function of the program is doing, or None."""
    # The timer's signal may come anywhere.
    if names[-1] == 'handle_tick':
        names = names[:-1]
    if names in ([GC], ['GarbageCollect']):
        return 'the collector'
    if all(name.startswith('[') for name in names):
        return 'an OS thread or program that begins or ends'
    if names[0] == '_start':
        return 'scheduler, start or end of the program'
    for name in names:
        if SCHEDULER.match(name):
            return 'scheduler, collector or idle'
        if name == 'itimer_thread_func':
            return 'ticker'
        if EVENTS.match(name):
            return "the base library's event manager"
    if LIBRARY_CODE.match(names[0]):
        return 'a thread of the base library, or before or after its action'
    return None


FIXTURES = {name: (make, (), explained) for name, make in (
    ('forkio', forkio), ('forkos', forkos), ('handlers', handlers),
    ('async', asynchronous), ('timeouts', timeouts), ('stm', stm),
    ('lazy', lazy), ('recursion', recursion), ('overflow', overflow),
    ('sparks', sparks), ('signals', signals), ('processes', processes))}
