"""What a client is answered: in both eras, before and after it introduced itself."""

import json
from typing import Any

import pytest
from msgspec import Raw

from fakes.calls import Run, outcome
from fakes.endpoints import Visitor
from support.mcp_stdio import META
from support.requirements import requirement
from switchboard.core.calls.call import Call, Outcome, WireBlock
from switchboard.core.faults import Fault, FaultCode

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


# Negotiation


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_handshake_is_answered_in_the_version_that_was_asked_for(version: str) -> None:
    answer = await Visitor().shake_hands(version)
    assert answer["protocolVersion"] == version
    assert answer["serverInfo"]["name"] == "switchboard"
    assert answer["capabilities"] == {"tools": {"listChanged": True}}
    assert answer["instructions"] == "Be kind."


@pytest.mark.parametrize("version", ["2023-01-01", "2026-07-28", "", "latest"])
async def test_a_handshake_in_an_unknown_version_is_answered_in_the_newest(version: str) -> None:
    assert (await Visitor().shake_hands(version))["protocolVersion"] == "2025-11-25"


@pytest.mark.parametrize("params", [None, [], {}, {"protocolVersion": 7}, "x"])
async def test_a_handshake_that_makes_no_sense_is_refused_and_may_be_tried_again(
    params: object,
) -> None:
    visitor = Visitor()
    assert (await visitor.refusal("initialize", params)).code == -32602
    assert (await visitor.shake_hands())["protocolVersion"] == "2025-11-25"


async def test_discovery_needs_no_handshake_and_says_the_same_of_us() -> None:
    visitor = Visitor()
    visitor.be_modern()
    found = await visitor.ask("server/discover")
    assert found["supportedVersions"] == ["2026-07-28"]
    assert found["capabilities"] == {"tools": {"listChanged": True}}
    assert found["instructions"] == "Be kind."
    assert found["resultType"] == "complete"
    assert found["_meta"][META + "serverInfo"]["name"] == "switchboard"


async def test_a_connection_that_began_modern_refuses_a_handshake_and_names_its_versions() -> None:
    visitor = Visitor()
    visitor.be_modern()
    await visitor.ask("tools/list")
    visitor.meta = None
    refusal = await visitor.refusal(
        "initialize", {"protocolVersion": "2025-11-25", "capabilities": {}}
    )
    assert refusal.code == -32022
    assert list(refusal.data["supported"]) == ["2026-07-28"]
    assert refusal.data["requested"] == "2025-11-25"


async def test_a_connection_that_began_with_a_handshake_refuses_modern_requests() -> None:
    visitor = Visitor()
    await visitor.shake_hands()
    visitor.be_modern()
    assert (await visitor.refusal("tools/list")).code == -32600
    visitor.meta = None
    assert (await visitor.ask("tools/list"))["tools"]


@pytest.mark.parametrize(
    ("meta", "code"),
    [
        ({META + "protocolVersion": "2026-07-28"}, -32602),
        ({META + "protocolVersion": 7, META + "clientCapabilities": {}}, -32602),
        ({META + "protocolVersion": "2026-07-28", META + "clientCapabilities": []}, -32602),
        ({META + "protocolVersion": "2030-01-01", META + "clientCapabilities": {}}, -32022),
    ],
)
async def test_a_modern_request_introduces_itself_in_full_or_is_refused(
    meta: dict[str, object], code: int
) -> None:
    visitor = Visitor()
    refusal = await visitor.refusal("tools/list", {"_meta": meta})
    assert refusal.code == code
    if code == -32022:
        assert refusal.data["requested"] == "2030-01-01"


async def test_a_modern_connection_wants_the_introduction_in_every_request() -> None:
    visitor = Visitor()
    visitor.be_modern()
    await visitor.ask("server/discover")
    visitor.meta = None
    assert (await visitor.refusal("tools/list")).code == -32602


# Methods


async def test_ping_is_answered_in_the_handshake_era_even_before_the_handshake() -> None:
    visitor = Visitor()
    assert await visitor.ask("ping") == {}
    await visitor.shake_hands()
    assert await visitor.ask("ping") == {}
    modern = Visitor()
    modern.be_modern()
    assert (await modern.refusal("ping")).code == -32601


@pytest.mark.parametrize("method", ["resources/list", "prompts/list", "sampling/x", "", "tools"])
@pytest.mark.parametrize("modern", [True, False])
async def test_an_unknown_method_is_refused_by_name(method: str, modern: bool) -> None:
    visitor = Visitor()
    if modern:
        visitor.be_modern()
    else:
        await visitor.shake_hands()
    refusal = await visitor.refusal(method)
    assert refusal.code == -32601
    assert f"`{method}`" in refusal.message


