"""Headers that repeat arguments, on the wire and in the small."""

from typing import Any

import msgspec
import pytest
from edges.asking import asking, tool
from edges.board import Json, modern
from hypothesis import given
from hypothesis import strategies as st

from switchboard.surface.sink import Sink
from switchboard.wire.http_headers import text_of
from switchboard.wire.param_headers import MARK, Mark, agree, are_valid, marks, rendered

SCHEMA: Json = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "count": {"type": "integer", "x-mcp-header": "Count"},
        "deep": {"properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
        "plain": {"type": "string"},
    },
}


async def run(_: Sink) -> str:
    return "ran"


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({}, {}),
        ({"plain": "x"}, {}),
        ({"region": None}, {}),
        ({"region": "eu"}, {"Mcp-Param-Region": "eu"}),
        ({"region": "eu"}, {"MCP-PARAM-REGION": "eu"}),
        ({"region": "Hello"}, {"Mcp-Param-Region": "=?base64?SGVsbG8=?="}),
        ({"region": "SGVsbG8="}, {"Mcp-Param-Region": "SGVsbG8="}),
        ({"region": "=?base64?SGVsbG8="}, {"Mcp-Param-Region": "=?base64?SGVsbG8="}),
        ({"region": "hä"}, {"Mcp-Param-Region": "=?base64?aMOk?="}),
        ({"count": 42}, {"Mcp-Param-Count": "42"}),
        ({"count": 42}, {"Mcp-Param-Count": "42.0"}),
        ({"count": 42.0}, {"Mcp-Param-Count": "42"}),
        ({"deep": {"flag": True}}, {"Mcp-Param-Flag": "true"}),
        ({"deep": 5}, {}),
        ({"region": {"no": "text"}}, {}),
        ({}, {"Mcp-Param-Other": "x"}),
    ],
)
async def test_headers_that_agree_are_welcome(
    monkeypatch: pytest.MonkeyPatch, arguments: Json, headers: dict[str, str]
) -> None:
    assert await status(monkeypatch, arguments, headers) == (200, None)


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "eu"}, {}),
        ({"region": "eu"}, {"Mcp-Param-Region": "us"}),
        ({"region": "eu"}, {"Mcp-Param-Region": "EU"}),
        ({"region": ""}, {}),
        ({}, {"Mcp-Param-Region": "eu"}),
        ({"region": None}, {"Mcp-Param-Region": "null"}),
        ({"region": "Hello"}, {"Mcp-Param-Region": "=?base64?SGVsbG8?="}),
        ({"region": "Hello"}, {"Mcp-Param-Region": "=?base64?SGVs!!!bG8=?="}),
        ({"region": "Hello"}, {"Mcp-Param-Region": "SGVsbG8="}),
        ({"count": 42}, {"Mcp-Param-Count": "42.5"}),
        ({"count": 42}, {"Mcp-Param-Count": "4.2e1"}),
        ({"count": 42}, {"Mcp-Param-Count": "9" * 5000}),
        ({"count": 42}, {"Mcp-Param-Count": "forty-two"}),
        ({"deep": {"flag": True}}, {"Mcp-Param-Flag": "1"}),
        ({"region": {"no": "text"}}, {"Mcp-Param-Region": "text"}),
    ],
)
async def test_headers_that_do_not_agree_are_refused(
    monkeypatch: pytest.MonkeyPatch, arguments: Json, headers: dict[str, str]
) -> None:
    assert await status(monkeypatch, arguments, headers) == (400, -32020)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"region": {"type": "string", "x-mcp-header": "not a token"}}},
        {"properties": {"region": {"type": "string", "x-mcp-header": 5}}},
        {"properties": {"region": {"type": "number", "x-mcp-header": "Region"}}},
        {"properties": {"region": {"x-mcp-header": "Region"}}},
        {
            "properties": {
                "region": {"type": "string", "x-mcp-header": "Region"},
                "other": {"type": "string", "x-mcp-header": "REGION"},
            }
        },
        {"anyOf": [{"properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}]},
    ],
)
async def test_a_mark_that_is_not_valid_demands_nothing(
    monkeypatch: pytest.MonkeyPatch, schema: Json
) -> None:
    assert await status(monkeypatch, {"region": "eu"}, {}, schema) == (200, None)


async def test_a_repeated_header_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    body, headers = modern(tool("run", region="eu"))
    async with asking(monkeypatch, {"run": SCHEMA}, run=run) as board, board.client() as http:
        twice = [*headers.items(), ("mcp-param-region", "eu"), ("mcp-param-region", "eu")]
        response = await http.post(board.url, json=body, headers=twice)
    assert response.json()["error"]["code"] == -32020


async def test_the_handshake_era_has_no_such_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    async with asking(monkeypatch, {"run": SCHEMA}, run=run) as board, board.session() as http:
        response = await http.post(board.url, json=tool("run", region="eu"))
    assert response.json()["result"]


@pytest.mark.parametrize(
    ("method", "params", "name"),
    [
        ("prompts/get", {"name": "x"}, "y"),
        ("resources/read", {"uri": "x:1"}, "x:2"),
        ("resources/read", {"uri": "x:1"}, None),
        ("resources/read", {"uri": "ä"}, "ä"),
    ],
)
async def test_prompts_and_resources_are_named_in_a_header(
    monkeypatch: pytest.MonkeyPatch, method: str, params: Json, name: str | None
) -> None:
    request: Json = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    body, headers = modern(request)
    headers.pop("mcp-name", None)
    raw = [(key.encode(), value.encode()) for key, value in headers.items()]
    if name is not None:
        raw.append((b"mcp-name", name.encode("latin-1")))
    async with asking(monkeypatch) as board, board.client() as http:
        response = await http.post(board.url, json=body, headers=raw)
    assert (response.status_code, response.json()["error"]["code"]) == (400, -32020)


@given(st.one_of(st.text(), st.integers(-(2**63), 2**63), st.booleans()))
def test_what_a_client_writes_the_server_takes(value: Any) -> None:
    kind = {str: "string", int: "integer", bool: "boolean"}[type(value)]
    written = rendered(value)
    assert written is not None
    text = text_of(written)
    assert text is not None
    assert agree(Mark(("x",), "X", kind), value, text)


def test_marks_are_found_along_properties() -> None:
    assert [(mark.path, mark.header) for mark in marks(SCHEMA)] == [
        (("region",), "mcp-param-region"),
        (("count",), "mcp-param-count"),
        (("deep", "flag"), "mcp-param-flag"),
    ]
    assert are_valid(SCHEMA)
    assert MARK in msgspec.json.encode(SCHEMA)


async def status(
    monkeypatch: pytest.MonkeyPatch,
    arguments: Json,
    extra: dict[str, str],
    schema: Json | None = None,
) -> tuple[int, int | None]:
    body, headers = modern(tool("run", **arguments))
    async with (
        asking(monkeypatch, {"run": schema or SCHEMA}, run=run) as board,
        board.client(**headers) as http,
    ):
        response = await http.post(board.url, json=body, headers=extra)
    return response.status_code, response.json().get("error", {}).get("code")
