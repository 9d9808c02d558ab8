"""Command tools on the wire: what a listing tells, what it leaves out, and a call over stdio."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from msgspec import Raw

from commands.bench import Bench
from fakes.calls import a_session
from support.mcp_stdio import RpcError, StdioClient, talking_to, text_of
from support.processes import wait_until_none_mention
from support.requirements import requirement
from switchboard.core.bus import EventBus
from switchboard.core.calls.call import Call
from switchboard.core.faults import Fault
from switchboard.daemon.board.runtime import running
from switchboard.providers.commands.listing import Judged, judge_tools
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings

KEY = "switchboard/tool"
SESSION = "switchboard/session"


@asynccontextmanager
async def client_of(bench: Bench, *, meta: Any = None) -> AsyncGenerator[StdioClient]:
    """Talk to `switchboard mcp`; afterwards nothing of it may be left."""
    command = bench.place.command("mcp")
    async with talking_to(command, cwd=bench.root, env=bench.env, patience=60) as client:
        if meta is None:
            await client.initialize()
        else:
            params = {
                "protocolVersion": "2025-11-25",
                "capabilities": {},
                "clientInfo": {"name": "test", "version": "1"},
                "_meta": meta,
            }
            await client.request("initialize", params)
            await client.notify("notifications/initialized")
        yield client
        assert await client.close() == 0
    wait_until_none_mention(str(bench.root))


@requirement("S3.02", "S3.04", "S3.05", "S3.07", "S3.08", "S3.09", "S3.11", "S3.12", "S3.13")
@requirement("S3.82", "S3.91", "S3.93", "S3.106")
async def test_a_listing_tells_everything_that_a_client_may_want_to_know(bench: Bench) -> None:
    bench.env["API_TOKEN"] = "hunter2-and-more"
    (bench.root / "sub").mkdir()
    bench.write(
        "lint",
        ["ruff", "{path}"],
        display_name="Lint it",
        description="Lints a file.",
        cwd="sub",
        env={"A": "1", "T": "${API_TOKEN}"},
        timeout_ms=5_000,
        streaming=True,
        side_effects=["filesystem-read", "filesystem-write"],
    )
    async with client_of(bench) as client:
        tool = (await client.tools())["lint"]
    assert (tool["title"], tool["description"]) == ("Lint it", "Lints a file.")
    assert tool["annotations"] == {
        "title": "Lint it",
        "readOnlyHint": False,
        "openWorldHint": False,
    }
    told = tool["_meta"][KEY]
    env = told.pop("env")
    assert (env["A"], env["T"], env["LANG"]) == ("1", "[present]", "C.UTF-8")
    assert told.pop("session")["workspace"] == str(bench.root)
    assert told == {
        "display_name": "Lint it",
        "requires_approval": True,
        "sandbox_profile": "default",
        "allow_network": False,
        "default_timeout_ms": 5_000,
        "allows_streaming": True,
        "side_effects": ["filesystem-read", "filesystem-write"],
        "cwd": str(bench.root / "sub"),
        "overrides_active": False,
    }
    assert "hunter2" not in json.dumps(tool)


async def test_a_board_runs_what_was_judged_for_its_listing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A board is built on the event loop, where nothing may be looked up in files."""
    bench.write("lint", ["true"])
    settings = load_settings(workspace=str(bench.root), environ=bench.env)
    judged: list[Settings] = []

    def judge(entries: Any, settings: Settings, environ: Any) -> Judged:
        judged.append(settings)
        return judge_tools(entries, settings, environ)

    monkeypatch.setattr("switchboard.providers.commands.listing.judge_tools", judge)
    async with running(settings, environ=bench.env, events=EventBus()) as runtime:
        with runtime.boards.lease() as board:
            call = Call(
                id="c-1", session=a_session(), tool=board.catalog.tools["lint"], arguments=Raw(b"1")
            )
            with pytest.raises(Fault, match="invalid"):
                await board.pipeline(call)
    assert len(judged) == 1


@requirement("S3.83", "S3.84", "S3.102", "S3.103")
async def test_what_is_denied_or_wrong_is_neither_listed_nor_called(bench: Bench) -> None:
    bench.write("shown", ["true"])
    bench.write("denied", ["true"])
    bench.write("mac", ["true"], sandbox_profile="seatbelt")
    with (bench.place.home / "config.toml").open("a") as file:
        file.write('[tools]\nallow = ["*"]\ndeny = ["den*"]\n')
    async with client_of(bench) as client:
        assert list(await client.tools()) == ["shown"]
        for name in ("denied", "mac"):
            try:
                await client.call(name, {})
            except Exception as error:  # noqa: BLE001 - the words count
                assert f"no tool `{name}`" in str(error)  # noqa: PT017
            else:
                raise AssertionError(name)