async def test_calls_before_a_handshake_are_refused() -> None:
    assert (await Visitor().refusal("tools/call", {"name": "tool"})).code == -32600


@pytest.mark.parametrize("params", [{"name": "nobody"}, {}, {"name": 7}, [], None, "x"])
async def test_an_unknown_tool_or_a_wrong_call_is_an_error_of_the_protocol(params: object) -> None:
    visitor = Visitor()
    await visitor.shake_hands()
    assert (await visitor.refusal("tools/call", params)).code == -32602
    assert visitor.provider.invoked == []


async def test_parameters_that_are_null_count_as_absent() -> None:
    visitor = Visitor()
    await visitor.shake_hands()
    assert await visitor.ask_raw("ping", b"null") == b"{}"
    assert b'"tools"' in await visitor.ask_raw("tools/list", b"null")
    await visitor.ask("tools/call", {"name": "tool", "arguments": None})
    assert bytes(visitor.provider.invoked[0].arguments) == b"{}"


@requirement("S2.06")
async def test_tools_are_listed_on_one_page_with_their_schemas() -> None:
    visitor = Visitor()
    await visitor.shake_hands()
    [tool] = (await visitor.ask("tools/list", {}))["tools"]
    assert (tool["name"], tool["inputSchema"]) == ("tool", {"type": "object"})
    assert (await visitor.refusal("tools/list", {"cursor": "2"})).code == -32602
    modern = Visitor()
    modern.be_modern()
    listing = await modern.ask("tools/list")
    assert listing["tools"] == [tool]
    assert listing["resultType"] == "complete"
    assert listing["cacheScope"] == "private"


# Results


async def called(run: Run, *, modern: bool) -> dict[str, Any]:
    visitor = Visitor(run)
    if modern:
        visitor.be_modern()
    else:
        await visitor.shake_hands()
    return await visitor.ask("tools/call", {"name": "tool", "arguments": {}})


@pytest.mark.parametrize("modern", [True, False])
async def test_blocks_structure_and_failure_of_an_outcome_are_kept(modern: bool) -> None:
    async def run(_: Call) -> Outcome:
        return Outcome(
            blocks=(*outcome("first").blocks, WireBlock(Raw(b'{"type":"image","data":"x"}'))),
            structured=Raw(b'{"n":1}'),
            is_error=True,
        )

    result = await called(run, modern=modern)
    assert result["content"] == [
        {"type": "text", "text": "first"},
        {"type": "image", "data": "x"},
    ]
    assert result["structuredContent"] == {"n": 1}
    assert result["isError"] is True
    assert ("resultType" in result) == modern


@requirement("S2.81")
@pytest.mark.parametrize("modern", [True, False])
async def test_a_fault_is_a_tool_error_with_code_reason_hint_and_call_id(modern: bool) -> None:
    async def run(_: Call) -> Outcome:
        raise Fault(
            FaultCode.UNAVAILABLE,
            "child-exited",
            "it went away",
            hint="try again",
            details={"stderr": "oh no"},
            private="/secret/place",
        )

    result = await called(run, modern=modern)
    assert result["isError"] is True
    assert "structuredContent" not in result
    [block] = result["content"]
    assert block["text"] == "unavailable: it went away [s-1]\nhint: try again\nstderr: oh no"
    assert result["_meta"]["switchboard/error"] == {
        "code": "unavailable",
        "reason": "child-exited",
        "message": "it went away",
        "call_id": "s-1",
        "hint": "try again",
        "details": {"stderr": "oh no"},
    }
    assert "/secret/place" not in str(result)


@pytest.mark.parametrize("raw", [b'{"content":[],"b":1,"b":2}', b"{}", b"{ }", b"{  \n }"])
@pytest.mark.parametrize("modern", [True, False])
async def test_a_childs_whole_result_is_passed_on_in_either_era(raw: bytes, modern: bool) -> None:
    async def run(_: Call) -> Outcome:
        return Outcome(raw=Raw(raw))

    visitor = Visitor(run)
    if modern:
        visitor.be_modern()
        result = await visitor.ask("tools/call", {"name": "tool"})
        assert result["resultType"] == "complete"
        assert ("b" in result) == (b'"b"' in raw)
    else:
        await visitor.shake_hands()
        assert await visitor.ask_raw("tools/call", b'{"name":"tool"}') == raw


async def test_a_modern_childs_result_is_passed_on_to_a_modern_client_as_it_is() -> None:
    raw = b'{"resultType":"complete","content":[]}'

    async def run(_: Call) -> Outcome:
        return Outcome(raw=Raw(raw), is_modern=True)

    visitor = Visitor(run)
    visitor.be_modern()
    params = json.dumps({"name": "tool", "_meta": visitor.meta}).encode()
    assert await visitor.ask_raw("tools/call", params) == raw
