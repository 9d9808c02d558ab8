"""The MCP server: the real SDK in both eras, and the wire by hand where the SDK is too polite."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from mcp import Client, StdioServerParameters, stdio_client
from yardlab import Json, Lab, free_port, get, is_alive, processes, wait_for

from support.requirements import requirement
from support.tokenizer import tokens

NAMES = "doctor create list status brief where logs up checkout uncheckout down restart wait"
TOOLS = [f"switchyard_{name}" for name in NAMES.split()]
READS = ["doctor", "list", "status", "brief", "where", "logs"]
MODES = ["legacy", "2026-07-28", "auto"]


@asynccontextmanager
async def connected(
    lab: Lab, *words: str, cwd: Path | None = None, mode: str = "legacy"
) -> AsyncGenerator[Client]:
    """Give a real client of the real server."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "switchyard", "mcp", *words],
        env=lab.env,
        cwd=str(cwd or lab.root),
    )
    async with Client(stdio_client(parameters), mode=mode) as client:
        yield client


async def called(client: Client, name: str, **given: Any) -> Json:
    """Call a tool that is to succeed, and hold its answer against its own schema."""
    result = await client.call_tool(f"switchyard_{name}", given)
    assert not result.is_error, result.content
    found: Any = result.structured_content
    listed = {one.name: one for one in (await client.list_tools()).tools}
    schema = listed[f"switchyard_{name}"].output_schema
    assert schema is not None
    jsonschema_rs.validate(schema, found)
    assert json.loads(result.content[0].text) == found  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType] - it is text
    return found


