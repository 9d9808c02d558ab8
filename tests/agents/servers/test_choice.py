"""Which servers a run gets, of those that are known."""

import json
import sys
from typing import Any

import pytest

from agents.servers.host_bench import HostBench, echo
from support.processes import mentioning, until_gone
from support.requirements import requirement
from support.workspace import Json, child_command
from switchboard.core.faults import Fault
from switchboard.engines.profile import AttachedServer
from switchboard.providers.agents.servers.depth import MOST_DEPTH
from switchboard.providers.agents.servers.references import Reference, read_references

MEMORY = AttachedServer(
    name="memory", command="npx", args=("-y", "@modelcontextprotocol/server-memory")
)


def embedded(name: str, command: str = "own") -> AttachedServer:
    return AttachedServer(name=name, command=command, args=("a",), env={"FOO": "BAR"})


@requirement("S0.53", "S0.101", "S0.102", "S0.103", "S0.104", "S0.118")
async def test_servers_of_the_agent_are_merged_with_those_that_were_found(
    bench: HostBench,
) -> None:
    bench.cursor_user(found={"command": "found"}, twin={"command": "theirs"})
    own = [embedded("mine"), embedded("twin", "ours")]
    got = await bench.attached(servers=own, limit_mcp_to_referenced=False)
    by_name = {server.name: server for server in got.servers}
    assert sorted(by_name) == ["found", "mine", "twin"]
    assert by_name["twin"].command == "ours"
    assert (by_name["mine"].args, by_name["mine"].env) == (("a",), {"FOO": "BAR"})
    assert by_name["mine"].required
    assert not by_name["found"].required


@requirement("S0.107", "S0.111", "S0.131")
async def test_only_servers_that_the_agent_names_are_attached(bench: HostBench) -> None:
    bench.cursor_user(a={"command": "a"}, b={"command": "b"})
    assert await bench.names("b::tool") == ["b"]
    assert await bench.names("mcp__a__tool") == ["a"]
    assert await bench.names(servers=[embedded("mine")]) == ["mine"]
    assert await bench.names() == []
    assert sorted(await bench.names("b::tool", limit_mcp_to_referenced=False)) == ["a", "b"]


@requirement("S0.106")
async def test_a_bare_reference_may_mean_any_server_that_was_found(bench: HostBench) -> None:
    bench.cursor_user(a={"command": "a"}, b={"command": "b"})
    assert sorted(await bench.names("something")) == ["a", "b"]


async def test_a_name_that_nobody_knows_is_told_with_the_one_that_was_meant(
    bench: HostBench,
) -> None:
    bench.cursor_user(github={"command": "a"})
    got = await bench.attached("gihtub::search")
    assert got.servers == ()
    assert got.notices == (
        "no server `gihtub` is known, which `gihtub::search` names; did you mean `github`?",
    )


@requirement("S0.138")
async def test_the_servers_of_the_tool_map_need_leave_and_a_reference(bench: HostBench) -> None:
    assert await bench.names("memory::memory", injected=[MEMORY]) == ["memory"]
    assert await bench.names("other::tool", injected=[MEMORY]) == []
    off: dict[str, Any] = {"injected": [MEMORY], "toolmap_allow_custom_servers": False}
    assert await bench.names("memory::memory", **off) == []
    # Whatever else has the name counts more.
    bench.cursor_user(memory={"command": "mine"})
    (server,) = (await bench.attached("memory::memory", injected=[MEMORY])).servers
    assert server.command == "mine"


@requirement("S0.113")
async def test_a_proxy_to_a_remote_server_is_a_server_like_any_other(bench: HostBench) -> None:
    proxy = AttachedServer(
        name="deepwiki",
        command="mcp-proxy",
        args=("--transport", "streamablehttp", "https://mcp.deepwiki.com/mcp"),
        env={"API_ACCESS_TOKEN": "token"},
    )
    assert (await bench.attached(servers=[proxy])).servers == (proxy,)


