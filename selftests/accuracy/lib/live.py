# SPDX-License-Identifier: GPL-2.0-only
"""What looking at a live process must not change."""

import signal
import subprocess
import time

import process
from ktap import Fail, say


def wait_for(condition, what, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Fail('waited %d s in vain for %s' % (seconds, what))
        time.sleep(0.001)


def stays_stopped():
    with process.Program([process.fixture('threads-thr'), '600', '+RTS',
                          '-N2']) as p:
        for _ in range(20):
            p.popen.send_signal(signal.SIGSTOP)
            wait_for(lambda: p.state() == 'T', 'the process to stop')
            seen = list(process.stacks(p.pid, 3, 1))
            if len({s.tid for s in seen}) < 3:
                raise Fail('not all threads were shown')
            time.sleep(0.05)
            if p.state() != 'T':
                raise Fail('the process is in state %s after hsunwind-stack, '
                           'no longer stopped' % p.state())
            p.popen.send_signal(signal.SIGCONT)
            wait_for(lambda: p.state() != 'T', 'the process to go on')
            time.sleep(0.01)


def signals_arrive():
    """Signals sent while the process is looked at all arrive, once."""
    sent = 0
    with process.Program([process.fixture('threads-thr'), '6', '+RTS', '-N2'],
                         warm_up=1, stdout=subprocess.PIPE, text=True) as p:
        end = time.monotonic() + 3
        looking = process.stacks(p.pid, 100000, 1)
        for _ in looking:
            # One at a time: equal pending signals merge into one.
            if pending(p.pid, signal.SIGUSR1):
                continue
            p.popen.send_signal(signal.SIGUSR1)
            sent += 1
            if time.monotonic() > end:
                break
        looking.close()
        out = p.popen.stdout.read()
        status = p.popen.wait()
    say('%d signals sent, the program says: %s' % (sent, out.strip()))
    if status:
        raise Fail('the program ended with status %d' % status)
    got = int(out.split()[-1])
    if got != sent or sent < 100:
        raise Fail('%d signals of %d arrived' % (got, sent))


def pending(pid, number):
    with open('/proc/%d/status' % pid, encoding='utf-8') as f:
        masks = [int(line.split()[1], 16) for line in f
                 if line.startswith(('SigPnd', 'ShdPnd'))]
    return any(m >> (number - 1) & 1 for m in masks)
