"""Clients of a daemon, and a look into it from outside."""

import asyncio
import json
import os
import shutil
import socket
import stat
import subprocess
import threading
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from support.mcp_stdio import StdioClient, talking_to
from support.workspace import CHECKOUT, Workspace
from switchboard.control.client import running_daemon
from switchboard.control.requests import StatusRequest
from switchboard.daemon.logs.log import Log
from switchboard.daemon.logs.log_sink import LogSink
from switchboard.daemon.server import Daemon
from switchboard.daemon.state import DaemonState

Json = dict[str, Any]


@asynccontextmanager
async def shim(
    workspace: Workspace,
    *words: str,
    env: Mapping[str, str] = {},
    cwd: Path | None = None,
    patience: float = 20.0,
) -> AsyncGenerator[StdioClient]:
    """A client that launched `switchboard mcp` and has shaken hands."""
    async with talking_to(
        workspace.command("mcp", *words),
        cwd=cwd or workspace.root,
        env={**workspace.env, **env},
        patience=patience,
    ) as client:
        await client.initialize()
        yield client


@asynccontextmanager
async def daemon_here(workspace: Workspace) -> AsyncGenerator[DaemonState]:
    """A daemon in this process, where what it holds can be counted."""
    with TemporaryFile() as log:
        sink = LogSink(log.fileno())
        state = DaemonState(workspace.daemon_places, log=Log(sink), idle_s=0)
        running = asyncio.create_task(Daemon(state).run())
        try:
            yield state
        finally:
            state.stop()
            await running


def another_version(folder: Path) -> dict[str, str]:
    """Give the environment in which Switchboard is of another version."""
    shutil.copytree(
        CHECKOUT / "src" / "switchboard",
        folder / "switchboard",
        ignore=shutil.ignore_patterns("__pycache__", "*.pyc"),
    )
    (folder / "switchboard" / "__init__.py").write_text('__version__ = "9.9.9"\n', "utf-8")
    return {"PYTHONPATH": str(folder)}


def status(workspace: Workspace) -> Json | None:
    """What the daemon says of itself; None when none runs."""
    client = running_daemon(workspace.daemon_places)
    if client is None:
        return None
    try:
        return client.ask(StatusRequest())
    finally:
        client.close()


def daemon_pid(workspace: Workspace) -> int:
    found = status(workspace)
    assert found is not None, "no daemon is running"
    return found["pid"]


def under_way(workspace: Workspace) -> int:
    """How many calls children work on."""
    found = status(workspace)
    return sum(child["under_way"] for child in found["children"]) if found else -1


def dial(workspace: Workspace) -> socket.socket:
    """A bare connection to the daemon's socket."""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    sock.settimeout(10)
    sock.connect(workspace.daemon_places.socket)
    return sock


def log_text(workspace: Workspace) -> str:
    return Path(workspace.daemon_places.log).read_text("utf-8")


def open_files(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208


def is_there(path: str) -> bool:
    return Path(path).exists()


def mode_of(path: str) -> int:
    """Give the permissions of a file."""
    return stat.S_IMODE(Path(path).stat().st_mode)


def make_run_folder(workspace: Workspace, mode: int = 0o700) -> None:
    """Make the folder of the socket before anybody else does."""
    Path(workspace.daemon_places.folder).mkdir(mode=mode, parents=True)


@contextmanager
def mounted(folder: Path, options: str) -> Generator[None]:
    """Put a file system of its own on a folder."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", str(folder)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@contextmanager
def one_of_another_version(
    workspace: Workspace, told: dict[str, object], asked: str = "status"
) -> Generator[None]:
    """Listen where the daemon does, and tell of oneself in other words."""
    make_run_folder(workspace)

    def answer() -> None:
        connection, _ = listening.accept()
        with connection, connection.makefile("rwb", buffering=0) as lines:
            assert json.loads(lines.readline())["kind"] == "control"
            assert json.loads(lines.readline())["do"] == asked
            lines.write(json.dumps(told).encode() + b"\n")

    path = workspace.daemon_places.socket
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        answering = threading.Thread(target=answer)
        answering.start()
        yield
        answering.join(20)
    Path(path).unlink()