# What Switchboard has


async def test_what_switchboard_has_is_reached_through_it(bench: HostBench) -> None:
    bench.environ["TOP_SECRET"] = "s3cret-value"
    bench.workspace.mcp_json(
        {
            "docs": {"transport": "http", "url": "http://127.0.0.1:9/mcp"},
            "echo": {**echo(), "secret_env": {"KEY": "env:TOP_SECRET"}},
        }
    )
    got = await bench.attached("docs::search", "echo::echo", depth=1)
    assert [server.name for server in got.servers] == ["docs", "echo"]
    for server in got.servers:
        assert server.command == sys.executable
        words = ("-P", "-m", "switchboard", "bridge", server.name)
        assert server.args == (*words, "--workspace", str(bench.workspace.root))
        assert server.env["SWITCHBOARD_HOME"] == str(bench.workspace.home)
        assert server.env["SWITCHBOARD_DEPTH"] == "2"
        assert "s3cret-value" not in json.dumps([server.args, server.env])


async def test_the_same_command_is_the_same_server_under_any_name(bench: HostBench) -> None:
    bench.workspace.mcp_json({"ours": echo()})
    command, *args = child_command("echo_child", "echo")
    own = AttachedServer(name="theirs", command=command, args=tuple(args))
    (server,) = (await bench.attached(servers=[own])).servers
    assert server.name == "theirs"
    assert server.args[3:5] == ("bridge", "ours")
    other = AttachedServer(name="theirs", command=command, args=tuple(args), env={"A": "B"})
    assert (await bench.attached(servers=[other])).servers == (other,)


async def test_a_configured_server_counts_more_than_one_of_a_host(bench: HostBench) -> None:
    bench.cursor_user(twin={"command": "theirs"})
    bench.workspace.mcp_json({"twin": echo()})
    (server,) = (await bench.attached("twin::echo")).servers
    assert server.args[3:5] == ("bridge", "twin")
    # And the agent's own more than that.
    (server,) = (await bench.attached("twin::echo", servers=[embedded("twin")])).servers
    assert server.command == "own"


@requirement("S0.105", "S0.112")
async def test_a_remote_server_of_the_agent_itself_is_a_bridge_beside_its_file(
    bench: HostBench,
) -> None:
    path = str(bench.workspace.root / ".agents" / "helper.toml")
    (server,) = (await bench.attached(remote=["far"], path=path)).servers
    assert server.args[3:5] == ("bridge", "far")
    assert server.args[-2:] == ("--agent", path)


async def test_too_many_runs_above_are_refused_with_a_sentence(bench: HostBench) -> None:
    await bench.attached(depth=MOST_DEPTH - 1)
    with pytest.raises(Fault, match="calls itself") as raised:
        await bench.attached(depth=MOST_DEPTH)
    assert raised.value.reason == "agents-too-deep"


# Enumeration

ASKED: dict[str, Any] = {"enumerate": True, "enum_timeout_ms": 20_000}
MISSING: Json = {"command": "/no/such/program"}


@requirement("S0.108", "S0.132")
async def test_only_servers_that_have_the_tool_are_attached(bench: HostBench) -> None:
    bench.cursor_user(talk=echo("talk"), broken=MISSING)
    assert await bench.names("echo", **ASKED) == ["talk"]
    assert await bench.names("no-such-tool", **ASKED) == []
    got = await bench.attached("talk::no-such-tool", **ASKED)
    assert got.servers == ()
    assert "`talk` has no tool `no-such-tool`" in got.notices[-1]
    await until_gone(mentioning(str(bench.workspace.root)))


@requirement("S0.109", "S0.136")
async def test_the_fallback_decides_where_several_servers_have_a_tool(bench: HostBench) -> None:
    bench.cursor_user(one=echo("one"), two=echo("two"))
    got = await bench.attached("echo", **ASKED)
    assert got.servers == ()
    assert got.notices[-1].endswith("name one: `one::echo`, `two::echo`")
    assert await bench.names("echo", **ASKED, enum_fallback="all") == ["one", "two"]
    assert await bench.names("two::echo", **ASKED) == ["two"]


