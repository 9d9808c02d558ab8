"""`switchboard usage` tells what the audit log knows of the use of tools."""

from cli.commands import switchboard
from gate.ground import Gate
from support.workspace import Json, child_command


async def test_use_errors_and_what_is_never_used_are_told(gate: Gate) -> None:
    gate.workspace.echo_child()
    gate.workspace.child("idle", child_command("echo_child", "idle"))
    async with gate.window() as client:
        await client.introspect("idle_suite")
        for _ in range(3):
            call = {"action": "call", "subtool": "add", "args": {"a": 1, "b": 2}}
            await client.call("echo_suite", call)
        wrong: Json = {"action": "call", "subtool": "echo", "args": {}}
        await client.call("echo_suite", wrong)
        await client.introspect("echo_suite")
    gate.workspace.stop_daemon()
    report = switchboard(gate.workspace, "usage", "--days", "7", "--json").report
    assert report["days"] == 7
    first = report["tools"][0]
    assert (first["server"], first["suite"], first["tool"]) == ("echo", "echo_suite", "add")
    assert (first["calls"], first["errors"]) == (3, 0)
    assert 1 <= first["p50_ms"] <= first["p95_ms"]
    assert first["tokens"] > 0
    assert report["calls"] == sum(each["calls"] for each in report["tools"])
    [today] = report["by_day"]
    assert (today["calls"], today["errors"]) == (report["calls"], report["errors"])
    assert {each["server"] for each in report["servers"]} == {"echo", "idle", "ledger"}
    never = {each["server"]: each for each in report["unused_servers"]}
    assert set(never) == {"idle", "ledger"}
    assert never["idle"]["tools"] == 8
    assert never["idle"]["direct_tokens"] > never["idle"]["suite_tokens"] > 0
    [left] = report["unused_tools"]
    assert left["server"] == "echo"
    assert "add" not in left["tools"]
    assert "picture" in left["tools"]
    shown = switchboard(gate.workspace, "usage")
    assert shown.out.splitlines()[0].split() == ["TOOL", "CALLS", "ERRORS", "P50", "P95", "TOKENS"]
    assert "echo.add" in shown.out


def test_a_home_without_calls_says_so(gate: Gate) -> None:
    done = switchboard(gate.workspace, "usage")
    assert done.code == 0
    assert "no call in the last 30 days" in done.err
    assert switchboard(gate.workspace, "usage", "--days", "0").code == 2
