"""Whatever the system hides is not known: nobody approves on it, and nobody is signalled."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.processes import alive, wait_until_true
from support.without_calls import PIDFD
from switchboard.approvals.approver import Approver
from switchboard.core.faults import Fault
from switchkit import processes
from switchkit.platform import Unknown, Vitals
from switchkit.processes import Family, ProcessTable, ancestry, began, is_gone, is_whole, living

TESTS = Path(__file__).parents[1]
WITHOUT = TESTS / "support" / "without_calls.py"
# Three processes in a row: a client, one of root in between, and a shell of the client's user,
# which says what it sees. Forked, because an ordinary user may not read where Python lies.
BELOW_ROOT = """
import ctypes, json, os, signal, sys
sys.path[:0] = PATHS
from switchboard.approvals.approver import Approver
from switchboard.core.faults import Fault
from switchkit.processes import ancestry, began, is_gone, is_whole

NOBODY, NEW_MOUNTS, NEW_PROCESSES = 65534, 0x20000, 0x20000000
PRIVATE = 1 << 14 | 1 << 18

def become_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)

def forked(work):
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)

def inside():
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mount(None, b"/", None, PRIVATE, None) == 0
    assert libc.mount(b"proc", b"/proc", b"proc", 0, b"hidepid=" + HIDEPID) == 0
    # A client that keeps the right to become root again, as one does by `sudo`.
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, 0)
    client = os.getpid(), began(os.getpid())
    forked(lambda: in_between(client))

def in_between(client):
    os.setresuid(0, 0, 0)
    root = os.getpid()
    forked(lambda: shell(client, root))

def shell(client, root):
    become_nobody()
    told = {"above": [each.pid for each in ancestry(os.getpid())]}
    told["is_whole"] = is_whole(ancestry(os.getpid()))
    told["client"] = client[0]
    told["is_gone"] = is_gone(root, 1)
    for name, check in (
        ("approval", lambda: Approver.of_this_process().check_clients([client])),
        ("consent", lambda: Approver.of_this_process().check_no_client([client])),
        ("unasked", lambda: Approver.of_this_process().check_no_client([])),
    ):
        try:
            check()
            told[name] = "agreed"
        except Fault as refused:
            told[name] = refused.reason
    print(json.dumps(told), flush=True)

try:
    Approver.of_this_process().check_clients([(1, 0)])
except Fault:
    pass
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(NEW_MOUNTS | NEW_PROCESSES) == 0, ctypes.get_errno()
forked(inside)
"""
# Its first thread ends, another goes on.
HEADLESS = """
import ctypes, os, sys, threading, time
def live():
    print("ready", flush=True)
    time.sleep(600)
threading.Thread(target=live).start()
ctypes.CDLL(None).pthread_exit(None)
"""


def as_root(*command: str) -> list[str]:
    return [*command] if os.getuid() == 0 else ["sudo", "-n", *command]


@pytest.mark.parametrize("hidepid", ["1", "2", "invisible"])
def test_who_is_below_a_hidden_process_does_not_approve(hidepid: str) -> None:
    paths = [str(TESTS), *sys.path]
    text = BELOW_ROOT.replace("PATHS", repr(paths)).replace("HIDEPID", repr(hidepid.encode()))
    done = subprocess.run(
        as_root(sys.executable, "-c", text), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    # The one above it is hidden, and with it the client.
    assert told["client"] not in told["above"]
    assert len(told["above"]) == 1
    assert not told["is_whole"]
    assert told["approval"] == "approver-unknown"
    assert told["consent"] == "approver-unknown"
    # Nobody is served, so nobody can be the one.
    assert told["unasked"] == "agreed"
    assert not told["is_gone"], "what is hidden may well run"


def chain_of(*parents: int) -> tuple[Vitals, ...]:
    pids = range(100, 100 + len(parents))
    return tuple(
        Vitals(pid, "S", parent=parent, group=pid, session=pid, began=pid, name=b"x")
        for pid, parent in zip(pids, parents, strict=True)
    )


def test_an_ancestry_is_whole_when_it_reaches_the_first_process() -> None:
    assert is_whole(ancestry(os.getpid()))
    assert is_whole(chain_of(101, 0))
    # Hidden from us, but nobody is above it.
    assert is_whole(chain_of(101, 1))
    assert not is_whole(chain_of(101, 77))
    assert not is_whole(())


def test_nobody_hides_behind_a_long_line_of_shells(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that starts a hundred shells in one another is still the one that asks."""

    def endless(pid: int) -> Vitals:
        return chain_of(pid + 1)[0]

    monkeypatch.setattr(processes, "vitals", endless)
    with pytest.raises(Fault) as refused:
        Approver.of(5000).check_clients([(9000, 9000)])
    assert refused.value.reason == "approver-unknown"


