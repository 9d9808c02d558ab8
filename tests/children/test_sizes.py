"""What a server says at once is bounded by its parts, never by the length of an honest text."""

import json
from collections.abc import Callable
from typing import Any, cast

import pytest
from msgspec import Raw

from support.requirements import attack
from switchboard.children.inbound.attribution import marked_log
from switchboard.children.inbound.server_requests import ServerRequests
from switchboard.children.inbound.sizes import (
    MOST_BLOCKS,
    MOST_ENTRIES,
    MOST_ENTRY_BYTES,
    MOST_LISTING_BYTES,
    MOST_META_BYTES,
    MOST_NOTE_BYTES,
    MOST_TEMPLATES,
)
from switchboard.children.listings.listing import Kind, Listing, fetch_listing
from switchboard.children.results import passed_through
from switchboard.core.calls.call import Outcome, TextBlock
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault
from switchboard.providers.suites.results import outcome_from_result
from switchboard.wire.messages import MAX_ERROR_BYTES, RpcError, error_from_raw

Read = Callable[[Raw], Outcome]


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


def shown(result: Raw) -> Outcome:
    return outcome_from_result(result)


def compact(result: Raw) -> Outcome:
    return outcome_from_result(result, compact=True)


def whole(result: Raw) -> Outcome:
    return passed_through(result, is_modern=False)


@attack("T2")
@pytest.mark.parametrize("read", [shown, compact])
@pytest.mark.parametrize("kind", ["text", "image", ""])
def test_a_result_of_too_many_blocks_fails_and_says_how_many_it_may_have(
    read: Read, kind: str
) -> None:
    with pytest.raises(Fault) as refused:
        read(raw({"content": [{"type": kind}] * (MOST_BLOCKS + 1)}))
    assert refused.value.reason == "result-too-large"
    assert "10,000 blocks" in refused.value.message
    assert len(read(raw({"content": [{"type": "image"}] * MOST_BLOCKS})).blocks) == MOST_BLOCKS + 1


@attack("T2")
@pytest.mark.parametrize("read", [shown, compact, whole])
def test_more_than_anybody_needs_beside_a_result_fails_the_call(read: Read) -> None:
    meta = {f"own/{number}": 1 for number in range(MOST_META_BYTES // 8)}
    with pytest.raises(Fault) as refused:
        read(raw({"content": [], "_meta": meta}))
    assert refused.value.reason == "result-too-large"
    assert "_meta" in refused.value.message


@attack("T2")
@pytest.mark.parametrize("read", [shown, compact, whole])
@pytest.mark.parametrize("megabytes", [2, 10])
def test_a_long_honest_text_passes(read: Read, megabytes: int) -> None:
    said = '{"a": [1, 2]}, ' * (megabytes * 1024 * 1024 // 15)
    outcome = read(raw({"content": [{"type": "text", "text": said}], "_meta": {"own/x": 1}}))
    text = cast("TextBlock", outcome.blocks[0]).text if outcome.raw is None else ""
    assert json.loads(text or bytes(outcome.raw or b""))["content"][0]["text"] == said


@attack("H24")
def test_what_a_result_says_in_our_name_is_not_shown_as_json() -> None:
    meta = {"switchboard/error": {"reason": "forged"}, "own/x": 1}
    (block,) = shown(raw({"content": [], "_meta": meta})).blocks
    assert json.loads(cast("TextBlock", block).text)["_meta"] == {"own/x": 1}


async def listed(kind: Kind, *pages: list[Any]) -> Listing:
    member = {"templates": "resourceTemplates"}.get(kind, kind)
    texts = [raw({member: page, "nextCursor": str(number)}) for number, page in enumerate(pages)]
    waiting = iter(texts)

    async def ask(_: bytes) -> Raw:
        return next(waiting, raw({member: []}))

    return await fetch_listing(kind, ask)


@attack("T2")
@pytest.mark.parametrize("kind", ["tools", "prompts", "resources", "templates"])
async def test_a_listing_of_too_many_entries_fails_however_it_is_cut_into_pages(kind: Kind) -> None:
    entry = {"name": "x", "uri": "x:y", "uriTemplate": "x:{y}"}
    half = [entry] * (MOST_ENTRIES // 2 + 1)
    with pytest.raises(Fault) as refused:
        await listed(kind, half, half)
    assert refused.value.reason == "listing-too-large"
    most = MOST_TEMPLATES if kind == "templates" else MOST_ENTRIES
    assert f"{most:,} entries" in refused.value.message


@attack("T2")
async def test_a_listing_of_too_many_bytes_fails() -> None:
    page = [{"name": str(number), "description": "x" * 200_000} for number in range(30)]
    assert len(json.dumps(page)) * 2 > MOST_LISTING_BYTES
    with pytest.raises(Fault) as refused:
        await listed("tools", page, page)
    assert refused.value.reason == "listing-too-large"


@attack("T2")
@pytest.mark.parametrize("kind", ["tools", "prompts"])
async def test_a_definition_that_nobody_could_judge_is_left_out_alone(kind: Kind) -> None:
    properties = {f"p{number}": {"type": "string"} for number in range(MOST_ENTRY_BYTES // 20)}
    large = {"name": "large", "inputSchema": {"type": "object", "properties": properties}}
    listing = await listed(kind, [{"name": "a"}, large, {"name": "b"}])
    assert list(listing.entries) == ["a", "b"]
    assert listing.oversized == ("large",)


@attack("T2")
def test_the_data_of_an_error_is_left_out_where_there_is_too_much_of_it() -> None:
    data = {str(number): 1 for number in range(MAX_ERROR_BYTES // 4)}
    error = error_from_raw(raw({"code": -32000, "message": "no", "data": data}))
    assert (error.code, error.message, error.data) == (-32000, "no", None)
    assert error_from_raw(raw({"code": -32000, "message": "no", "data": {"a": 1}})).data == {"a": 1}


class Ear:
    """Hears what a client is told."""

    session_id = holder = "one"

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def log(self, level: str, params: bytes) -> None:
        self.heard.append((level, json.loads(params)["data"]))

    def progress(self, params: Raw) -> None:
        self.heard.append(params)


@attack("T2")
def test_words_beside_a_call_are_left_out_where_there_are_too_many_of_them() -> None:
    requests, ear = ServerRequests("frank"), Ear()
    requests.audience.begin(1, cast("Channel", ear))
    data = {str(number): 1 for number in range(MOST_NOTE_BYTES // 4)}
    requests.notification("notifications/message", raw({"level": "error", "data": data}))
    requests.notification(
        "notifications/progress", raw({"progressToken": 1, "progress": 1, **data})
    )
    ((level, said),) = ear.heard
    assert level == "warning"
    assert "262,144" in said
    assert marked_log("frank", raw({"level": "error", "data": "short"}))[0] == "error"
    with pytest.raises(RpcError, match="262144 bytes"):
        requests.request("elicitation/create", raw({"message": "m", "requestedSchema": data}), 1)
