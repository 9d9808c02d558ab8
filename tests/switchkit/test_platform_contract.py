"""What every system promises of processes, files and ports, on real processes.

Linux by its own side; macOS by its own too, over a double of its kernel (`darwin_kernel`).
"""

import errno
import importlib
import os
import resource
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support import darwin_kernel
from support.processes import wait_until_true
from support.requirements import attack
from switchkit import processes as table
from switchkit.platform import GONE, REFUSED, SENT, UNKNOWN, Unknown, paths
from switchkit.platform.darwin import calls
from switchkit.platform.darwin import paths as darwin_paths

NOUNS = ("processes", "facts", "streams", "files", "ports", "limits")
SLEEP = [sys.executable, "-I", "-S", "-c", "import time; print('on', flush=True); time.sleep(600)"]


class System:
    """Both sides have the same names, whose types the type checker sees elsewhere."""

    def __init__(self, name: str) -> None:
        self.name = name
        for noun in NOUNS:
            setattr(self, noun, importlib.import_module(f"switchkit.platform.{name}.{noun}"))

    def __getattr__(self, noun: str) -> Any:
        raise AttributeError(noun)


# A Mac judges its own side, by its real kernel.
IS_LINUX = sys.platform == "linux"


@pytest.fixture(params=["linux", "darwin"] if IS_LINUX else ["darwin"])
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> System:
    if request.param == "darwin" and IS_LINUX:
        for each in darwin_kernel.CALLS:
            monkeypatch.setattr(calls, each.__name__, each)
    return System(request.param)


