"""A family is ended whole and nobody else is touched; what cannot be known is said to be so."""

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from copy import copy

import pytest

from support.processes import alive, wait_until_gone, wait_until_true
from switchboard.approvals.approver import Approver
from switchboard.core.faults import Fault
from switchkit import exits, processes
from switchkit.exits import has_ended, watch_exit
from switchkit.platform import GONE, SENT, Unknown, signal_group
from switchkit.platform.processes import signal_exactly
from switchkit.processes import (
    Family,
    ProcessTable,
    ancestry,
    began,
    descendants,
    environment,
    is_gone,
    living,
)

SLEEP = "import time; time.sleep(600)"
# A child in a session of its own, whose parent then ends.
LEAVES_ONE = """
import os, time
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(writing, str(os.getpid()).encode())
        time.sleep(600)
    os._exit(0)
os.wait()
print(os.read(reading, 99).decode(), flush=True)
time.sleep(600)
"""
# Notes each request to end, and goes on.
COUNTS = """
import os, signal, time
def asked(*_):
    os.write(1, b"asked\\n")
signal.signal(signal.SIGTERM, asked)
os.write(1, b"ready\\n")
time.sleep(600)
"""


@contextmanager
def started(
    program: str, env: dict[str, str] | None = None
) -> Generator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program],
        stdout=subprocess.PIPE,
        env=env or {},
        start_new_session=True,
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def said(process: "subprocess.Popen[bytes]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().decode().strip()


def test_a_mark_finds_whom_neither_session_nor_parent_shows() -> None:
    with started(LEAVES_ONE, {"MARK": "one"}) as process:
        orphan = int(said(process))
        plain = Family(process.pid, began(process.pid))
        assert orphan not in {each.pid for each in plain.look(ProcessTable())}
        marked = Family(process.pid, began(process.pid), b"MARK=one")
        assert {each.pid for each in marked.look(ProcessTable())} == {process.pid, orphan}
        other = Family(process.pid, began(process.pid), b"MARK=on")
        assert orphan not in {each.pid for each in other.look(ProcessTable())}
        assert marked.stop(signal.SIGTERM, 10, 5) == (False, [])
        wait_until_gone([orphan])


def test_a_number_that_means_another_process_now_is_not_signalled() -> None:
    with started(SLEEP) as process:
        stale = Family(process.pid, began(process.pid) - 1, b"MARK=none")
        assert stale.stop(signal.SIGKILL, 1, 1) == (False, [])
        assert signal_exactly(process.pid, began(process.pid) - 1, signal.SIGKILL) == GONE
        assert alive(process.pid)
        assert signal_exactly(process.pid, began(process.pid), signal.SIGKILL) == SENT
        assert process.wait() == -signal.SIGKILL


def test_each_member_is_asked_once_and_then_made_to_end() -> None:
    with started(COUNTS) as process:
        assert said(process) == "ready"
        family = Family(process.pid, began(process.pid))
        forced, left = family.stop(signal.SIGTERM, 0.3, 5)
        assert (forced, left) == (True, [])
        assert process.stdout is not None
        assert process.stdout.read() == b"asked\n"


def test_without_a_descriptor_for_it_the_end_of_a_process_is_still_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def none(_: int) -> int:
        raise Unknown("an old kernel")

    monkeypatch.setattr(exits, "open_exit", none)
    with started(SLEEP) as process:
        handle = watch_exit(process.pid)
        try:
            assert select.select([handle], [], [], 0)[0] == []
            assert not has_ended(process.pid, 0)
            # Nobody has reaped it yet, so its number is not free.
            process.kill()
            assert select.select([handle], [], [], 30)[0] == [handle]
        finally:
            os.close(handle)
        assert Family(process.pid, began(process.pid)).kill() == []


def test_who_a_process_is() -> None:
    with started(SLEEP, {"A": "1=2", "B": ""}) as process:
        assert process.pid in descendants(os.getpid())
        chain = [each.pid for each in ancestry(process.pid)]
        assert chain[:2] == [process.pid, os.getpid()]
        since = began(process.pid)
        assert not is_gone(process.pid, since)
        assert is_gone(process.pid, since - 1)
        process.kill()
        assert has_ended(process.pid, 30)
        assert living(process.pid) is None
        assert is_gone(process.pid, since)


def test_the_variables_of_a_process_are_those_it_was_started_with() -> None:
    with started(COUNTS, {"A": "1=2", "B": ""}) as process:
        assert said(process) == "ready"
        assert environment(process.pid) == {"A": "1=2", "B": ""}


def test_where_nobody_is_shown_nobody_approves(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(_: int) -> None:
        return None

    Approver.of_this_process().check_clients([(os.getpid() + 1, 1)])
    monkeypatch.setattr(processes, "vitals", nobody)
    with pytest.raises(Unknown):
        ancestry(os.getpid())
    with pytest.raises(Fault) as refused:
        Approver.of_this_process().check_clients([(os.getpid() + 1, 1)])
    assert refused.value.reason == "approver-unknown"


# A leader with a child that has a session of its own. At a word the child has another born, and
# both end: nobody is left who was seen before.
BORN_LATE = """
import os, sys
told, tell = os.pipe()
child = os.fork()
if child == 0:
    os.setsid()
    print(os.getpid(), flush=True)
    os.read(told, 1)
    born = os.fork()
    if born == 0:
        print(os.getpid(), flush=True)
        os.execvp("sleep", ["sleep", "600"])
    os._exit(0)
sys.stdin.read(1)
os.write(tell, b"x")
os.waitpid(child, 0)
"""


def test_whoever_is_born_while_its_parents_end_is_known_by_its_session() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", BORN_LATE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        child = int(process.stdout.readline())
        family = Family(process.pid, began(process.pid))
        assert {each.pid for each in family.look(ProcessTable())} == {process.pid, child}
        process.stdin.write(b"x")
        process.stdin.flush()
        born = int(process.stdout.readline())
        process.wait()
        wait_until_true(lambda: child not in ProcessTable().listed)
        table = ProcessTable()
        try:
            # Had somebody else that number by now, it would be another session.
            table.listed |= {child}
            assert Family.look(copy(family), table) == []
            assert [each.pid for each in family.look(ProcessTable())] == [born]
            assert family.kill() == []
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(born, signal.SIGKILL)
    assert family.look(ProcessTable()) == []


@pytest.mark.parametrize("refusal", [PermissionError, ProcessLookupError])
def test_a_group_in_which_all_have_ended_has_got_no_signal(
    monkeypatch: pytest.MonkeyPatch, refusal: type[OSError]
) -> None:
    """MacOS refuses what Linux lets pass, as long as somebody there is not reaped."""

    def refuse(*_: int) -> None:
        raise refusal(1, "refused")

    monkeypatch.setattr(os, "killpg", refuse)
    assert not signal_group(1, signal.SIGKILL)
    # A family goes on to each member by itself.
    with started(SLEEP) as process:
        family = Family(process.pid, began(process.pid))
        assert family.kill() == []
        assert process.wait() == -signal.SIGKILL
