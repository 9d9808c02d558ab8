"""A project in a home of its own, and a clock around commands. Shared by all yard measures."""

import contextlib
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 30.0
SOCAT = "socat TCP4-LISTEN:{port},bind=127.0.0.1,reuseaddr,fork PIPE"
PROGRAM = [str(Path(sys.executable).with_name("switchyard"))]


class Row(NamedTuple):
    """One measured thing: its median, and what it is held against."""

    measure: str
    contender: str
    value: float
    unit: str
    note: str = ""


class Stage(NamedTuple):
    """Where a contender is run."""

    root: Path
    env: dict[str, str]

    def run(self, command: Sequence[str], *, check: bool = True) -> str:
        """Run a command to its end."""
        done = subprocess.run(
            command, cwd=self.root, env=self.env, capture_output=True, text=True, check=False
        )
        if check and done.returncode:
            raise RuntimeError(f"{command}: {done.stdout}{done.stderr}")
        return done.stdout

    def sy(self, *words: str) -> str:
        """Run our own command."""
        return self.run([*PROGRAM, *words])


@contextlib.contextmanager
def staged(config: str) -> Generator[Stage]:
    """Give a project with this configuration; nothing of it is left at the end."""
    folder = Path(tempfile.mkdtemp(prefix="yard-bench-"))
    root = folder / "shop"
    root.mkdir()
    env = {k: v for k, v in os.environ.items() if not k.startswith("SWITCHYARD")}
    env["SWITCHYARD_HOME"] = str(folder / "home")
    (root / "switchyard.toml").write_text(config)
    stage = Stage(root, env)
    try:
        yield stage
    finally:
        stage.run([*PROGRAM, "down"], check=False)
        shutil.rmtree(folder, ignore_errors=True)


def header() -> str:
    """The part of every configuration that keeps benchmarks out of each other's way."""
    return f'[project]\nname = "shop"\n[proxy]\nport = {free_port()}\n'


def free_port() -> int:
    """Give a port that is free now, outside the ephemeral range."""
    for port in range(26000 + os.getpid() * 7 % 4000, 32000):
        if port in _GIVEN:
            continue
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
        _GIVEN.add(port)
        return port
    raise RuntimeError("no free port")


_GIVEN: set[int] = set()


def accepts(port: int) -> bool:
    """Whether somebody answers there."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def await_ports(ports: Sequence[int]) -> None:
    """Wait until all of them accept."""
    until = time.perf_counter() + PATIENCE
    left = list(ports)
    while left:
        left = [port for port in left if not accepts(port)]
        if time.perf_counter() > until:
            raise RuntimeError(f"ports {left} never opened")
        time.sleep(0.001)


def clocked(work: Callable[[], object]) -> float:
    """How many milliseconds it took."""
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def commit_all(stage: Stage) -> None:
    """Put everything under git."""
    who = ("-c", "user.name=b", "-c", "user.email=b@example.com")
    for words in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "x")):
        stage.run(["git", *words])


def middle(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def end(processes: Sequence[subprocess.Popen[Any]]) -> None:
    """End these processes and their groups."""
    for one in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(one.pid, signal.SIGTERM)
    for one in processes:
        one.wait(PATIENCE)
