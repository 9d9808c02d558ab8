"""Ten minutes of everything at once: the daemon serves, and nothing of it grows or stays.

The gate is on. Twenty sessions of both eras come, call, are asked and answer, cancel, flood and go,
a fifth of them by SIGKILL, while servers die under calls and flood, files change and files break.
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

from gate.ground import CAPABILITIES, FORMS, again, answered
from support.daemons import daemon_pid, open_files
from support.mcp_stdio import RpcError, StdioClient, modern_meta, talking_to, text_of
from support.processes import until_true, wait_until_none_mention
from support.reading import read_it
from support.workspace import Json, Workspace, child_command

SESSIONS = 20
# A shorter run is for whoever changes this file.
SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
EVERY_S = SECONDS / 30
# Caches fill, and the allocator finds its size: a tenth of the time, a minute of ten.
SETTLED = 3
MEGABYTES_OF_GROWTH = 12.0
# What comes and goes with sessions and servers that are there just now.
FILES_OF_MOVEMENT, THREADS_OF_MOVEMENT = 24, 4
# At the end, beyond what there was when every server ran and one session was there.
FILES_LEFT = 6
PATIENCE_S = 60.0
HAPPENED = ("asked", "killed", "cancel", "crash", "flooded", "reloads")
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
        self.written: list[str] = []
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
                if number % 2:
                    await client.initialize(capabilities=FORMS)
                else:
                    client.era_meta = {**modern_meta(), CAPABILITIES: FORMS}
                    await client.request("server/discover")
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

    async def warm(self, client: StdioClient) -> None:
        """Have every server started once, and a question asked and answered."""
        for suite in ("echo_suite", "own_suite", "modern_suite", "mortal_suite", "extra_suite"):
            await client.call_subtool(suite, "echo", {"text": "warm"})
        chance = random.Random("warm")
        await self._flooded(client, chance)
        await self._write(client, chance)

    async def _act(self, client: StdioClient, chance: random.Random) -> None:
        client.messages.clear()
        client.framings.clear()
        act = chance.choices(
            (
                *(self._echo, self._write, self._cancel, self._crash),
                *(self._flood, self._flooded, self._list, self._junk),
            ),
            weights=(60, 8, 12, 4, 2, 2, 6, 2),
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

    async def _write(self, client: StdioClient, chance: random.Random) -> None:
        """Do what a person is asked about, and be that person."""
        text = f"line {chance.random()}"
        decision = chance.choice(("allow_once", "allow_once", "deny"))
        result = await self._answering(client, "ledger_suite", "write", decision, text=text)
        if decision == "allow_once" and text in text_of(result):
            self.written.append(text)
        elif not result.get("isError"):
            self.wrong.append(text_of(result))

    async def _answering(
        self, client: StdioClient, suite: str, subtool: str, decision: str, **args: str
    ) -> Json:
        """Call, and answer whatever is asked about it."""
        params: Json = {
            "name": suite,
            "arguments": {"action": "call", "subtool": subtool, "args": args},
        }
        if client.era_meta is not None:
            result = await client.request("tools/call", params)
            if result.get("resultType") == "input_required":
                self.done["asked"] += 1
                await read_it()
                result = await client.request("tools/call", again(result, params, decision))
            return result
        answer = asyncio.ensure_future(client.answer_to(client.begin("tools/call", params)))
        while True:
            question = asyncio.ensure_future(client.message("elicitation/create"))
            await asyncio.wait({answer, question}, return_when=asyncio.FIRST_COMPLETED)
            if answer.done():
                question.cancel()
                await asyncio.wait({question})
                return (await answer)["result"]
            self.done["asked"] += 1
            await read_it()
            # It may be about a call that was cancelled before; then nobody listens.
            answered(client, await question, decision)

    async def _cancel(self, client: StdioClient, chance: random.Random) -> None:
        """Call something off that runs, or that somebody is asked about."""
        suite, subtool = chance.choice((("flooding_suite", "wait"), ("echo_suite", "stall")))
        arguments: Json = {"action": "call", "subtool": subtool, "args": {}}
        number = client.begin("tools/call", {"name": suite, "arguments": arguments})
        await asyncio.sleep(chance.random() / 20)
        await client.notify("notifications/cancelled", {"requestId": number})

    async def _crash(self, client: StdioClient, chance: random.Random) -> None:
        del chance
        result = await self._answering(client, "mortal_suite", "die", "allow_once")
        if not result.get("isError") and "error" not in text_of(result):
            self.wrong.append(text_of(result))

    async def _flood(self, client: StdioClient, chance: random.Random) -> None:
        del chance
        numbers = [client.begin("tools/list") for _ in range(200)]
        await asyncio.gather(*(client.answer_to(number) for number in numbers))

    async def _flooded(self, client: StdioClient, chance: random.Random) -> None:
        """Be flooded by a server."""
        del chance
        result = await client.call_subtool("flooding_suite", "flood")
        if "flooded" not in text_of(result) and not result.get("isError"):
            self.wrong.append(text_of(result))

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
    workspace.echo_child("extra")
    workspace.child("flooding", child_command("flooding_child"))
    ledger = workspace.root.parent / "ledger.txt"
    workspace.child("ledger", child_command("ledger_child", str(ledger)))
    workspace.config_toml("guard = true\n", scope="home")
    crowd = Crowd(workspace)
    async with talking_to(
        workspace.command("mcp"), cwd=workspace.root, env=workspace.env, patience=PATIENCE_S
    ) as watcher:
        await watcher.initialize(capabilities=FORMS)
        await crowd.warm(watcher)
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
        assert min(crowd.done[each] for each in HAPPENED) > 0
        # What was agreed to was done once, and nothing else was.
        assert Counter(ledger.read_text("utf-8").splitlines()) == Counter(crowd.written)
        assert _most(last, "megabytes") < _most(settled, "megabytes") + MEGABYTES_OF_GROWTH
        assert _most(last, "files") < _most(settled, "files") + FILES_OF_MOVEMENT
        assert _most(last, "threads") <= _most(settled, "threads") + THREADS_OF_MOVEMENT
        print(gauge(pid))  # noqa: T201 - its figures
        await until_true(lambda: gauge(pid).files <= before.files + FILES_LEFT, 60)
    workspace.stop_daemon()
    wait_until_none_mention(str(workspace.root), 30)


def _most(seen: list[Gauge], name: str) -> float:
    return max(getattr(each, name) for each in seen)
