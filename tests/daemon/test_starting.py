"""One daemon a home: started once, for its user alone, replaced by one of another version."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

from support.daemons import (
    another_version,
    daemon_pid,
    log_text,
    make_run_folder,
    mode_of,
    mounted,
    shim,
    status,
)
from support.mcp_stdio import talking_to, text_of
from support.processes import alive, mentioning, until_gone, until_true
from support.workspace import Workspace, child_command
from switchboard.shim import start_daemon
from switchkit.locks import open_lock, try_lock
from switchkit.platform.streams import stream_of


def daemons(workspace: Workspace) -> list[int]:
    """Every process that is a daemon of this home."""
    found = mentioning(str(workspace.home))
    return [pid for pid in found if b"daemon\0run" in Path(f"/proc/{pid}/cmdline").read_bytes()]


async def test_many_shims_at_once_start_one_daemon(workspace: Workspace) -> None:
    async def served() -> int:
        async with shim(workspace) as client:
            assert client.stderr == ""
            # Seen from inside, while all of them are connected.
            return daemon_pid(workspace)

    assert len(set(await asyncio.gather(*(served() for _ in range(8))))) == 1
    assert daemons(workspace) == [daemon_pid(workspace)]


def leave_behind(workspace: Workspace) -> None:
    """What a daemon that was killed leaves in its folder."""
    make_run_folder(workspace)
    places = workspace.daemon_places
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(places.socket)
    Path(places.life_lock).touch()
    Path(places.start_lock).touch()


async def test_what_a_dead_daemon_left_behind_is_replaced(workspace: Workspace) -> None:
    leave_behind(workspace)
    async with shim(workspace) as client:
        assert client.stderr == ""
        assert status(workspace) is not None


async def test_the_socket_is_for_its_user_alone(workspace: Workspace) -> None:
    make_run_folder(workspace, 0o755)
    async with shim(workspace):
        places = workspace.daemon_places
        assert mode_of(places.folder) == 0o700
        assert mode_of(places.socket) == 0o600
        assert mode_of(places.log) == 0o600


@contextmanager
def trap(workspace: Workspace, whose: str, aside: Path) -> Generator[socket.socket]:
    """Listen where the daemon should, in a way that belongs to somebody else."""
    folder, path = Path(workspace.daemon_places.folder), workspace.daemon_places.socket
    if whose == "link":
        aside.mkdir(mode=0o700)
        folder.symlink_to(aside)
    else:
        folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        listening.settimeout(0.05)
        if whose != "link":
            os.chown(folder if whose == "folder" else path, 4242, 4242)
        try:
            yield listening
        finally:
            # Out of the way of whoever tidies up.
            folder.rename(folder.with_name("trap"))


@pytest.mark.parametrize("whose", ["folder", "socket", "link"])
async def test_somebody_elses_socket_is_not_used(
    workspace: Workspace, tmp_path: Path, whose: str
) -> None:
    with trap(workspace, whose, tmp_path / "aside") as listening:
        async with shim(workspace) as client:
            assert set(await client.tools()) == {"echo_suite"}
            assert "cannot be trusted" in client.stderr
        with pytest.raises(TimeoutError):
            listening.accept()


@contextmanager
def stranger_behind_our_socket(workspace: Workspace) -> Generator[IO[str]]:
    make_run_folder(workspace)
    path = workspace.daemon_places.socket
    program = (
        "import os, socket, sys\n"
        f"trap = socket.socket(socket.AF_UNIX); trap.bind({path!r})\n"
        "os.setuid(4242); trap.listen(); print('ready', flush=True)\n"
        "peer, _ = trap.accept(); print(peer.recv(1), flush=True)"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield process.stdout
    Path(path).unlink()


async def test_a_daemon_of_another_user_is_not_used(workspace: Workspace) -> None:
    """The socket is ours, and who listens is not."""
    with stranger_behind_our_socket(workspace) as heard:
        async with shim(workspace) as client:
            assert "user 4242" in client.stderr
            assert set(await client.tools()) == {"echo_suite"}
        # It has heard nothing but our leaving.
        assert heard.read() == "b''\n"


async def test_a_home_that_cannot_be_written_is_served_in_process(workspace: Workspace) -> None:
    with mounted(workspace.home, "ro,size=4k"):
        async with shim(workspace) as client:
            assert set(await client.tools()) == {"echo_suite"}
            assert "Read-only file system" in client.stderr
            assert "in this process instead" in client.stderr


async def test_a_full_disk_for_the_log_stops_nobody(workspace: Workspace) -> None:
    log = Path(workspace.daemon_places.log)
    with mounted(log.parent, "size=4k,mode=0700"):
        (log.parent / "filler").write_bytes(b"x" * 4096)
        for _ in range(3):
            async with shim(workspace) as client:
                result = await client.call_subtool("echo_suite", "echo", {"text": "still here"})
                assert "still here" in text_of(result)
                assert await client.close() == 0
                assert client.stderr == ""
        assert log_text(workspace) == ""
        workspace.stop_daemon()


async def test_a_path_too_long_for_a_socket_has_a_short_one(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / ("long" * 30), daemon=True)
    workspace.echo_child()
    places = workspace.daemon_places
    assert len(places.socket) <= 100
    assert f"switchboard-{os.getuid()}" in places.socket
    try:
        async with shim(workspace) as client:
            assert set(await client.tools()) == {"echo_suite"}
            assert client.stderr == ""
            assert status(workspace) is not None
    finally:
        workspace.stop_daemon()


def clean(folder: Path, stem: str) -> None:
    """Remove what a cleaner does: neither sockets, nor folders that are not empty."""
    for each in folder.glob(f"{stem}*"):
        if each.is_file():
            each.unlink()


async def test_a_cleaner_of_temporary_folders_makes_no_room_for_a_second_daemon(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path / ("long" * 30), daemon=True)
    workspace.echo_child()
    places = workspace.daemon_places
    assert not Path(places.socket).is_relative_to(workspace.home)
    try:
        async with shim(workspace):
            clean(Path(places.folder), Path(places.socket).stem)
            done = await asyncio.to_thread(
                subprocess.run,
                workspace.command("daemon", "run"),
                env=workspace.env,
                capture_output=True,
                text=True,
                timeout=60,
                check=False,
            )
            assert "is running already" in done.stderr
            assert len(daemons(workspace)) == 1
    finally:
        workspace.stop_daemon()


def test_whoever_is_refused_in_a_crowd_tries_again_and_starts_nothing(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MacOS refuses where 128 wait, with the same word as where nobody listens."""
    places = workspace.daemon_places
    make_run_folder(workspace)
    lock = open_lock(places.life_lock)
    assert try_lock(lock)
    refusals = [None] * 5
    reached: Any = object()

    def connect(*_: Any) -> Any:
        return refusals.pop() if refusals else reached

    def start(*_: Any) -> None:
        pytest.fail("a second daemon")

    monkeypatch.setattr(start_daemon, "connect", connect)
    monkeypatch.setattr(start_daemon, "_start", start)
    try:
        assert start_daemon.start_daemon(places, {}) is reached
    finally:
        os.close(lock)


