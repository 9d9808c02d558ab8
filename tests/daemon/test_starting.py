"""One daemon a home: started once, in a place of its user alone, and replaced by another version."""

import asyncio
import os
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from support.daemons import daemon_pid, log_text, shim, status
from support.mcp_stdio import talking_to, text_of
from support.processes import alive, mentioning, until_gone, until_true
from support.workspace import CHECKOUT, Workspace, child_command

SOURCE = CHECKOUT / "src" / "switchboard"


def another_version(folder: Path) -> dict[str, str]:
    """Give the environment in which Switchboard is of another version."""
    shutil.copytree(
        SOURCE, folder / "switchboard", ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
    )
    (folder / "switchboard" / "__init__.py").write_text('__version__ = "9.9.9"\n', "utf-8")
    return {"PYTHONPATH": str(folder)}


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


async def test_what_a_dead_daemon_left_behind_is_replaced(workspace: Workspace) -> None:
    places = workspace.daemon_places
    Path(places.folder).mkdir(mode=0o700, parents=True)
    left = socket.socket(socket.AF_UNIX)
    left.bind(places.socket)
    left.close()
    Path(places.life_lock).touch()
    Path(places.start_lock).touch()
    async with shim(workspace) as client:
        assert client.stderr == ""
        assert status(workspace) is not None


async def test_the_socket_is_for_its_user_alone(workspace: Workspace) -> None:
    places = workspace.daemon_places
    Path(places.folder).mkdir(mode=0o755, parents=True)
    async with shim(workspace):
        assert stat.S_IMODE(Path(places.folder).stat().st_mode) == 0o700
        assert stat.S_IMODE(Path(places.socket).stat().st_mode) == 0o600
        assert stat.S_IMODE(Path(places.log).stat().st_mode) == 0o600


@pytest.mark.parametrize("whose", ["folder", "socket", "link"])
async def test_somebody_elses_socket_is_not_used(
    workspace: Workspace, tmp_path: Path, whose: str
) -> None:
    folder, path = Path(workspace.daemon_places.folder), workspace.daemon_places.socket
    real = tmp_path / "real" if whose == "link" else folder
    real.mkdir(mode=0o700, parents=True)
    if whose == "link":
        folder.symlink_to(real)
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as trap:
        trap.bind(path)
        trap.listen()
        trap.settimeout(0.05)
        if whose != "link":
            os.chown(folder if whose == "folder" else path, 4242, 4242)
        async with shim(workspace) as client:
            assert set(await client.tools()) == {"echo_suite"}
            assert "cannot be trusted" in client.stderr
        try:
            heard.append(trap.accept()[0].recv(1))
        except TimeoutError:
            pass
    assert heard == []
    if whose != "link":
        os.chown(folder if whose == "folder" else path, os.getuid(), os.getgid())
    folder.unlink() if whose == "link" else Path(path).unlink()


async def test_a_daemon_of_another_user_is_not_used(workspace: Workspace) -> None:
    """The socket is ours, and who listens is not."""
    places = workspace.daemon_places
    Path(places.folder).mkdir(mode=0o700, parents=True)
    program = (
        "import os, socket, sys\n"
        f"trap = socket.socket(socket.AF_UNIX); trap.bind({places.socket!r})\n"
        "os.setuid(4242); trap.listen(); print('ready', flush=True)\n"
        "peer, _ = trap.accept(); print(peer.recv(1), flush=True)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as trap:
        assert trap.stdout is not None
        assert trap.stdout.readline() == "ready\n"
        async with shim(workspace) as client:
            assert "user 4242" in client.stderr
            assert set(await client.tools()) == {"echo_suite"}
        # It has heard nothing but our leaving.
        assert trap.stdout.read() == "b''\n"
    Path(places.socket).unlink()


async def test_a_home_that_cannot_be_written_is_served_in_process(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path, daemon=True)
    workspace.echo_child()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "ro,size=4k", "none", str(workspace.home)], check=True
    )
    try:
        async with shim(workspace) as client:
            assert set(await client.tools()) == {"echo_suite"}
            assert "Read-only file system" in client.stderr
            assert "in this process instead" in client.stderr
    finally:
        subprocess.run(["umount", str(workspace.home)], check=True)


async def test_a_full_disk_for_the_log_stops_nobody(workspace: Workspace) -> None:
    log = Path(workspace.daemon_places.log)
    log.parent.mkdir(mode=0o700)
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4k,mode=0700", "none", str(log.parent)], check=True
    )
    try:
        (log.parent / "filler").write_bytes(b"x" * 4096)
        for _ in range(3):
            async with shim(workspace) as client:
                result = await client.call_subtool("echo_suite", "echo", {"text": "still here"})
                assert "still here" in text_of(result)
                assert await client.close() == 0
                assert client.stderr == ""
        assert log.stat().st_size == 0
        workspace.stop_daemon()
    finally:
        subprocess.run(["umount", str(log.parent)], check=True)


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
