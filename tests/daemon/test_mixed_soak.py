"""Ten minutes of everything at once: the daemon serves, and nothing of it grows or stays.

Twenty sessions of both eras come, call, cancel, flood and go, a fifth of them by SIGKILL, while
servers die under calls, files change and files break.
"""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from msgspec import Struct

from support.daemons import daemon_pid, open_files
from support.mcp_stdio import RpcError, StdioClient, talking_to, text_of
from support.processes import until_true, wait_until_none_mention
from support.workspace import Json, Workspace, child_command

SESSIONS = 20
# A shorter run is for whoever changes this file.
SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
EVERY_S = SECONDS / 30
# Caches fill, and the allocator finds its size: a tenth of the time, a minute of ten.
SETTLED = 3
MEGABYTES_OF_GROWTH = 12.0
# What comes and goes with sessions and servers that are there just now.
FILES_OF_MOVEMENT, THREADS_OF_MOVEMENT = 60, 4
PATIENCE_S = 60.0
BAD_BYTES = (b'{"jsonrpc":"2.0","id":\n', b"[" + b"1," * 300 + b"1]\n", b'{"method":"\xff"}\n')


class Gauge(Struct, frozen=True):
    """The daemon at one moment."""

    megabytes: float
    files: int
    threads: int


def gauge(pid: int) -> Gauge:
    folder = Path(f"/proc/{pid}")
    pages = int((folder / "statm").read_text("ascii").split()[1])
    megabytes = pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    return Gauge(megabytes, open_files(pid), len(list((folder / "task").iterdir())))


class Crowd:
    """Clients that do whatever comes to their mind until it is over."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self.done: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.is_over = False

    async def seat(self, number: int) -> None:
        """One place, taken by one client after the other."""
        chance = random.Random(number)
        while not self.is_over:
            async with talking_to(
                self._workspace.command("mcp"),
                cwd=self._workspace.root,
                env=self._workspace.env,
                patience=PATIENCE_S,
            ) as client:
                await (client.initialize() if number % 2 else client.discover())
                for _ in range(chance.randrange(20, 120)):
                    if self.is_over:
                        break
                    await self._act(client, chance)
                self.done["sessions"] += 1
                if chance.random() < 0.2:
                    self.done["killed"] += 1
                    client.process.kill()
                else:
                    await client.close()

    async def _act(self, client: StdioClient, chance: random.Random) -> None:
        client.messages.clear()
        client.framings.clear()
        act = chance.choices(
            (self._echo, self._cancel, self._crash, self._flood, self._list, self._junk),
            weights=(60, 12, 4, 2, 6, 2),
        )[0]
        self.done[act.__name__.strip("_")] += 1
        await act(client, chance)

    async def _echo(self, client: StdioClient, chance: random.Random) -> None:
        text = f"text {chance.random()}"
        suite = chance.choice(("echo_suite", "own_suite", "modern_suite"))
        result = await client.call_subtool(suite, "echo", {"text": text})
        if text not in text_of(result):
            # A reload may end a server under a call, and says so.
            self.done["told why not"] += 1
            if "error" not in text_of(result):
                self.wrong.append(text_of(result))

    async def _cancel(self, client: StdioClient, chance: random.Random) -> None:
        arguments: Json = {"action": "call", "subtool": "stall", "args": {}}
        number = client.begin("tools/call", {"name": "echo_suite", "arguments": arguments})
        await asyncio.sleep(chance.random() / 20)
        await client.notify("notifications/cancelled", {"requestId": number})

    async def _crash(self, client: StdioClient, chance: random.Random) -> None:
        del chance
        result = await client.call_subtool("mortal_suite", "die", {})
        if not result.get("isError") and "error" not in text_of(result):
            self.wrong.append(text_of(result))

    async def _flood(self, client: StdioClient, chance: random.Random) -> None:
        del chance
        numbers = [client.begin("tools/list") for _ in range(200)]
        await asyncio.gather(*(client.answer_to(number) for number in numbers))

    async def _list(self, client: StdioClient, chance: random.Random) -> None:
        del chance
        with suppress(RpcError):
            await client.introspect("echo_suite")
        await client.tools()

    async def _junk(self, client: StdioClient, chance: random.Random) -> None:
        client.send_bytes(chance.choice(BAD_BYTES))
        await client.drained()


async def rewrite(workspace: Workspace, crowd: Crowd) -> None:
    """Change the configuration again and again, and break it now and then."""
    chance = random.Random("files")
    while not crowd.is_over:
        await asyncio.sleep(chance.uniform(4, 12))
        crowd.done["reloads"] += 1
        number = crowd.done["reloads"]
        if number % 10 == 0:
            workspace.write(".switchboard/mcps/extra/.mcp.json", '{"name": ')
        else:
            workspace.echo_child("extra", description=f"the {number}th")


@pytest.mark.soak
@pytest.mark.timeout(SECONDS + 300)
async def test_everything_at_once_leaves_nothing_behind(
    workspace: Workspace, record_property: Callable[[str, object], None]
) -> None:
    workspace.child("own", child_command("echo_child", "own"), scope="session")
    workspace.child("modern", child_command("misbehaving_child", "modern-only"))
    workspace.child("mortal", child_command("misbehaving_child", "dies-on-tool"))
    crowd = Crowd(workspace)
    async with talking_to(
        workspace.command("mcp"), cwd=workspace.root, env=workspace.env, patience=PATIENCE_S
    ) as watcher:
        await watcher.initialize()
        await watcher.call_subtool("echo_suite", "echo", {"text": "warm"})
        pid = daemon_pid(workspace)
        before = gauge(pid)
        async with asyncio.TaskGroup() as group:
            for number in range(SESSIONS):
                group.create_task(crowd.seat(number))
            group.create_task(rewrite(workspace, crowd))
            seen: list[Gauge] = []
            while len(seen) < 30:
                await asyncio.sleep(EVERY_S)
                seen.append(gauge(pid))
                answer = await watcher.call_subtool("echo_suite", "echo", {"text": "still there"})
                assert "still there" in text_of(answer)
            crowd.is_over = True
        assert daemon_pid(workspace) == pid
        settled, last = seen[SETTLED : 2 * SETTLED], seen[-SETTLED:]
        for name, figure in {
            **crowd.done,
            "settled": max(each.megabytes for each in settled),
            "last": max(each.megabytes for each in last),
        }.items():
            record_property(name, figure)
        print(dict(crowd.done), before, *seen[::5], last, sep="\n")  # noqa: T201 - its figures
        assert crowd.wrong == []
        assert min(crowd.done[each] for each in ("killed", "cancel", "crash", "reloads")) > 0
        assert _most(last, "megabytes") < _most(settled, "megabytes") + MEGABYTES_OF_GROWTH
        assert _most(last, "files") < _most(settled, "files") + FILES_OF_MOVEMENT
        assert _most(last, "threads") <= _most(settled, "threads") + THREADS_OF_MOVEMENT
        await until_true(lambda: gauge(pid).files <= before.files + 12, 60)
    workspace.stop_daemon()
    wait_until_none_mention(str(workspace.root), 30)


def _most(seen: list[Gauge], name: str) -> float:
    return max(getattr(each, name) for each in seen)