async def test_a_shim_keeps_open_what_it_has_handed_over(workspace: Workspace) -> None:
    """On macOS a descriptor that is closed while it travels can be lost."""
    async with shim(workspace) as client:
        await client.tools()
        assert daemon_pid(workspace)
        held = {stream_of(daemon_pid(workspace), number) for number in range(256)}
        for number in (0, 1):
            assert stream_of(client.pid, number) in held - {""}


async def test_windows_with_different_temporary_folders_find_the_same_daemon(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path / ("long" * 30), daemon=True)
    workspace.echo_child()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    try:
        async with (
            shim(workspace, env={"TMPDIR": str(tmp_path / "one")}) as one,
            shim(workspace, env={"TMPDIR": str(tmp_path / "two")}) as two,
        ):
            assert (one.stderr, two.stderr) == ("", "")
            assert len((status(workspace) or {})["sessions"]) == 2
            assert len(daemons(workspace)) == 1
    finally:
        workspace.stop_daemon()


async def test_the_daemon_is_made_of_the_code_of_its_shim(
    workspace: Workspace, tmp_path: Path
) -> None:
    """Also where that was named from the directory that the shim was started in."""
    another_version(tmp_path / "newer")
    async with talking_to(
        [sys.executable, "-m", "switchboard", "mcp", "-C", str(workspace.root)],
        cwd=tmp_path,
        env={**workspace.env, "PYTHONPATH": "newer"},
    ) as client:
        await client.initialize()
        assert client.stderr == ""
        assert (status(workspace) or {})["version"] == "9.9.9"