def test_a_client_whose_beginning_is_unknown_is_known_by_its_number() -> None:
    for check in (Approver.check_clients, Approver.check_no_client):
        with pytest.raises(Fault) as refused:
            check(Approver.of_this_process(), [(os.getpid(), 0)])
        assert refused.value.reason in {"own-approval", "own-consent"}


@pytest.fixture
def headless() -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", HEADLESS],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        stat = Path(f"/proc/{process.pid}/stat")
        wait_until_true(lambda: ") Z " in stat.read_text())
        try:
            yield process.pid
        finally:
            process.kill()


def test_a_program_whose_first_thread_has_ended_lives(headless: int) -> None:
    assert living(headless) is not None
    assert not is_gone(headless, began(headless))
    family = Family(headless, began(headless))
    assert [each.pid for each in family.look(ProcessTable())] == [headless]


@pytest.mark.parametrize("lacking", [PIDFD, "pidfd_open", "pidfd_send_signal"])
def test_exactly_one_is_signalled_without_a_handle_of_the_kernel(lacking: str) -> None:
    script = (
        "import sys, signal; pid, began = map(int, sys.argv[1:])\n"
        "from switchkit.exits import has_ended\n"
        "from switchkit.platform.processes import signal_exactly\n"
        "print(signal_exactly(pid, began - 1, signal.SIGKILL))\n"
        "print(signal_exactly(pid, began, signal.SIGKILL), has_ended(pid, 20))\n"
    )
    with subprocess.Popen(["sleep", "600"]) as process:
        words = (str(process.pid), str(began(process.pid)))
        done = subprocess.run(
            [sys.executable, WITHOUT, lacking, sys.executable, "-c", script, *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stdout == "gone\nsent True\n"
        assert process.wait() == -signal.SIGKILL


@pytest.mark.parametrize(
    ("lacking", "standing"),
    [("pidfd_open", "weaker"), ("pidfd_send_signal", "weaker"), ("statx", "proved")],
)
def test_the_table_of_promises_says_that_signals_go_without_a_handle(
    lacking: str, standing: str
) -> None:
    script = (
        "from switchkit.platform.promises import promises_here\n"
        "print(*{each.standing for each in promises_here() if each.what.startswith('A signal')})\n"
        "print(len({each.what for each in promises_here() if each.less}))\n"
    )
    done = subprocess.run(
        [sys.executable, WITHOUT, lacking, sys.executable, "-c", script],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == [standing, str(int(standing == "weaker"))]


def test_where_nobody_is_shown_only_a_child_of_ours_is_signalled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes, "SHOWS_PROCESSES", False)

    def nobody() -> list[int]:
        return []

    monkeypatch.setattr(processes, "pids", nobody)
    # A stranger that leads a group of its own, and is nobody's child here any more.
    started = subprocess.run(
        ["sh", "-c", "setsid sleep 600 >/dev/null 2>&1 & echo $!"],
        capture_output=True,
        text=True,
        check=True,
    )
    stranger = int(started.stdout)
    wait_until_true(lambda: os.getpgid(stranger) == stranger)
    try:
        assert Family(stranger, 0).kill(0.2) == []
        assert alive(stranger)
    finally:
        os.kill(stranger, signal.SIGKILL)
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as ours:
        assert Family(ours.pid, 0).kill(0.2) is not None
        assert ours.wait() == -signal.SIGKILL


def test_variables_that_are_not_ours_to_see_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: int) -> bytes:
        raise Unknown("not ours to see")

    monkeypatch.setattr(processes, "raw_environment", refused)
    assert processes.environment(1) == {}
    assert not processes.is_marked(1, b"\0A=1\0")
    with pytest.raises(Unknown):
        processes.has_environment(1)
