"""`switchboard usage` tells what the audit log knows of the use of tools."""

import json
from datetime import date, timedelta

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
    # After four calls nobody knows what will be needed.
    assert report["known_days"] == 1
    assert "only 4 calls in 1 day so far: what was not used yet may still be needed" in shown.err
    assert "disable" not in shown.err


async def test_once_there_are_enough_calls_idle_servers_may_go(gate: Gate) -> None:
    gate.workspace.echo_child()
    gate.workspace.child("idle", child_command("echo_child", "idle"))
    call = {"action": "call", "subtool": "add", "args": {"a": 1, "b": 2}}
    async with gate.window() as client:
        await client.introspect("idle_suite")
        await client.call("echo_suite", call)
    gate.workspace.stop_daemon()
    switchboard(gate.workspace, "usage")
    # The same calls, a few days ago and more of them.
    kept = gate.workspace.home / "cache" / "usage.json"
    told = json.loads(kept.read_text("utf-8"))
    [(today, uses)] = told["days"].items()
    [[_, use]] = uses["tools"]
    use[0] = 60
    earlier = (date.fromisoformat(today) - timedelta(days=9)).isoformat()
    told["days"] = {earlier: uses}
    kept.write_text(json.dumps(told), "utf-8")
    shown = switchboard(gate.workspace, "usage")
    assert "so far" not in shown.err
    assert "hint: switchboard disable NAME" in shown.err


async def test_what_is_not_listed_is_no_saving(gate: Gate) -> None:
    """With `surface_tokens` no suite is listed, so that a listing is not shorter without one."""
    gate.workspace.echo_child()
    gate.workspace.child("idle", child_command("echo_child", "idle"))
    gate.guard(surface_tokens="lean")
    report = switchboard(gate.workspace, "usage", "--json").report
    assert {each["suite_tokens"] for each in report["servers"]} == {0}


def test_a_home_without_calls_says_so(gate: Gate) -> None:
    done = switchboard(gate.workspace, "usage")
    assert done.code == 0
    assert "no call in the last 30 days" in done.err
    assert "NEVER USED" not in done.out
    assert "disable" not in done.err
    assert switchboard(gate.workspace, "usage", "--days", "0").code == 2
