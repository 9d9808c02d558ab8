"""Stopping a run: the whole family is asked, then made to go, and only then is it stopped."""

import contextlib
import os
import select
import signal
import time
from typing import NamedTuple

from switchyard.proc.family import Leader, leader_vitals, members
from switchyard.proc.identity import Vitals, vitals
from switchyard.proc.port_probe import is_bindable

KILL_WAIT_S = 5.0
PORT_WAIT_S = 2.0


class Stopped(NamedTuple):
    """How a run ended. `left` are processes that even SIGKILL did not end in time."""

    forced: bool
    left: tuple[int, ...]
    port_free: bool


def signal_member(member: Vitals, number: signal.Signals) -> None:
    """Signal exactly this process: through a descriptor, and only when it is still the same one."""
    with contextlib.suppress(ProcessLookupError, OSError):
        descriptor = os.pidfd_open(member.pid)
        try:
            now = vitals(member.pid)
            if now and now.ticks == member.ticks:
                signal.pidfd_send_signal(descriptor, number)
        finally:
            os.close(descriptor)


def _wait_gone(family: list[Vitals], until: float) -> None:
    """Wait until each of these processes has ended or the time is over."""
    descriptors: list[int] = []
    waiting: set[int] = set()
    poller = select.poll()
    try:
        for one in family:
            with contextlib.suppress(OSError):
                descriptor = os.pidfd_open(one.pid)
                descriptors.append(descriptor)
                now = vitals(one.pid)
                if now and now.ticks == one.ticks and not now.is_dead:
                    poller.register(descriptor, select.POLLIN)
                    waiting.add(descriptor)
        while waiting and (left := until - time.monotonic()) > 0:
            for descriptor, _ in poller.poll(max(1, left * 1000)):
                poller.unregister(descriptor)
                waiting.discard(descriptor)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def _ask(leader: Leader, family: list[Vitals], number: signal.Signals) -> None:
    proven = leader_vitals(leader) is not None
    if proven:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(leader.pid, number)
    for one in family:
        if not proven or one.group != leader.pid:
            signal_member(one, number)


def _resume(family: list[Vitals]) -> None:
    for one in family:
        now = vitals(one.pid)
        if now and now.state in "Tt":
            signal_member(one, signal.SIGCONT)


def stop_family(
    leader: Leader,
    *,
    number: signal.Signals = signal.SIGTERM,
    grace_s: float = 10.0,
    port: int | None = None,
) -> Stopped:
    """End every process of the run and see its port free. Strangers are never signalled."""
    family = members(leader)
    forced = False
    if family:
        _ask(leader, family, number)
        _resume(family)
        until = time.monotonic() + grace_s
        while family and time.monotonic() < until:
            _wait_gone(family, until)
            family = members(leader)
    until = time.monotonic() + KILL_WAIT_S
    while family and time.monotonic() < until:
        forced = True
        for one in family:
            signal_member(one, signal.SIGKILL)
        _wait_gone(family, min(until, time.monotonic() + 1.0))
        family = members(leader)
    return Stopped(forced, tuple(one.pid for one in family), _wait_port(port))


def _wait_port(port: int | None) -> bool:
    if port is None:
        return True
    until, pause = time.monotonic() + PORT_WAIT_S, 0.002
    while not is_bindable(port, strict=False):
        if time.monotonic() > until:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.05)
    return True
