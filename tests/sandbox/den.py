"""A workspace and a home full of secrets, and programs that run confined between them.

A test judges from outside: by the files of the den, by sockets of the host and by the process
table. What a program reports of itself is only used where the kernel leaves no other trace.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from switchboard.procs.outlet import WayOut
from switchboard.procs.spawn import Running, SpawnSpec, spawn
from switchboard.procs.stop import stop
from switchboard.sandbox.policy import SandboxPolicy
from switchboard.sandbox.sandbox import Sandbox
from switchkit.reaper_client import Reaper

PATIENCE = 30.0
SECRET = "the-secret-of-the-home"
PATH = "/usr/local/bin:/usr/bin:/bin"


class Ended(NamedTuple):
    """How a program ended and what it said."""

    status: int
    stdout: str
    stderr: str

    @property
    def said(self) -> Any:
        """What it printed, as JSON."""
        assert self.stdout, self.stderr
        return json.loads(self.stdout)


class Den:
    """One workspace, one home, one state folder."""

    # The one way out of what is run here, if it has one. Programs of tests make dens without it.
    way_out: WayOut | None = None

    def __init__(self, folder: Path) -> None:
        self.workspace = folder / "workspace"
        self.home = folder / "home"
        self.state = folder / "state"
        for made in (self.workspace, self.home, self.state):
            made.mkdir()
        for name in (".ssh/id_ed25519", ".aws/credentials", ".config/vault/key", ".bashrc"):
            path = self.home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(SECRET)
        self.sandbox = Sandbox()

    def repository(self, place: str = ".") -> Path:
        """Make something that looks like a repository; gives its folder."""
        root = self.workspace / place
        (root / ".git" / "hooks").mkdir(parents=True)
        (root / ".git" / "config").write_text("[core]\n")
        return root

    def confinement(self, **more: Any) -> SandboxPolicy:
        fields: dict[str, Any] = {
            "cwd": str(self.workspace),
            "home": str(self.home),
            "state_dir": str(self.state),
            "path": PATH,
        }
        return SandboxPolicy(**{**fields, **more})

    def spec(
        self, argv: tuple[str, ...], env: Mapping[str, str] | None = None, **more: Any
    ) -> SpawnSpec:
        known = {"PATH": PATH, "HOME": str(self.home), "LANG": "C.UTF-8"}
        way_out = self.way_out
        known |= {} if way_out is None else way_out.env
        return SpawnSpec(
            argv=argv,
            cwd=str(self.workspace),
            env={**known, **(env or {})},
            wrap=self.sandbox.around(self.confinement(**more)),
            outlet=None if way_out is None else way_out.outlet,
        )

    @asynccontextmanager
    async def started(
        self, argv: tuple[str, ...], env: Mapping[str, str] | None = None, **more: Any
    ) -> AsyncGenerator[Running]:
        """A program that runs confined and is ended."""
        reaper = Reaper()
        try:
            running = await spawn(self.spec(argv, env, **more), reaper=reaper, timeout_s=PATIENCE)
            try:
                yield running
            finally:
                await stop(running, close_input=running.stdin.close)
                running.stdout.close()
        finally:
            await asyncio.to_thread(reaper.close)

    async def run(
        self, argv: tuple[str, ...], env: Mapping[str, str] | None = None, **more: Any
    ) -> Ended:
        """Run a program to its end."""
        async with asyncio.timeout(PATIENCE), self.started(argv, env, **more) as running:
            running.stdin.close()
            stdout = await asyncio.to_thread(_rest, running.stdout.fileno())
            status = await running.exited
            return Ended(status, stdout, running.errors.text())

    async def python(
        self, program: str, *args: str, env: Mapping[str, str] | None = None, **more: Any
    ) -> Ended:
        """Run a Python program to its end."""
        return await self.run(python(program, *args), env, **more)


def python(program: str, *args: str) -> tuple[str, ...]:
    """Give the command line of a Python program."""
    return (sys.executable, "-I", "-S", "-c", program, *args)


# Where the interpreter really is, which may be in a home.
INTERPRETER = Path(sys.executable).resolve()


def _rest(number: int) -> str:
    os.set_blocking(number, True)
    chunks: list[bytes] = []
    while chunk := os.read(number, 65536):
        chunks.append(chunk)
    return b"".join(chunks).decode("utf-8", "replace")