@requirement("S0.135")
async def test_strictness_decides_over_a_named_server_that_cannot_be_asked(
    bench: HostBench,
) -> None:
    bench.cursor_user(broken=MISSING)
    got = await bench.attached("broken::tool", **ASKED)
    assert [(server.name, server.required) for server in got.servers] == [("broken", False)]
    got = await bench.attached("broken::tool", **ASKED, enum_strict=True)
    assert got.servers == ()
    assert "so it is not attached" in got.notices[-1]


@requirement("S0.133")
async def test_a_server_that_never_answers_costs_no_more_than_its_time(bench: HostBench) -> None:
    silent = {"command": sys.executable, "args": ["-c", "import time; time.sleep(600)"]}
    bench.cursor_user(silent=silent, talk=echo("talk"))
    options: dict[str, Any] = {**ASKED, "enum_timeout_ms": 3_000}
    got = await bench.attached("echo", **options)
    assert [server.name for server in got.servers] == ["talk"]
    assert got.notices == ("`silent` could not be asked for tools in time",)


@requirement("S0.134")
async def test_no_more_servers_are_asked_than_allowed(bench: HostBench) -> None:
    bench.cursor_user(one=echo("one"), two=echo("two"), three=echo("three"))
    got = await bench.attached("echo", **ASKED, enum_max_servers=1)
    assert [server.name for server in got.servers] == ["one"]
    assert "only the first 1 were asked" in got.notices[0]


async def test_a_server_is_asked_once_as_long_as_it_stays_the_same(
    bench: HostBench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    starts = tmp_path_factory.mktemp("starts") / "starts"
    script = f'echo x >> "{starts}"; exec "$0" "$@"'
    entry = {"command": "sh", "args": ["-c", script, *child_command("echo_child")]}
    bench.cursor_user(talk=entry)
    assert await bench.names("echo", **ASKED) == ["talk"]
    assert await bench.names("add", **ASKED) == ["talk"]
    assert len(starts.read_text("utf-8").split()) == 1
    bench.cursor_user(talk={**entry, "env": {"A": "B"}})
    assert await bench.names("echo", **ASKED) == ["talk"]
    assert len(starts.read_text("utf-8").split()) == 2


async def test_nothing_is_started_unless_asking_is_switched_on(
    bench: HostBench, tmp_path_factory: pytest.TempPathFactory
) -> None:
    started = tmp_path_factory.mktemp("starts") / "started"
    bench.cursor_user(touch={"command": "touch", "args": [str(started)]})
    assert await bench.names("echo") == ["touch"]
    assert not started.exists()


async def test_a_configured_server_is_asked_through_its_own_child(bench: HostBench) -> None:
    bench.workspace.mcp_json({"ours": echo()})
    (server,) = (await bench.attached("echo", **ASKED)).servers
    assert server.args[3:5] == ("bridge", "ours")


@requirement("S0.107")
def test_references_name_a_tool_or_a_tool_of_a_server() -> None:
    words = ["Read", " a::b ", "mcp__c__d", "mcp__e", "f::*", "", "::x", "a::b"]
    assert read_references(words) == (
        Reference("", "Read"),
        Reference("a", "b"),
        Reference("c", "d"),
        Reference("e", ""),
        Reference("f", ""),
    )


@requirement("S0.110")
async def test_an_attached_server_brings_all_its_tools(bench: HostBench) -> None:
    """There is no switch for single tools: what is attached is a whole server, whatever named."""
    bench.cursor_user(talk=echo("talk"))
    (one,) = (await bench.attached("talk::echo")).servers
    (two,) = (await bench.attached("talk::add", "talk::echo")).servers
    assert one == two
