"""`call` passes a subtool's arguments to the child and gives back what it answered."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fakes.boards import (
    Desk,
    echo_server,
    json_of,
    misbehaving_server,
    server,
    serving,
    settings_for,
    text_of,
)
from fakes.nursery import SCRIPTED
from support.processes import mentioning
from support.requirements import attack, requirement
from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.core.calls.call import WireBlock
from switchboard.core.faults import FaultCode
from switchboard.settings.sections import Timeouts

PASSTHROUGH = SuiteSettings(result_mode="passthrough")
# What no decoder and encoder would bring back as it was.
ODD = (
    '{"content": [ {"type":"text","text":"\\u00e9\\ud83d\\ude00"} ],'
    '"n":123456789012345678901234567890,"f":1.0e+02,"b":1,"a":2,"b":3}'
)


DISCOVERED = '{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{}}'


def saying(result: str, protocol: Any = "handshake", **more: Any) -> ServerEntry:
    """Give a child whose every call has this result."""
    script = {
        method: ['{"jsonrpc":"2.0","id":$id,"result":', said, "}\n"]
        for method, said in (("tools/call", result), ("server/discover", DISCOVERED))
    }
    return server(
        "odd", [sys.executable, str(SCRIPTED), json.dumps(script)], protocol=protocol, **more
    )


@requirement("S2.49", "S2.74", "S2.08")
async def test_a_call_gives_the_childs_whole_result_as_json_in_one_text_block(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, echo_server()) as desk:
        outcome = await desk.subtool("echo_suite", "add", a=19, b=23)
        assert len(outcome.blocks) == 1
        assert json_of(outcome) == {
            "content": [{"type": "text", "text": "42"}],
            "structuredContent": {"sum": 42},
        }
        assert not outcome.is_error


@requirement("S2.49", "S2.77")
async def test_args_may_be_left_out_and_later_calls_use_the_same_process(tmp_path: Path) -> None:
    async with serving(tmp_path, echo_server()) as desk:
        pids: set[int] = set()
        for _ in range(3):
            outcome = await desk.call("echo_suite", {"action": "call", "subtool": "report"})
            pids.add(json.loads(json_of(outcome)["content"][0]["text"])["pid"])
        assert len(pids) == 1


@requirement("S2.47")
async def test_a_call_without_a_subtool_is_an_error_and_starts_nothing(tmp_path: Path) -> None:
    async with serving(tmp_path, echo_server()) as desk:
        for arguments in ({"action": "call"}, {"action": "call", "subtool": ""}):
            fault = await desk.fault("echo_suite", **arguments)
            assert (fault.code, fault.reason) == (FaultCode.INVALID_ARGUMENT, "subtool-missing")
        assert mentioning(str(tmp_path)) == []


@requirement("S2.48", "S2.15", "S2.16")
@pytest.mark.parametrize(
    "own",
    [
        SuiteSettings(deny=("echo",)),
        SuiteSettings(allow=("add",)),
        SuiteSettings(allow=("echo",), deny=("echo",)),
        SuiteSettings(allow=()),
    ],
)
async def test_an_excluded_subtool_is_refused_before_the_child_is_started(
    own: SuiteSettings, tmp_path: Path
) -> None:
    async with serving(tmp_path, echo_server(), suites={"echo": own}) as desk:
        fault = await desk.fault("echo_suite", action="call", subtool="echo", args={"text": "x"})
        assert (fault.code, fault.reason) == (FaultCode.PERMISSION_DENIED, "subtool-not-allowed")
        assert mentioning(str(tmp_path)) == []


@pytest.mark.parametrize("spelling", ["Echo", " echo", "ECHO\t", "\u00a0echo", "hidden"])
@attack("N11")
async def test_another_spelling_of_what_is_denied_does_not_reach_the_child(
    spelling: str, tmp_path: Path
) -> None:
    """A server may take such a name for the one that is meant, or have tools that it hides."""
    own = {"echo": SuiteSettings(deny=("echo",))}
    async with serving(tmp_path, echo_server(), suites=own) as desk:
        fault = await desk.fault("echo_suite", action="call", subtool=spelling, args={})
        assert fault.reason in {"subtool-not-allowed", "unknown-subtool"}
        assert fault.reason != "child-error"


@requirement("S2.07")
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"action": "run"},
        {"action": 7},
        {"action": "call", "subtool": 7},
        {"action": "call", "subtool": "echo", "args": "text"},
        {"action": "call", "subtool": "echo", "args": None},
        [],
    ],
)
async def test_wrong_arguments_are_refused_before_the_child_is_started(
    arguments: object, tmp_path: Path
) -> None:
    async with serving(tmp_path, echo_server()) as desk:
        with pytest.raises(Exception, match="invalid_argument"):
            await desk.call("echo_suite", arguments)
        assert mentioning(str(tmp_path)) == []


@attack("N7")
async def test_an_unknown_subtool_is_named_with_what_was_probably_meant(tmp_path: Path) -> None:
    own = {"echo": SuiteSettings(deny=("fail",))}
    async with serving(tmp_path, echo_server(), suites=own) as desk:
        fault = await desk.fault("echo_suite", action="call", subtool="ech", args={})
        assert (fault.code, fault.reason) == (FaultCode.NOT_FOUND, "unknown-subtool")
        assert fault.hint == "did you mean `echo`?"
        fault = await desk.fault("echo_suite", action="call", subtool="zzzz", args={})
        assert "echo" in fault.hint
        assert "fail" not in fault.hint


@requirement("S2.81")
async def test_a_childs_refusal_of_a_tool_that_it_lists_reaches_the_client(tmp_path: Path) -> None:
    async with serving(tmp_path, echo_server()) as desk:
        fault = await desk.fault("echo_suite", action="call", subtool="refuse", args={})
        assert (fault.code, fault.reason) == (FaultCode.UNIMPLEMENTED, "child-lacks-tools")
        assert "refused by the child" in fault.message


async def test_a_childs_refusal_is_told_even_when_it_cannot_list_its_tools(tmp_path: Path) -> None:
    script = {
        "tools/call": ['{"id":$id,"error":{"code":-32602,"message":"bad wind"}}\n'],
        "tools/list": ['{"id":$id,"error":{"code":-32603,"message":"no list"}}\n'],
    }
    command = [sys.executable, str(SCRIPTED), json.dumps(script)]
    async with serving(tmp_path, server("odd", command, protocol="handshake")) as desk:
        fault = await desk.fault("odd_suite", action="call", subtool="sail", args={})
        assert fault.reason == "child-rejected"
        assert "bad wind" in fault.message


@requirement("S2.81")
async def test_a_tool_that_says_it_failed_is_an_error_with_its_own_words(tmp_path: Path) -> None:
    async with serving(tmp_path, echo_server()) as desk:
        outcome = await desk.subtool("echo_suite", "fail", why="rain")
        assert outcome.is_error
        assert "failed: rain" in text_of(outcome)


async def test_images_and_links_follow_as_blocks_and_are_only_named_in_the_text(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, echo_server()) as desk:
        outcome = await desk.subtool("echo_suite", "picture")
        text, *others = outcome.blocks
        assert [type(block) for block in others] == [WireBlock, WireBlock]
        image, link = (json.loads(bytes(b.raw)) for b in others if isinstance(b, WireBlock))
        assert (image["type"], image["mimeType"]) == ("image", "image/png")
        assert link == {"type": "resource_link", "uri": "demo://dot", "name": "dot"}
        assert image["data"] not in text_of(outcome)
        assert json_of(outcome)["content"] == [
            {"type": "image", "mimeType": "image/png", "block": 1},
            {"type": "resource_link", "uri": "demo://dot", "name": "dot", "block": 2},
        ]
        assert text


async def test_text_between_other_blocks_stays_in_its_place(tmp_path: Path) -> None:
    result = (
        '{"content":[{"type":"text","text":"before"},{"type":"resource","resource":{"uri":"x:y",'
        '"blob":"QUJD"}},{"type":"text","text":"after"}],"structuredContent":{"n":1}}'
    )
    async with serving(tmp_path, saying(result)) as desk:
        outcome = await desk.subtool("odd_suite", "any")
        shown = json_of(outcome)
        assert [block.get("text") for block in shown["content"]] == ["before", None, "after"]
        assert shown["structuredContent"] == {"n": 1}
        assert len(outcome.blocks) == 2
        assert "QUJD" not in text_of(outcome)


async def test_the_json_text_is_the_childs_own_to_the_last_byte(tmp_path: Path) -> None:
    async with serving(tmp_path, saying(ODD)) as desk:
        assert text_of(await desk.subtool("odd_suite", "any")) == ODD


async def test_passthrough_gives_the_childs_result_byte_for_byte(tmp_path: Path) -> None:
    async with serving(tmp_path, saying(ODD), suites={"odd": PASSTHROUGH}) as desk:
        outcome = await desk.subtool("odd_suite", "any")
        assert outcome.raw is not None
        assert bytes(outcome.raw) == ODD.encode()


async def test_passthrough_keeps_that_a_tool_failed(tmp_path: Path) -> None:
    own = {"echo": PASSTHROUGH}
    async with serving(tmp_path, echo_server(), suites=own) as desk:
        assert (await desk.subtool("echo_suite", "fail")).is_error
        assert not (await desk.subtool("echo_suite", "echo", text="x")).is_error


@pytest.mark.parametrize("mode", ["json", "passthrough"])
@pytest.mark.parametrize("result", ["[]", '"text"', "null"])
async def test_a_result_that_is_no_object_is_a_fault(
    result: str, mode: Any, tmp_path: Path
) -> None:
    own = {"odd": SuiteSettings(result_mode=mode)}
    async with serving(tmp_path, saying(result), suites=own) as desk:
        fault = await desk.fault("odd_suite", action="call", subtool="any")
        assert (fault.code, fault.reason) == (FaultCode.INTERNAL, "result-malformed")


@pytest.mark.parametrize("mode", ["json", "passthrough"])
async def test_a_child_that_asks_back_is_told_that_nobody_can_answer(
    mode: Any, tmp_path: Path
) -> None:
    own = {"odd": SuiteSettings(result_mode=mode)}
    wanted = '{"1":{"method":"elicitation/create","params":{"message":"Who?"}}}'
    asking = saying(f'{{"resultType":"input_required","inputRequests":{wanted}}}', "modern")
    async with serving(tmp_path, asking, suites=own) as desk:
        fault = await desk.fault("odd_suite", action="call", subtool="any")
        assert (fault.code, fault.reason) == (FaultCode.UNIMPLEMENTED, "child-asks")


async def test_a_slow_call_holds_up_neither_its_own_child_nor_another(tmp_path: Path) -> None:
    async with serving(tmp_path, echo_server("one"), echo_server("two")) as desk:
        slow = asyncio.ensure_future(desk.subtool("one_suite", "stall"))
        async with asyncio.timeout(10):
            for suite in ("one_suite", "two_suite"):
                assert "echo: hi" in text_of(await desk.subtool(suite, "echo", text="hi"))
        assert not slow.done()
        slow.cancel()
        await asyncio.wait({slow})


async def cancelled_at(desk: Desk, suite: str) -> list[int]:
    history = json_of(await desk.subtool(suite, "history"))["content"][0]["text"]
    return json.loads(history)["cancelled"]


@requirement("S2.19", "S2.63", "S2.80")
async def test_a_call_that_takes_longer_than_the_request_limit_is_ended_and_cancelled(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, echo_server(), timeouts=Timeouts(rpc_ms=600)) as desk:
        await desk.introspect("echo_suite")
        fault = await desk.fault("echo_suite", action="call", subtool="stall")
        assert (fault.code, fault.reason) == (FaultCode.DEADLINE_EXCEEDED, "tool-timeout")
        assert "0.6 s" in fault.message
        assert len(await cancelled_at(desk, "echo_suite")) == 1


@requirement("S2.63")
@pytest.mark.parametrize("where", ["entry", "suite"])
async def test_a_child_may_have_a_request_limit_of_its_own(where: str, tmp_path: Path) -> None:
    entry = echo_server("quick", rpc_timeout_ms=500 if where == "entry" else None)
    own = {"quick": SuiteSettings(rpc_timeout_ms=500 if where == "suite" else None)}
    async with serving(tmp_path, entry, suites=own) as desk:
        await desk.introspect("quick_suite")
        fault = await desk.fault("quick_suite", action="call", subtool="stall")
        assert "0.5 s" in fault.message


async def test_settings_of_a_suite_reach_its_child(tmp_path: Path) -> None:
    own = {"content-length-only": SuiteSettings(framing="content-length", protocol="handshake")}
    async with serving(tmp_path, misbehaving_server("content-length-only"), suites=own) as desk:
        outcome = await desk.subtool("content-length-only_suite", "history")
        assert "server/discover" not in text_of(outcome)


async def test_a_board_that_is_swapped_keeps_the_children_that_did_not_change(
    tmp_path: Path,
) -> None:
    kept, dropped = echo_server("kept"), echo_server("dropped")
    async with serving(tmp_path, kept, dropped) as desk:
        await asyncio.gather(desk.introspect("kept_suite"), desk.introspect("dropped_suite"))
        [pid] = [child.pid for child in desk.runtime.engine.pool if child.entry.name == "kept"]
        desk.runtime.adopt(settings_for(tmp_path, kept, echo_server("new")))
        assert desk.names == ["kept_suite", "new_suite"]
        report = json_of(await desk.subtool("kept_suite", "report"))["content"][0]["text"]
        assert json.loads(report)["pid"] == pid