def raw(
    lab: Lab, *messages: Any, cwd: Path | None = None, words: tuple[str, ...] = ()
) -> list[Json]:
    """Talk to the server by hand: what goes in line by line, what comes out line by line."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in messages]
    done = subprocess.run(
        [sys.executable, "-m", "switchyard", "mcp", *words],
        cwd=cwd or lab.root,
        env=lab.env,
        input="".join(one + "\n" for one in lines),
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def asked(method: str, params: Json | None = None, number: int | str = 1) -> Json:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}


def tool(name: str, **given: Any) -> Json:
    return asked("tools/call", {"name": f"switchyard_{name}", "arguments": given})


def simple(lab: Lab, port: int | None = None) -> None:
    lab.config(
        f'[services.web]\ncommand = [SVC, "serve"]\nport = {port or 0}\n'
        '[profiles.all]\nservices = ["web"]\n[env]\nlink = [".env"]\ncopy = ["gone.json"]\n'
    )
    (lab.root / ".env").write_text("A=1\n")


@requirement(
    "S1.01", "S1.04", "S1.62", "S1.63", "S1.64", "S1.46", "S1.48", "S1.49", "S1.50", "S1.53"
)
@pytest.mark.parametrize("mode", MODES)
async def test_the_whole_life_of_a_runtime_through_a_real_client(lab: Lab, mode: str) -> None:
    simple(lab)
    lab.repository()
    async with connected(lab, mode=mode) as client:
        assert [one.name for one in (await client.list_tools()).tools] == TOOLS
        up = await called(client, "up")
        assert up["services"][0]["phase"] == "ready"
        where = (await called(client, "where", service="web"))["service"]
        assert get(where["port"]) == "main web"
        assert is_alive(where["pid"])
        status = await called(client, "status")
        assert status["services"][0]["pid"] == where["pid"]
        logs = await called(client, "logs", service="web", lines=5)
        assert logs["logs"][0]["lines"] == [f"listening on {where['port']}"]
        brief = await called(client, "brief")
        assert brief["services"][0]["url"] == where["url"]
        assert await called(client, "list") == {"root": str(lab.root), "worktrees": []}
        assert (await called(client, "doctor"))["project"] == "shop"
        down = await called(client, "down")
        assert down["stopped"][0]["service"] == "web"
        assert lab.ours() == []


@requirement("S1.56", "S1.57", "S1.58", "S1.59", "S1.60", "S1.61")
async def test_annotations_and_schemas_of_every_tool(lab: Lab) -> None:
    simple(lab)
    async with connected(lab) as client:
        found = {one.name: one for one in (await client.list_tools()).tools}
    hints: dict[str, tuple[Any, Any, Any]] = {}
    for name, one in found.items():
        assert one.output_schema
        assert one.output_schema["type"] == "object"
        assert one.input_schema["additionalProperties"] is False
        assert one.annotations
        seen = one.annotations
        hints[name.removeprefix("switchyard_")] = (
            seen.read_only_hint,
            seen.destructive_hint,
            seen.open_world_hint,
        )
    assert {name: hints[name] for name in READS} == dict.fromkeys(READS, (True, False, False))
    assert hints["up"] == hints["restart"] == (False, True, True)
    assert hints["wait"] == hints["where"]
    assert hints["checkout"] == (False, False, False)
    for name in ("create", "uncheckout", "down"):
        assert hints[name] == (False, True, False)


# What it cost in tokens of o200k when it had the eleven tools of the beginning, and may cost now.
FIRST_COST, FIRST_COST_WITH_OUTPUTS, MOST_GROWTH = 1242, 3375, 1.15


async def test_the_list_of_tools_costs_a_model_little_more_than_at_first(lab: Lab) -> None:
    simple(lab)
    async with connected(lab) as client:
        listed = (await client.list_tools()).tools
    rows = [one.model_dump(by_alias=True, exclude_none=True, mode="json") for one in listed]

    def cost(*left_out: str) -> int:
        kept = [{key: one for key, one in row.items() if key not in left_out} for row in rows]
        text = json.dumps(kept, separators=(",", ":"))
        return tokens(text)

    assert cost("title", "annotations", "outputSchema", "_meta") <= FIRST_COST * MOST_GROWTH
    assert cost("_meta") <= FIRST_COST_WITH_OUTPUTS * MOST_GROWTH


@requirement("S1.35", "S1.36", "S1.37", "S1.54", "S1.55", "S1.47", "S1.43")
@pytest.mark.parametrize("mode", MODES)
async def test_the_three_resources(lab: Lab, mode: str) -> None:
    simple(lab)
    lab.repository()
    (lab.root / "new.txt").write_text("x")
    lab.json("up")
    async with connected(lab, mode=mode) as client:
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        texts: dict[str, str] = {}
        for uri in listed:
            content = (await client.read_resource(uri)).contents[0]
            texts[uri] = str(getattr(content, "text", ""))
        tool_brief = await called(client, "brief")
        tool_doctor = await called(client, "doctor")
    brief = json.loads(texts["switchyard://project/brief"])
    assert brief == tool_brief
    assert brief["configured_services"] == ["web"]
    assert brief["configured_profiles"] == ["all"]
    assert brief["services"][0]["status"] == "running"
    assert brief["changed_files"] == ["?? new.txt"]
    assert brief["checkouts"] == []
    assert [one["path"] for one in brief["env_warnings"]] == ["gone.json"]
    assert brief["recent_errors"] == []
    doctor = json.loads(texts["switchyard://project/doctor"])
    assert doctor == tool_doctor
    assert doctor["proxy"]["port"] == lab.proxy_port
    assert doctor["version"]
    assert [one["path"] for one in doctor["env_warnings"]] == ["gone.json"]
    guide = texts["switchyard://agent/guide"]
    order = ["project/brief", "env_warnings", "handoff", "_where", "_logs", "_create", "_up"]
    places = [guide.index(one) for one in order]
    assert places == sorted(places)


async def test_recent_errors_are_in_the_brief(lab: Lab) -> None:
    lab.config('[services.bad]\ncommand = [SVC, "exit", "1"]\n')
    lab.json("up", code=1)
    async with connected(lab) as client:
        brief = await called(client, "brief")
    assert brief["recent_errors"][0]["line"] == "about to fail: ValueError: broken"
    assert brief["services"][0]["exit_code"] == 1


@requirement("S1.40", "S1.41", "S1.42", "S1.39")
@pytest.mark.parametrize("mode", MODES)
async def test_prompts_and_resources_leave_no_trace(lab: Lab, mode: str) -> None:
    simple(lab)
    lab.repository()
    async with connected(lab, mode=mode) as client:
        listed = {one.name: one for one in (await client.list_prompts()).prompts}
        assert list(listed) == ["switchyard_runtime_handoff", "switchyard_branch_runtime"]
        given = listed["switchyard_branch_runtime"].arguments or []
        assert [(one.name, one.required) for one in given] == [
            ("branch", True),
            ("services", False),
        ]
        handoff = await client.get_prompt("switchyard_runtime_handoff")
        text = str(getattr(handoff.messages[0].content, "text", ""))
        assert all(one in text for one in ("brief", "doctor", "switchyard_where", "ask the user"))
        branch = await client.get_prompt(
            "switchyard_branch_runtime", {"branch": "feat/x", "services": "web"}
        )
        text = str(getattr(branch.messages[0].content, "text", ""))
        assert all(one in text for one in ("feat/x", '["web"]', "switchyard_create"))
        for uri in ("project/brief", "project/doctor", "agent/guide"):
            await client.read_resource(f"switchyard://{uri}")
        for name in ("doctor", "brief", "status", "list", "logs"):
            await called(client, name)
        await called(client, "where", service="web")
    assert not lab.home.exists()
    assert lab.git("worktree", "list").count("\n") == 1
    assert lab.ours() == []


@requirement("S1.41")
def test_a_prompt_without_its_branch_is_refused(lab: Lab) -> None:
    simple(lab)
    answer = raw(lab, asked("prompts/get", {"name": "switchyard_branch_runtime"}))[0]
    assert answer["error"]["code"] == -32602


@requirement("S1.02")
def test_the_server_needs_nothing_but_the_standard_library(lab: Lab) -> None:
    simple(lab)
    source = str(Path(__file__).parents[2] / "src")
    boot = (
        "import sys; sys.path[:] = [p for p in sys.path if 'site-packages' not in p]; "
        f"sys.path.append({source!r}); "
        "from switchyard.cli.main import main; code = main(['mcp']); "
        "bad = [m for m in sys.modules if m.split('.')[0] not in sys.stdlib_module_names "
        "and m.split('.')[0] not in ('switchyard', 'switchkit', '__main__')]; "
        "sys.exit(9 if bad else code)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", boot],
        cwd=lab.root,
        env=lab.env,
        input=json.dumps(tool("doctor")) + "\n",
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["result"]["structuredContent"]["project"] == "shop"


@requirement("S1.03")
def test_every_line_is_one_message_and_nothing_else_is_on_stdout(lab: Lab) -> None:
    simple(lab)
    answers = raw(
        lab,
        asked("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}}, 1),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        "{broken",
        "",
        asked("ping", number="two"),
        asked("no/such", number=3),
        [1],
        {"jsonrpc": "2.0", "id": 9, "result": {}},
        {"jsonrpc": "1.0", "id": 4, "method": "ping"},
        asked("tools/list", number=5),
    )
    shown = [(one.get("id"), one.get("error", {}).get("code")) for one in answers if "id" in one]
    assert shown[0] == (1, None)
    assert (None, -32700) in shown
    assert ("two", None) in shown
    assert (3, -32601) in shown
    assert (5, None) in shown


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_known_version_is_spoken_and_an_unknown_one_countered(lab: Lab, version: str) -> None:
    simple(lab)
    known, unknown, wrong = raw(
        lab,
        asked("initialize", {"protocolVersion": version, "capabilities": {}}),
        asked("initialize", {"protocolVersion": "1999-01-01", "capabilities": {}}),
        asked("initialize", {"protocolVersion": 5, "capabilities": {}}),
    )
    assert known["result"]["protocolVersion"] == version
    assert unknown["result"]["protocolVersion"] == "2025-11-25"
    assert wrong["error"]["code"] == -32602


def test_the_newest_era_says_what_it_supports(lab: Lab) -> None:
    simple(lab)
    key = "io.modelcontextprotocol/"
    meta: Json = {f"{key}protocolVersion": "2026-07-28", f"{key}clientCapabilities": {}}
    found, old, bare, gone = raw(
        lab,
        asked("server/discover", {"_meta": meta}),
        asked("server/discover", {"_meta": {**meta, f"{key}protocolVersion": "2030-01-01"}}),
        asked("server/discover"),
        asked("ping", {"_meta": meta}),
    )
    assert found["result"]["supportedVersions"][0] == "2026-07-28"
    assert found["result"]["resultType"] == "complete"
    assert found["result"]["ttlMs"] == 0
    assert found["result"]["_meta"][f"{key}serverInfo"]["name"] == "switchyard"
    assert old["error"]["code"] == -32022
    assert "2026-07-28" in old["error"]["data"]["supported"]
    assert bare["error"]["code"] == -32602
    assert gone["error"]["code"] == -32601


@requirement("S1.62")
def test_a_failure_is_a_result_without_structured_content(lab: Lab) -> None:
    simple(lab)
    failed = raw(lab, tool("where", service="nope"))[0]["result"]
    assert failed["isError"] is True
    assert "structuredContent" not in failed
    assert json.loads(failed["content"][0]["text"])["error"]["code"] == "unknown-service"
    assert failed["_meta"]["switchyard/error"]["code"] == "unknown-service"


@pytest.mark.parametrize(
    "call",
    [
        tool("up", servies=["web"]),
        tool("up", services="web"),
        tool("up", services=[1]),
        tool("up", services=[None]),
        tool("logs", lines=0),
        tool("logs", lines=301),
        tool("logs", lines=True),
        tool("logs", lines=20.5),
        tool("where"),
        tool("where", service=3),
        tool("where", service=None),
        tool("status", cwd=7),
    ],
)
def test_wrong_arguments_are_a_result_that_a_model_can_correct(lab: Lab, call: Json) -> None:
    simple(lab)
    result = raw(lab, call)[0]["result"]
    assert result["isError"] is True
    assert json.loads(result["content"][0]["text"])["error"]["code"] == "bad-arguments"
    assert lab.ours() == []
    assert not lab.home.exists()


@pytest.mark.parametrize(
    "call",
    [
        tool("nothing"),
        asked("tools/call", {"name": "switchyard_up", "arguments": []}),
        asked("tools/call", {"name": 4}),
    ],
)
def test_what_is_no_call_of_a_tool_is_an_error_of_the_protocol(lab: Lab, call: Json) -> None:
    simple(lab)
    assert raw(lab, call)[0]["error"]["code"] == -32602
    assert lab.ours() == []
    assert not lab.home.exists()


def test_null_for_an_optional_argument_means_that_it_is_not_given(lab: Lab) -> None:
    simple(lab)
    calls = [
        tool("brief", branch=None, cwd=None),
        tool("where", service="web", branch=None),
        tool("logs", service=None, branch=None, lines=None, grep=None, errors=None),
        tool("logs", lines=20.0),
        tool("up", branch=None, services=None, profile=None, wait=None),
        tool("down", branch=None, services=None),
    ]
    numbered = [{**call, "id": number} for number, call in enumerate(calls)]
    for answer in raw(lab, *numbered):
        assert answer["result"]["isError"] is False, answer


def test_restart_is_one_call_and_wait_ends_when_it_is_ready(lab: Lab) -> None:
    port = free_port()
    lab.config(f'[services.web]\ncommand = [SVC, "late", "2.5"]\nport = {port}\n')
    lab.json("up")
    lab.json("checkout")
    before = lab.service("web")["pid"]
    found = raw(
        lab,
        {**tool("restart", services=["web"]), "id": 1},
    )[0]["result"]["structuredContent"]
    assert found["started"] == ["web"]
    assert lab.service("web")["pid"] not in (None, before)
    assert get(port) == "default web"
    lab.json("down")
    lab.json("up", "--no-wait")
    assert lab.service("web")["phase"] == "starting"
    answers = raw(lab, {**tool("wait", service="web"), "id": 1}, {**tool("status"), "id": 2})
    assert [one["id"] for one in answers] == [2, 1]
    assert answers[1]["result"]["structuredContent"]["service"]["phase"] == "ready"
    lab.json("down")
    stopped = raw(lab, tool("wait", service="web"))[0]["result"]["structuredContent"]["service"]
    assert stopped["phase"] == "stopped"


@requirement("S1.05", "S1.06", "S1.38")
def test_the_root_is_the_nearest_configuration_upwards(lab: Lab) -> None:
    simple(lab)
    deep = lab.root / "a" / "b"
    deep.mkdir(parents=True)
    assert raw(lab, tool("doctor"), cwd=deep)[0]["result"]["structuredContent"]["root"] == str(
        lab.root
    )
    nested = lab.root / "a" / "switchyard.toml"
    nested.write_text('[services.x]\ncommand = "x"\n')
    found = raw(lab, tool("doctor"), cwd=deep)[0]["result"]["structuredContent"]
    assert found["root"] == str(nested.parent)


def test_without_a_project_the_server_says_so_and_ends(lab: Lab) -> None:
    done = lab.sy("mcp", cwd=lab.folder, code=2)
    assert "switchyard.toml" in done.err
    assert done.out == ""


@requirement("S1.07", "S1.08", "S1.09", "S1.73", "S1.74")
async def test_from_a_worktree_everything_is_about_its_branch(lab: Lab) -> None:
    simple(lab)
    lab.repository()
    lab.json("up")
    async with connected(lab) as client:
        tree = Path((await called(client, "create", branch="side"))["path"])
    assert (tree / "switchyard.toml").exists()
    async with connected(lab, cwd=tree) as client:
        assert (await called(client, "doctor"))["root"] == str(lab.root)
        content = (await client.read_resource("switchyard://project/brief")).contents[0]
        brief = json.loads(str(getattr(content, "text", "")))
        assert (brief["branch"], brief["scope"], brief["services"]) == ("side", "branch", [])
        assert brief["worktree"] == str(tree)
        up = await called(client, "up")
        assert (up["branch"], up["worktree"]) == ("side", str(tree))
        assert (await called(client, "where", service="web"))["service"]["branch"] == "side"
        stopped = (await called(client, "down"))["stopped"]
        assert [one["branch"] for one in stopped] == ["side"]
        await called(client, "up")
    assert len(lab.ours()) == 2
    async with connected(lab) as client:
        stopped = (await called(client, "down"))["stopped"]
        assert sorted(one["branch"] for one in stopped) == ["main", "side"]
    assert lab.ours() == []


@requirement("S1.51", "S1.52", "S1.70", "S1.71", "S1.73", "S1.74")
async def test_checkout_and_its_undoing(lab: Lab) -> None:
    port = free_port()
    simple(lab, port)
    lab.repository()
    tree = Path(lab.json("create", "side")["path"])
    lab.json("up")
    lab.json("up", "side")
    before = set(lab.ours())
    async with connected(lab) as client, connected(lab, cwd=tree) as beside:
        done = await called(client, "checkout")
        assert done["checkouts"][0]["port"] == port
        assert get(port) == "main web"
        assert set(lab.ours()) == before
        assert (await called(beside, "uncheckout"))["closed"] == []
        assert get(port) == "main web"
        assert (await called(beside, "checkout"))["checkouts"][0]["branch"] == "side"
        assert get(port) == "side web"
        assert (await called(client, "brief"))["checkouts"][0]["branch"] == "side"
        assert [one["port"] for one in (await called(beside, "uncheckout"))["closed"]] == [port]
        await called(beside, "checkout")
        assert len((await called(client, "uncheckout"))["closed"]) == 1
    assert set(lab.ours()) == before


@requirement("S1.67")
def test_a_call_cannot_leave_its_project(lab: Lab) -> None:
    simple(lab)
    other = lab.folder / "other"
    other.mkdir()
    (other / "switchyard.toml").write_text('[services.x]\ncommand = "x"\n')
    (lab.root / "link").symlink_to(other)
    (lab.root / "inside").mkdir()
    (lab.root / "inside" / "switchyard.toml").write_text('[services.y]\ncommand = "y"\n')
    for cwd in (str(other), str(lab.root / "link"), "..", "../other", "/", str(lab.root / "..")):
        answer = raw(lab, tool("doctor", cwd=cwd))[0]
        assert answer["error"]["code"] == -32602, cwd
    answer = raw(lab, tool("doctor", cwd=str(lab.root / "inside")))[0]
    assert answer["result"]["structuredContent"]["root"] == str(lab.root)


@requirement("S1.65")
def test_the_server_listens_nowhere(lab: Lab) -> None:
    simple(lab)
    server = subprocess.Popen(
        [sys.executable, "-m", "switchyard", "mcp"],
        cwd=lab.root,
        env=lab.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert server.stdin
    assert server.stdout
    server.stdin.write(json.dumps(tool("brief")).encode() + b"\n")
    server.stdin.flush()
    assert server.stdout.readline()
    links = [str(one.readlink()) for one in Path(f"/proc/{server.pid}/fd").iterdir()]
    assert not [one for one in links if one.startswith("socket:")]
    server.communicate(timeout=5)
    assert server.returncode == 0


def test_the_server_ends_when_its_client_is_gone(lab: Lab) -> None:
    """Not even an open pipe keeps it: another process may hold the other end."""
    simple(lab)
    reading, writing = os.pipe()
    middle = subprocess.Popen(
        ["sh", "-c", f"{sys.executable} -m switchyard mcp & wait"],
        cwd=lab.root,
        env={**lab.env, "YARD_TEST": str(lab.root)},
        stdin=reading,
        stdout=subprocess.PIPE,
    )
    os.close(reading)

    def servers() -> list[int]:
        return [
            pid
            for pid, one in processes().items()
            if one["env"].get("YARD_TEST") == str(lab.root) and pid != middle.pid
        ]

    found = wait_for(servers)
    os.kill(middle.pid, signal.SIGKILL)
    middle.wait(5)
    wait_for(lambda: not any(is_alive(pid) for pid in found))
    os.close(writing)
    assert middle.stdout
    middle.stdout.close()


def test_a_slow_call_does_not_hold_up_others(lab: Lab) -> None:
    lab.config('[services.slow]\ncommand = [SVC, "late", "1"]\nport = 0\n')
    up = {**tool("up"), "id": 1}
    answers = raw(lab, up, {**tool("status"), "id": 2})
    assert [one["id"] for one in answers] == [2, 1]
    assert answers[1]["result"]["structuredContent"]["services"][0]["phase"] == "ready"


async def test_the_brief_stays_small_however_many_services_there_are(lab: Lab) -> None:
    ten = "".join(f'[services.s{n}]\ncommand = [SVC, "serve"]\nport = 0\n' for n in range(10))
    lab.config(ten)
    lab.json("up")
    async with connected(lab) as client:
        assert len(json.dumps(await called(client, "brief"))) <= 6000
    many = "".join(f'[services.more{n}]\ncommand = ["true"]\nkind = "task"\n' for n in range(90))
    lab.config(ten + many)
    lab.json("up")
    async with connected(lab) as client:
        brief = await called(client, "brief")
    assert len(json.dumps(brief)) <= 6000
    assert len(brief["services"]) + brief["services_omitted"] == 100


@requirement("S1.49")
def test_a_pattern_without_end_ends(lab: Lab) -> None:
    lab.config(
        '[services.web]\ncommand = ["echo", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!"]\nkind = "task"\n'
    )
    lab.json("up")
    slow, quick, none, broken = raw(
        lab,
        tool("logs", grep="(a+)+$"),
        tool("logs", grep="a+!"),
        tool("logs", grep="b(c|d)"),
        tool("logs", grep="a("),
    )
    assert slow["result"]["_meta"]["switchyard/error"]["code"] == "slow-pattern"
    assert len(quick["result"]["structuredContent"]["logs"][0]["lines"]) == 1
    assert none["result"]["structuredContent"]["logs"][0]["lines"] == []
    assert broken["result"]["_meta"]["switchyard/error"]["code"] == "bad-pattern"