def held_by(pid: int) -> list[str]:
    """The files that a process has open."""
    return [os.path.realpath(each) for each in Path(f"/proc/{pid}/fd").iterdir()]


async def test_a_daemon_holds_nothing_that_its_first_client_had_open(
    workspace: Workspace, tmp_path: Path
) -> None:
    file = tmp_path / "open"
    file.touch()
    number = os.open(file, os.O_RDONLY)
    script = (
        "import os, sys; os.dup2(int(sys.argv[1]), 700, inheritable=True);"
        "os.execv(sys.argv[2], sys.argv[2:])"
    )
    command = [sys.executable, "-c", script, str(number), *workspace.command("mcp")]
    os.set_inheritable(number, True)
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=workspace.root,
        env=workspace.env,
        pass_fds=(number,),
    )
    await until_true(lambda: status(workspace) is not None)
    assert str(file) not in held_by(daemon_pid(workspace))
    process.terminate()
    await process.wait()
    os.close(number)


async def test_another_version_gets_its_own_daemon_and_running_calls_finish(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.child("slow", child_command("slow_child"))
    newer = {**workspace.env, **another_version(tmp_path / "newer")}
    async with shim(workspace) as client:
        old = daemon_pid(workspace)
        wait = {"action": "call", "subtool": "wait", "args": {"seconds": 2}}
        running = client.begin("tools/call", {"name": "slow_suite", "arguments": wait})
        await until_true(lambda: (status(workspace) or {})["sessions"][0]["under_way"] == 1)
        async with talking_to(
            [sys.executable, "-m", "switchboard", "mcp"], cwd=workspace.root, env=newer
        ) as upgraded:
            assert (await upgraded.initialize())["serverInfo"]["version"] == "9.9.9"
            assert upgraded.stderr == ""
            assert (status(workspace) or {})["version"] == "9.9.9"
            assert daemon_pid(workspace) != old
            assert "waited" in text_of((await client.answer_to(running))["result"])
            # The old one still serves the client that it has.
            assert set(await client.tools()) == {"echo_suite", "slow_suite"}
            assert alive(old)
            assert await client.close() == 0
            await until_gone([old])
            assert set(await upgraded.tools()) == {"echo_suite", "slow_suite"}
    assert "Traceback" not in log_text(workspace)


async def test_an_idle_daemon_ends_itself(workspace: Workspace) -> None:
    async with shim(workspace, env={"SWITCHBOARD_DAEMON_IDLE_MS": "100"}) as client:
        pid = daemon_pid(workspace)
        await asyncio.sleep(0)
        assert await client.close() == 0
    await until_gone([pid])
    assert status(workspace) is None


async def test_the_home_says_how_long_a_daemon_stays(workspace: Workspace) -> None:
    workspace.config_toml("[daemon]\nidle_ms = 4321\n", scope="home")
    workspace.config_toml("[daemon]\nidle_ms = 1\n")
    async with shim(workspace):
        found = status(workspace)
        assert found is not None
        assert found["idle_s"] == 4.321
