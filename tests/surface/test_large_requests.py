"""One request keeps nobody waiting and fills no memory, however much it holds."""

from pathlib import Path

import pytest
from msgspec import Raw

from support.mcp_stdio import RpcError, modern_meta
from support.measuring import unmeasured
from support.requirements import attack
from support.workspace import Json, Workspace
from surface.hosts import hosting, memory_kb
from switchboard.children.inbound.sizes import MOST_TEMPLATE_LETTERS, MOST_TEMPLATES
from switchboard.children.listings.listing import fetch_listing, listing_of
from switchboard.core.faults import Fault
from switchboard.core.text.decoded_size import has_many_texts
from switchboard.wire.eras import CLIENT_CAPABILITIES_KEY
from switchboard.wire.messages import INVALID_PARAMS, encode

MANY = {f"k{number}": 0 for number in range(300_000)}
# Little as text, and hundreds of megabytes as values.
WIDE: Json = {"experimental": {"x": [{}] * 1_000_000}}
MEGABYTES_OF_GROWTH = 30


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.env = unmeasured(made.env)
    made.echo_child()
    return made


@attack("T71")
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("ping", {"_meta": MANY}),
        ("tools/list", {"_meta": MANY}),
        ("tools/call", {"name": "echo_suite", "arguments": MANY}),
        ("tools/call", {"name": "echo_suite", "inputResponses": MANY}),
    ],
)
async def test_a_request_of_too_many_members_is_refused(
    method: str, params: Json, workspace: Workspace
) -> None:
    async with hosting(workspace) as client:
        with pytest.raises(RpcError, match="more than 200,000 members") as refused:
            await client.request(method, params)
        assert refused.value.code == INVALID_PARAMS
        assert await client.tools()


@attack("T71")
async def test_what_a_client_can_do_fills_no_memory(workspace: Workspace) -> None:
    async with hosting(workspace) as client:
        before = memory_kb(client.pid, "VmHWM")
        with pytest.raises(RpcError, match="capabilities have more than 65,536 bytes"):
            await client.initialize(capabilities=WIDE)
        grown_mb = (memory_kb(client.pid, "VmHWM") - before) / 1024
        assert grown_mb < MEGABYTES_OF_GROWTH


@attack("T71")
async def test_a_modern_client_says_what_it_can_do_in_few_words(workspace: Workspace) -> None:
    async with hosting(workspace, handshake=False) as client:
        client.era_meta = {**modern_meta(), CLIENT_CAPABILITIES_KEY: WIDE}
        with pytest.raises(RpcError, match="capabilities have more than 65,536 bytes"):
            await client.request("tools/list")


def test_a_long_text_is_not_taken_for_many() -> None:
    text = '{"time": "12:00", "text": "a, b"}\n' * 100_000
    assert not has_many_texts(encode({"text": text}))
    assert has_many_texts(encode(MANY | {"a\\" + key: 0 for key in MANY}))


@attack("T70")
@pytest.mark.parametrize("method", ["resources/read", "resources/subscribe"])
async def test_an_endless_uri_is_refused(method: str, workspace: Workspace) -> None:
    async with hosting(workspace) as client:
        with pytest.raises(RpcError) as refused:
            await client.request(method, {"uri": "a://" + "x" * 1_000_000})
        assert refused.value.code == INVALID_PARAMS
        assert "8192" in refused.value.message


@attack("T87")
@pytest.mark.parametrize(
    "ref",
    [
        {"type": "ref/resource", "uri": "a://" + "x" * 3_000_000},
        {"type": "ref/prompt", "name": "x" * 3_000_000},
    ],
)
async def test_a_completion_of_an_endless_name_is_refused(ref: Json, workspace: Workspace) -> None:
    """Attempted: every template is compared with it, which took longer than anybody waits."""
    async with hosting(workspace) as client:
        params = {"ref": ref, "argument": {"name": "x", "value": ""}}
        with pytest.raises(RpcError) as refused:
            await client.request("completion/complete", params)
        assert refused.value.code == INVALID_PARAMS
        assert "8192" in refused.value.message


@attack("T87")
async def test_a_client_has_a_short_name(workspace: Workspace) -> None:
    async with hosting(workspace, handshake=False) as client:
        info = {"name": "x" * 1_000_000, "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": info}
        with pytest.raises(RpcError) as refused:
            await client.request("initialize", params)
        assert refused.value.code == INVALID_PARAMS


@attack("T70")
def test_a_template_that_takes_long_to_compare_is_left_out() -> None:
    short, long = "a://{x}", "{x}" * MOST_TEMPLATE_LETTERS
    entries = [Raw(encode({"uriTemplate": each, "name": each[:9]})) for each in (short, long)]
    listing = listing_of("templates", entries)
    assert list(listing.entries) == [short]
    assert listing.oversized == (long,)


@attack("T70")
async def test_more_templates_than_anybody_can_be_made_to_compare_are_refused() -> None:
    async def ask(_: bytes) -> Raw:
        page = [{"uriTemplate": f"a://{number}/{{x}}"} for number in range(MOST_TEMPLATES + 1)]
        return Raw(encode({"resourceTemplates": page}))

    with pytest.raises(Fault, match="more than 1,000 entries"):
        await fetch_listing("templates", ask)
