"""Workers of a team, and an agent that does what a test says."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

from mcp.client import Client

from cli.commands import report_of
from support.processes import until_true
from support.workspace import Workspace
from switchboard.postgres.address import DatabaseAddress
from team.ground import PATIENCE, SECRET, Configured

AGENT = Path(__file__).parent / "quick_agent.py"
# Short, for those who wait for its end; the first process of a team says it to the others.
LEASE_S = 6.0
# However long a database is away.
MOST_LINES = 40
SHORT_LEASE = {"SWITCHBOARD_TEAM_LEASE": f"{LEASE_S:g}"}


class Line(NamedTuple):
    """What an engine wrote down: what, of which task, which process, when."""

    what: str
    task: str
    pid: int
    at: float


class Crew:
    """A workspace that a test has set up itself."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace


class Staff(Crew):
    """A workspace whose agents `fail`, `retry` and `resume` are called as what a crash does."""

    def __init__(self, workspace: Workspace, more: str = "") -> None:
        super().__init__(workspace)
        self.folder = workspace.root.parent / "quick"
        self.folder.mkdir()
        words = json.dumps([str(AGENT), str(self.folder)])
        workspace.config_toml(
            "guard = false\n[agents]\npatience = { default = 1 }\n"
            f"[agents.acp.quick]\ncommand = {json.dumps(sys.executable)}\nargs = {words}\n{more}",
            scope="home",
        )
        agents = workspace.home / "agents"
        agents.mkdir()
        for name in ("fail", "retry", "resume"):
            text = f'name = "{name}"\nengine = "acp:quick"\non_crash = "{name}"\n'
            (agents / f"{name}.toml").write_text(text, "utf-8")

    def log(self) -> list[Line]:
        """What engines have written down, whole lines alone."""
        file = self.folder / "log"
        text = file.read_text("utf-8") if file.exists() else ""
        rows = (line.split() for line in text.splitlines() if line.endswith(tuple("0123456789")))
        return [Line(row[0], row[1], int(row[2]), float(row[3])) for row in rows if len(row) == 4]

    def of(self, what: str, task: str = "") -> list[Line]:
        return [line for line in self.log() if line.what == what and task in {"", line.task}]

    async def until(self, what: str, task: str, count: int = 1) -> list[Line]:
        await until_true(lambda: len(self.of(what, task)) >= count)
        return self.of(what, task)

    def let_end(self, *tasks: str) -> None:
        for task in tasks:
            (self.folder / f"{task}.go").touch()


class Hired:
    """A running `switchboard worker`."""

    def __init__(
        self, process: asyncio.subprocess.Process, worker: str, errors: "asyncio.Future[bytes]"
    ) -> None:
        self.process = process
        self.id = worker
        self._errors = errors

    async def code(self) -> int:
        """Wait for its end, and give its status."""
        async with asyncio.timeout(PATIENCE):
            status = await self.process.wait()
        words = (await self._errors).decode()
        assert "Traceback" not in words, words
        assert len(words.splitlines()) < MOST_LINES, words
        return status


@asynccontextmanager
async def worker(
    staff: Configured, address: DatabaseAddress, *words: str, env: Mapping[str, str] = {}
) -> AsyncGenerator[Hired]:
    """Run one, with the database named by the variable."""
    workspace = staff.workspace
    process = await asyncio.create_subprocess_exec(
        *workspace.command("worker", "--json", *words),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=workspace.root,
        env={
            **workspace.env,
            "SWITCHBOARD_TEAM_KEY": SECRET,
            "SWITCHBOARD_DB": address.url,
            **env,
        },
    )
    assert process.stdout is not None
    assert process.stderr is not None
    reading = asyncio.ensure_future(process.stderr.read())
    try:
        async with asyncio.timeout(PATIENCE):
            try:
                text = (await process.stdout.readuntil(b"\n}\n")).decode()
            except asyncio.IncompleteReadError:
                raise AssertionError((await reading).decode()) from None
        yield Hired(process, report_of(text)["worker"], reading)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        await reading


async def begun(client: Client, staff: Staff, agent: str, task: str) -> str:
    """Start a run, and give its id."""
    given = {"task": task, "cwd": str(staff.workspace.root)}
    return run_of(await client.call_tool(f"agent_{agent}", given))["id"]


async def ended(client: Client, run_id: str) -> tuple[str, str]:
    """Wait for the end of a run as clients do; give its state and what they are told."""
    async with asyncio.timeout(PATIENCE):
        while True:
            result: Any = await client.call_tool("run_wait", {"run_id": run_id})
            state = run_of(result)["state"]
            if state not in {"queued", "working", "asking"}:
                return state, json.loads(result.content[0].text)["output"]


def run_of(result: Any) -> dict[str, Any]:
    assert "switchboard/run" in (result.meta or {}), result
    return result.meta["switchboard/run"]