@contextmanager
def started(
    env: dict[str, str] | None = None, cwd: str = "/", stdin: int = subprocess.DEVNULL
) -> Generator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(
        SLEEP,
        stdout=subprocess.PIPE,
        stdin=stdin,
        env=env or {},
        cwd=cwd,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"on\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_process_is_known_with_its_place_among_others(system: System) -> None:
    with started() as process:
        found = system.processes.vitals(process.pid)
        assert (found.pid, found.parent) == (process.pid, os.getpid())
        assert (found.group, found.session) == (process.pid, process.pid)
        assert found.terminal == 0
        assert not found.is_dead
        assert not found.is_stopped
        assert found.name == Path(sys.executable).name
        assert process.pid in system.processes.pids()
        assert 0 not in system.processes.pids()
        assert process.pid in system.processes.first_children(os.getpid())
        own = system.processes.vitals(os.getpid())
        assert found.began >= own.began > 0
        os.kill(process.pid, signal.SIGSTOP)
        wait_until_true(lambda: system.processes.vitals(process.pid).is_stopped)
        process.kill()
        wait_until_true(lambda: system.processes.vitals(process.pid).is_dead)
    assert system.processes.vitals(process.pid) is None


def test_a_leader_that_nobody_has_reaped_is_gone_and_its_session_is_not_lost(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("vitals", "pids", "first_children", "raw_environment", "signal_exactly"):
        monkeypatch.setattr(table, name, getattr(system.processes, name))
    code = "import os, signal; print(os.fork(), flush=True); signal.pause()"
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE, start_new_session=True
    ) as leader:
        assert leader.stdout is not None
        told = {int(leader.stdout.readline()), int(leader.stdout.readline())}
        [left] = told - {0}
        began = table.began(leader.pid)
        assert not table.is_gone(leader.pid, began)
        leader.kill()
        wait_until_true(lambda: table.is_gone(leader.pid, began))
        # The number is still its own, and whoever it has left in its session is found by that.
        found = system.processes.vitals(leader.pid)
        assert (found.is_dead, found.began, found.session) == (True, began, leader.pid)
        family = table.Family(leader.pid, began)
        assert [each.pid for each in family.look(table.ProcessTable())] == [left]
        assert family.kill() == []


def test_whoever_is_above_us_is_shown_whoever_owns_it(system: System) -> None:
    pid, seen = os.getpid(), 0
    while pid:
        pid, seen = system.processes.vitals(pid).parent, seen + 1
    assert seen > 1


def test_a_boot_has_an_identity(system: System) -> None:
    assert system.processes.boot() == system.processes.boot()
    assert len(system.processes.boot()) > 30


def test_the_end_of_a_process_can_be_waited_for(system: System) -> None:
    with started() as process:
        handle = system.processes.open_exit(process.pid)
        try:
            assert select.select([handle], [], [], 0)[0] == []
            process.kill()
            assert select.select([handle], [], [], 30)[0] == [handle]
        finally:
            os.close(handle)
    with pytest.raises(ProcessLookupError):
        system.processes.open_exit(process.pid)


def test_exactly_one_process_is_signalled(system: System) -> None:
    with started() as process:
        began = system.processes.vitals(process.pid).began
        assert system.processes.signal_exactly(process.pid, began - 1, signal.SIGKILL) == GONE
        assert system.processes.signal_exactly(process.pid, began + 1, signal.SIGKILL) == GONE
        assert process.poll() is None
        assert system.processes.signal_exactly(process.pid, began, signal.SIGKILL) == SENT
        assert process.wait() == -signal.SIGKILL
    assert system.processes.signal_exactly(process.pid, began, signal.SIGKILL) == GONE


def unseen(_: int) -> None:
    return None


def test_whoever_cannot_be_told_from_another_is_not_signalled(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    with started() as process:
        began = system.processes.vitals(process.pid).began
        monkeypatch.setattr(system.processes, "vitals", unseen)
        assert system.processes.signal_exactly(process.pid, began, signal.SIGKILL) == UNKNOWN
        assert process.poll() is None
        process.kill()
        process.wait()
        assert system.processes.signal_exactly(process.pid, began, signal.SIGKILL) == GONE


def test_a_signal_that_another_user_refuses_is_told_as_refused(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    with started() as process:
        began = system.processes.vitals(process.pid).began
        monkeypatch.setattr(os, "kill", refuse)
        monkeypatch.setattr(signal, "pidfd_send_signal", refuse, raising=False)
        assert system.processes.signal_exactly(process.pid, began, signal.SIGKILL) == REFUSED
        assert process.poll() is None
        monkeypatch.undo()


def test_variables_and_words_are_those_of_the_start(system: System) -> None:
    with started({"A": "1=2", "B": "", "MARK": "x" * 5000}) as process:
        raw = system.processes.raw_environment(process.pid)
        assert sorted(raw.split(b"\0")) == [b"", b"A=1=2", b"B=", b"MARK=" + b"x" * 5000]
        assert system.facts.command_words(process.pid) == tuple(SLEEP)
        assert system.facts.command_line(process.pid) == " ".join(SLEEP)
    assert system.processes.raw_environment(process.pid) == b""
    assert system.facts.command_words(process.pid) == ()


def test_no_variables_are_unknown_ones_where_hidden_ones_look_alike(system: System) -> None:
    with subprocess.Popen(["sleep", "600"], env={"MARK": "x"}) as process:
        try:
            if system.name == "darwin":
                with pytest.raises(Unknown):
                    system.processes.raw_environment(process.pid)
            else:
                # It has none for a moment while it becomes the program.
                wait_until_true(lambda: system.processes.raw_environment(process.pid) != b"")
                assert system.processes.raw_environment(process.pid) == b"MARK=x\0"
        finally:
            process.kill()


def test_what_a_process_is_and_holds(system: System, tmp_path: Path) -> None:
    held = tmp_path / "held"
    held.write_text("x")
    with held.open() as file, started(cwd=str(tmp_path), stdin=file.fileno()) as process:
        pid = process.pid
        assert system.facts.working_folder(pid) == str(tmp_path.resolve())
        assert system.facts.owner_of(pid) == system.facts.user_of(pid) == os.getuid()
        assert system.facts.resident_bytes(pid) > 1 << 20
        age = system.facts.age_s(pid, system.processes.vitals(pid).began)
        assert 0 <= age < 60
        assert str(held.resolve()) in system.facts.open_paths(pid)
        assert system.facts.has_open(pid, held.stat())
        assert not system.facts.has_open(pid, Path(__file__).stat())
    for ask in (system.facts.working_folder, system.facts.owner_of, system.facts.resident_bytes):
        assert ask(process.pid) is None
    assert system.facts.open_paths(process.pid) == set()


def test_both_ends_of_a_pipe_have_one_name(system: System) -> None:
    reading, writing = os.pipe()
    with started(stdin=reading) as process:
        os.close(reading)
        name = system.streams.stream_of(process.pid)
        assert name.startswith("pipe:")
        assert name == system.streams.stream_of(os.getpid(), writing)
        assert name in system.streams.streams_of(os.getpid(), to_write=True)
        assert name in system.streams.streams_of(process.pid)
        assert name not in system.streams.streams_of(process.pid, to_write=True)
        assert not system.streams.is_input_over(process.pid)
        os.close(writing)
        assert system.streams.is_input_over(process.pid)
    assert system.streams.streams_of(process.pid) == set()
    assert system.streams.stream_of(process.pid) == ""


def test_a_socket_has_a_name_and_a_file_none(system: System) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, started(stdin=theirs.fileno()) as process:
        assert system.streams.stream_of(process.pid).startswith("socket:")
        assert not system.streams.is_input_over(process.pid)
    with started() as process:
        assert system.streams.stream_of(process.pid) == ""


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
def test_who_listens_is_known(system: System, family: int, host: str) -> None:
    with socket.socket(family) as listener:
        listener.bind((host, 0))
        port = listener.getsockname()[1]
        assert port not in system.ports.listening()
        listener.listen()
        sockets = system.ports.listening()[port]
        assert len(sockets) == 1
        assert system.ports.holds(os.getpid(), sockets)
        assert not system.ports.holds(os.getppid(), sockets)
        assert system.ports.addresses(port) == {host}
        with socket.create_connection((host, port)) as client:
            user = system.ports.connected_user(host, client.getsockname()[1], port)
            assert user == os.getuid()
    assert str(port) in system.ports.hint_who_holds(port)


def test_nobody_says_who_listens_where_a_part_of_this_user_is_hidden(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the sandbox of an agent, for one: what is not shown there is not free."""
    if IS_LINUX:
        for each in darwin_kernel.CALLS:
            monkeypatch.setattr(calls, each.__name__, each)
    ports, shown = System("darwin").ports, calls.process_files

    def hides(number: int) -> Any:
        def ask(pid: int) -> bytes:
            if pid == process.pid:
                raise OSError(number, os.strerror(number))
            return shown(pid)

        return ask

    with started() as process:
        monkeypatch.setattr(calls, "process_files", hides(errno.ESRCH))
        assert isinstance(ports.listening(), dict)
        monkeypatch.setattr(calls, "process_files", hides(errno.EPERM))
        for ask in (ports.listening, lambda: ports.addresses(1)):
            with pytest.raises(Unknown):
                ask()
        assert not ports.holds(process.pid, {1})


def test_a_connection_of_nobody_is_not_ours(system: System) -> None:
    assert system.ports.connected_user("127.0.0.1", 1, 2) == -1


@attack("T56")
def test_a_connection_is_known_by_its_address_and_while_it_is_whole(system: System) -> None:
    """Others choose their ports: the same one from another address, or one that they half close."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            own = client.getsockname()[1]
            assert system.ports.connected_user("127.0.0.1", own, port) == os.getuid()
            assert system.ports.connected_user("127.0.0.2", own, port) == -1
            client.shutdown(socket.SHUT_WR)
            assert system.ports.connected_user("127.0.0.1", own, port) == -1


def test_a_socket_of_ipv6_connects_from_an_address_of_ipv4(system: System) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_INET6) as own:
        port = listener.getsockname()[1]
        own.connect(("::ffff:127.0.0.1", port))
        user = system.ports.connected_user("127.0.0.1", own.getsockname()[1], port)
        assert user == os.getuid()


def test_a_clone_is_a_new_file_or_none(system: System, tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"x" * 10_000)
    source.chmod(0o640)
    if system.files.clone_file(str(source), str(target), 0o600):
        assert target.read_bytes() == source.read_bytes()
        assert target.stat().st_mode & 0o777 == 0o600
    else:
        assert not target.exists()


def test_a_scratch_file_has_no_name(system: System) -> None:
    handle = system.files.scratch_file("contract")
    try:
        assert os.fstat(handle).st_nlink == 0
        os.write(handle, b"kept")
        assert os.pread(handle, 99, 0) == b"kept"
    finally:
        os.close(handle)


def test_a_folder_is_told_from_a_later_one_at_its_path(system: System, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    first = system.files.folder_identity(str(folder))
    assert system.files.folder_identity(str(folder)) == first
    folder.rename(tmp_path / "other")
    assert system.files.folder_identity(str(tmp_path / "other")) == first
    folder.mkdir()
    assert system.files.folder_identity(str(folder)) != first


def test_a_path_has_one_true_spelling(system: System, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    wanted = str((tmp_path / "real").resolve())
    true_path = darwin_paths.true_path if system.name == "darwin" else paths.true_path
    assert true_path(str(tmp_path / "link" / ".." / "real")) == wanted
    assert true_path(str(tmp_path / "link" / "new")) == f"{wanted}/new"
    assert true_path("/") == "/"


def test_what_cannot_be_limited_from_outside_is_refused_or_left(system: System) -> None:
    code = "import resource as r, sys; sys.stdin.readline(); print(*r.getrlimit(r.RLIMIT_NOFILE))"
    before = "{} {}".format(*resource.getrlimit(resource.RLIMIT_NOFILE))
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        wanted = "64 64"
        try:
            system.limits.lower_limit(process.pid, resource.RLIMIT_NOFILE, 64)
        except OSError:
            wanted = before
        told, _ = process.communicate("go\n", timeout=60)
    assert told.strip() == wanted
