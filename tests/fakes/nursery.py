"""Real children of real processes, without a board around them."""

import json
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw

from fakes.events import MemoryEvents
from support.processes import wait_until_none_mention
from support.workspace import child_command
from switchboard.children.child import Child
from switchboard.children.pool import ChildPool
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.lookup import EnvironmentSecrets
from switchkit.reaper_client import Reaper

SCRIPTED = Path(__file__).parent / "scripted_child.py"
QUICK = ChildLimits(spawn_s=10, rpc_s=10, idle_s=0)
HANDSHAKE: Any = {"protocol": "handshake"}


class Nursery(NamedTuple):
    """A pool whose events are kept, and short ways to get a child from it."""

    folder: Path
    pool: ChildPool
    events: MemoryEvents

    def child(
        self, script: str, *args: str, name: str = "", limits: ChildLimits = QUICK, **more: Any
    ) -> Child:
        """Give one of the small children of the tests."""
        return self.run(child_command(script, *args), name=name, limits=limits, **more)

    def misbehaving(
        self, habit: str, *args: str, limits: ChildLimits = QUICK, **more: Any
    ) -> Child:
        return self.child("misbehaving_child", habit, *args, name=habit, limits=limits, **more)

    def scripted(
        self, script: Mapping[str, list[str]], *args: str, limits: ChildLimits = QUICK, **more: Any
    ) -> Child:
        """Give a child that says these texts when these methods come, and hears no probe."""
        command = [sys.executable, str(SCRIPTED), json.dumps(script), *args]
        return self.run(command, limits=limits, **{**HANDSHAKE, **more})

    def run(
        self, command: list[str], *, name: str = "", limits: ChildLimits = QUICK, **more: Any
    ) -> Child:
        entry = ServerEntry(
            name=name or "child",
            transport="stdio",
            command=command[0],
            args=tuple(command[1:]),
            cwd=str(self.folder),
            **more,
        )
        return self.pool.child(entry, limits)


@asynccontextmanager
async def nursery(
    folder: Path, environ: Mapping[str, str] | None = None
) -> AsyncGenerator[Nursery]:
    """Open a pool; afterwards none of its processes may be left."""
    environ = {"PATH": "/usr/bin:/bin"} if environ is None else environ
    events, reaper = MemoryEvents(), Reaper()
    pool = ChildPool(
        environ=environ, secrets=EnvironmentSecrets(environ), events=events, reaper=reaper
    )
    try:
        yield Nursery(folder, pool, events)
    finally:
        await pool.aclose()
        reaper.close()
    wait_until_none_mention(str(folder))


def arguments(**values: Any) -> Raw:
    return Raw(msgspec.json.encode(values))


async def text_from(child: Child, tool: str, **values: Any) -> str:
    """Call a tool and give the text of its first block."""
    result = json.loads(bytes(await child.call(tool, arguments(**values))))
    return result["content"][0]["text"]


async def json_from(child: Child, tool: str, **values: Any) -> Any:
    return json.loads(await text_from(child, tool, **values))
