"""A child starts at its first use, once for everybody, with exactly what its entry says."""

import asyncio
import json
from pathlib import Path

import pytest
from msgspec import Raw

from fakes.nursery import HANDSHAKE, json_from, nursery, text_from
from support.processes import alive, mentioning
from support.requirements import requirement
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.core.events import ChildFailed, ChildStarted
from switchboard.core.faults import Fault, FaultCode


@requirement("S2.05", "S2.50", "S2.51", "S2.53")
async def test_a_child_starts_at_its_first_use_and_serves_later_calls(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.child("echo_child")
        assert child.pid == 0
        assert mentioning(str(tmp_path)) == []
        assert await text_from(child, "echo", text="one") == "echo: one"
        first = child.pid
        assert alive(first)
        assert await text_from(child, "echo", text="two") == "echo: two"
        assert child.pid == first
        assert mentioning(str(tmp_path)) == [first]
        [started] = some.events.of(ChildStarted)
        assert (started.pid, started.protocol) == (first, "2025-11-25")


@requirement("S2.55", "S2.71")
async def test_a_child_is_initialised_once_told_so_and_then_asked(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.child("echo_child", **HANDSHAKE)
        await child.tools()
        await child.tools()
        history = await json_from(child, "history")
        assert history["received"] == [
            "initialize",
            "notifications/initialized",
            "tools/list",
            "tools/call",
        ]


@requirement("S2.51", "S2.55")
async def test_fifty_callers_at_once_start_one_process(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.child("echo_child", **HANDSHAKE)
        async with asyncio.TaskGroup() as group:
            texts = [
                group.create_task(text_from(child, "echo", text=str(number)))
                for number in range(50)
            ]
        assert [task.result() for task in texts] == [f"echo: {number}" for number in range(50)]
        history = await json_from(child, "history")
        assert history["received"].count("initialize") == 1
        assert len(some.events.of(ChildStarted)) == 1


async def test_a_caller_that_leaves_during_the_start_does_not_spoil_it_for_others(
    tmp_path: Path,
) -> None:
    async with nursery(tmp_path) as some:
        child = some.child("echo_child")
        leaving = asyncio.create_task(text_from(child, "echo", text="never"))
        staying = asyncio.create_task(text_from(child, "echo", text="here"))
        await asyncio.sleep(0)
        leaving.cancel()
        assert await staying == "echo: here"


@requirement("S2.84", "S2.85", "S2.86")
async def test_a_child_gets_its_folder_a_short_base_and_what_its_entry_declares(
    tmp_path: Path,
) -> None:
    environ = {"PATH": "/usr/bin:/bin", "HOME": "/home/me", "AWS_SECRET": "s", "TOKEN": "t0ken"}
    async with nursery(tmp_path, environ) as some:
        child = some.child("echo_child", env={"MODE": "fast"}, secret_env={"API_KEY": "env:TOKEN"})
        report = await json_from(child, "report")
    assert report["cwd"] == str(tmp_path)
    assert report["pid"] == report["pgid"]
    # Python adds this one to itself.
    report["env"].pop("LC_CTYPE", None)
    assert report["env"] == {
        "PATH": "/usr/bin:/bin",
        "HOME": "/home/me",
        "MODE": "fast",
        "API_KEY": "t0ken",
    }


async def test_a_child_may_be_given_our_whole_environment(tmp_path: Path) -> None:
    environ = {"PATH": "/usr/bin:/bin", "ANYTHING": "else"}
    async with nursery(tmp_path, environ) as some:
        report = await json_from(some.child("echo_child", inherit_env=True), "report")
    assert report["env"]["ANYTHING"] == "else"


async def test_a_secret_without_a_value_is_a_fault_and_starts_nothing(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.child("echo_child", secret_env={"API_KEY": "env:NOWHERE"})
        with pytest.raises(Fault) as caught:
            await child.tools()
        assert (caught.value.code, caught.value.reason) == (
            FaultCode.UNAUTHENTICATED,
            "secret-missing",
        )
        assert mentioning(str(tmp_path)) == []


@requirement("S2.81")
async def test_a_command_that_does_not_exist_is_a_fault_and_an_event(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        broken = some.run(["/no/such/program"], name="broken")
        healthy = some.child("echo_child", name="healthy")
        with pytest.raises(Fault) as caught:
            await broken.tools()
        assert (caught.value.code, caught.value.reason) == (FaultCode.INTERNAL, "spawn-failed")
        assert [event.reason for event in some.events.of(ChildFailed)] == ["spawn-failed"]
        assert await text_from(healthy, "echo", text="hi") == "echo: hi"


@requirement("S2.80")
async def test_a_child_that_never_answers_is_given_up_and_ended(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("hang-at-start", limits=ChildLimits(rpc_s=0.3, idle_s=0))
        with pytest.raises(Fault) as caught:
            await child.tools()
        assert (caught.value.code, caught.value.reason) == (
            FaultCode.DEADLINE_EXCEEDED,
            "child-start-timeout",
        )
        assert mentioning(str(tmp_path)) == []


@requirement("S2.76", "S2.80")
async def test_a_slow_start_counts_against_the_request_limit_not_the_spawn_limit(
    tmp_path: Path,
) -> None:
    async with nursery(tmp_path) as some:
        limits = ChildLimits(spawn_s=0.5, rpc_s=20, idle_s=0)
        child = some.misbehaving("slow-start", "0.8", limits=limits)
        assert "echo" in (await child.tools()).tools


@requirement("S2.80")
async def test_a_listing_that_never_comes_is_a_timeout_that_names_the_setting(
    tmp_path: Path,
) -> None:
    async with nursery(tmp_path) as some:
        child = some.scripted({"tools/list": ["hush"]}, limits=ChildLimits(rpc_s=0.5, idle_s=0))
        with pytest.raises(Fault) as caught:
            await child.tools()
        assert (caught.value.code, caught.value.reason) == (
            FaultCode.DEADLINE_EXCEEDED,
            "child-timeout",
        )
        assert "rpcTimeoutMs" in caught.value.hint


@requirement("S2.73")
async def test_a_call_is_a_tools_call_with_name_and_arguments_as_they_are(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    said = ['{"jsonrpc":"2.0","id":$id,"result":{"content":[]}}\n']
    async with nursery(tmp_path) as some:
        child = some.scripted({"tools/call": said}, str(notes))
        await child.call("résumé", Raw(rb'{"b":1,"a":[1.0e2,"\u00e9"],"b":2}'))
    last = notes.read_text().splitlines()[-1]
    assert json.loads(last)["method"] == "tools/call"
    assert '"params":{"name":"résumé","arguments":{"b":1,"a":[1.0e2,"\\u00e9"],"b":2},' in last
    # The id of the request is its progress token, so that a long call can show signs of life.
    assert json.loads(last)["params"]["_meta"] == {"progressToken": json.loads(last)["id"]}