@requirement("S3.12", "S3.87", "S3.88", "S3.89", "S3.94")
async def test_a_session_may_run_a_tool_elsewhere_where_the_tool_allows_it(bench: Bench) -> None:
    (bench.root / "sub").mkdir()
    more: Any = {"allow_cwd_override": True, "allow_env_overrides": ["B"]}
    bench.python(
        "where",
        "import os; print(os.getcwd(), os.environ.get('B'))",
        requires_approval=False,
        **more,
    )
    bench.write("fixed", ["pwd"], requires_approval=False)
    wanted = {SESSION: {"cwd_override": "sub", "env_overrides": {"B": "theirs"}}}
    async with client_of(bench, meta=wanted) as client:
        tools = await client.tools()
        told = tools["where"]["_meta"][KEY]
        assert told["overrides_active"] is True
        assert (told["cwd"], told["env"]["B"]) == (str(bench.root / "sub"), "theirs")
        assert tools["fixed"]["_meta"][KEY]["overrides_active"] is False
        assert text_of(await client.call("where", {})).split() == [
            str(bench.root / "sub"),
            "theirs",
        ]
        assert text_of(await client.call("fixed", {})).strip() == str(bench.root)
        # For one request only.
        params: Any = {"name": "where", "arguments": {}, "_meta": {SESSION: {}}}
        once = await client.request("tools/call", params)
        assert text_of(once).split() == [str(bench.root), "None"]
        assert text_of(await client.call("where", {})).split()[1] == "theirs"
    async with client_of(bench) as client:
        assert (await client.tools())["where"]["_meta"][KEY]["overrides_active"] is False


@requirement("S3.58")
async def test_a_client_may_say_that_it_waits_for_less(bench: Bench) -> None:
    more: Any = {"requires_approval": False, "timeout_ms": 50_000}
    bench.python("slow", "import time; time.sleep(60)", **more)
    bench.python("never", "import time; time.sleep(60)", **{**more, "timeout_ms": 500})
    async with client_of(bench) as client:

        async def called(name: str, wanted: Any) -> Any:
            params = {"name": name, "arguments": {}, "_meta": {"switchboard/timeout_ms": wanted}}
            return (await client.request("tools/call", params))["_meta"]["switchboard/error"]

        late = await called("slow", 700)
        assert (late["code"], late["reason"]) == ("deadline_exceeded", "tool-timeout")
        assert late["message"] == "`slow` did not finish within 0.7 s"
        assert "`switchboard/timeout_ms`" in late["hint"]
        # It cannot have more than the tool's own limit.
        late = await called("never", 40_000)
        assert late["message"] == "`never` did not finish within 0.5 s"
        assert "`timeout_ms`" in late["hint"]
        for wrong in (0, -1, "soon", 1.5):
            with pytest.raises(RpcError, match="must be a whole number"):
                await called("slow", wrong)


@requirement("S3.14", "S3.15", "S3.47")
async def test_an_edit_of_the_file_changes_the_listing_while_it_is_served(bench: Bench) -> None:
    bench.write("one", ["true"])
    async with client_of(bench) as client:
        assert list(await client.tools()) == ["one"]
        bench.write("two", ["true"])
        await client.message("notifications/tools/list_changed")
        assert list(await client.tools()) == ["one", "two"]
        with (bench.place.home / "config.toml").open("a") as file:
            file.write('[tools]\ndeny = ["one"]\n')
        await client.message("notifications/tools/list_changed")
        assert list(await client.tools()) == ["two"]


@requirement("S3.16", "S3.20", "S3.64", "S3.108")
async def test_a_call_streams_over_the_wire_and_ends_with_a_mark(bench: Bench) -> None:
    bench.write("say", ["echo", "{text}"], streaming=True, requires_approval=False)
    async with client_of(bench) as client:
        assert text_of(await client.call("say", {"text": "hello"})) == "hello\n"
        told = [m["params"] for m in client.messages if m.get("method") == "notifications/message"]
    assert [each["data"].get("text") or each["data"]["event"] for each in told] == [
        "hello\n",
        "completed",
    ]
    assert {each["logger"] for each in told} == {"say"}


@requirement("S3.22", "S3.59", "S3.60")
async def test_a_client_that_cancels_is_told_and_nothing_is_left(bench: Bench) -> None:
    program = "import time; print('begun', flush=True); time.sleep(60)"
    bench.python("slow", program, streaming=True, requires_approval=False)
    async with client_of(bench) as client:
        number = client.begin("tools/call", {"name": "slow", "arguments": {}})
        await client.message("notifications/message")
        await client.notify("notifications/cancelled", {"requestId": number})
        last = await client.message("notifications/message")
        assert last["params"]["data"]["event"] == "cancelled"
        assert last["params"]["data"]["call_id"]
        assert await client.request("ping") == {}


@requirement("S3.65", "S3.66")
async def test_a_client_that_does_not_read_its_pipe_stops_the_process(bench: Bench) -> None:
    program = (
        "block = ('y' * 99 + '\\n') * 100\n"
        "for n in range(2000):\n"
        "    print(block, end='', flush=True)\n"
        "    open('count', 'w').write(str(n + 1))"
    )
    bench.python("flood", program, streaming=True, requires_approval=False)
    process = await asyncio.create_subprocess_exec(
        *bench.place.command("mcp"),
        cwd=bench.root,
        env=bench.env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        limit=4096,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        first: Any = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {}},
        }
        call: Any = {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "flood", "arguments": {}},
        }
        process.stdin.write(json.dumps(first).encode() + b"\n" + json.dumps(call).encode() + b"\n")
        count = bench.root / "count"
        stuck, seen = 0, -1
        async with asyncio.timeout(60):
            while not (stuck and stuck == seen):
                seen = stuck
                await asyncio.sleep(0.5)
                stuck = int(count.read_text() or 0) if count.exists() else 0
        assert stuck < 1_000
        # Read on, and it goes on.
        while await process.stdout.read(1 << 16):
            if count.read_text() == "2000":
                break
    finally:
        process.stdin.close()
        process.kill()
        # Its end is seen only behind what it has written.
        await process.stdout.read()
        await process.wait()
    wait_until_none_mention(str(bench.root))
