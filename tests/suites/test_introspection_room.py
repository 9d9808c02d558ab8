"""An introspection fits the client that reads it, and says what it leaves out."""

import json
from pathlib import Path
from typing import Any, Literal

import pytest
from msgspec import UNSET, Raw
from msgspec.structs import replace

from fakes.boards import Desk, server, serving
from fakes.calls import a_session
from support.requirements import requirement
from support.tokenizer import tokens
from support.workspace import child_command
from switchboard.children.exposure import Introspection, SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.core.calls.call import Call, TextBlock
from switchboard.core.faults import FaultCode
from switchboard.core.text.tokens import estimated_tokens
from switchboard.providers.suites.introspection.answer import ShownSubtool, all_tools, chosen_tools
from switchboard.results.room import UNBOUNDED, UNKNOWN, Room

AUTO = Introspection(mode="auto")
CODEX = "codex-mcp-client 0.166.0"
CLAUDE = "claude-code 2.1.325"


def wide(count: int, letters: int, instructions: int = 0) -> ServerEntry:
    sizes = [str(each) for each in (count, letters, instructions) if each]
    return server("wide", child_command("wide_child", *sizes))


async def introspect(desk: Desk, client: str = "", session: str = "session", **more: Any) -> str:
    """Introspect as a client of this name would."""
    with desk.runtime.boards.lease() as board:
        call = Call(
            id="c-1",
            session=replace(a_session(session), client=client),
            tool=board.catalog.tools["wide_suite"],
            arguments=Raw(json.dumps({"action": "introspect", **more}).encode()),
        )
        [block] = (await board.pipeline(call)).blocks
    assert isinstance(block, TextBlock)
    return block.text


@requirement("S2.20", "S2.46")
async def test_auto_gives_schemas_while_they_fit_4000_tokens(tmp_path: Path) -> None:
    async def shown(count: int, mode: Literal["auto", "full"] = "auto") -> str:
        setting = Introspection(mode=mode)
        async with serving(tmp_path, wide(count, 800), introspection=setting) as desk:
            return await introspect(desk)

    each = tokens(await shown(8)) / 8
    fits, too_much = int(3_600 / each), int(4_800 / each)
    assert 3_000 < tokens(await shown(too_much, "full")) * fits / too_much < 4_000
    assert all("inputSchema" in tool for tool in json.loads(await shown(fits))["tools"])
    assert 3_000 < tokens(await shown(fits)) <= 4_000
    assert not any("inputSchema" in tool for tool in json.loads(await shown(too_much))["tools"])


@requirement("S2.20", "S2.43")
async def test_auto_gives_names_and_summaries_of_all_above_that(tmp_path: Path) -> None:
    async with serving(tmp_path, wide(30, 800), introspection=AUTO) as desk:
        shown = json.loads(await introspect(desk))
        assert [tool["name"] for tool in shown["tools"]] == [f"do_thing_{n}" for n in range(30)]
        assert all(list(tool) == ["name", "summary"] for tool in shown["tools"])
        assert shown["tools"][0]["summary"].startswith("Does thing 0.")
        assert '{"action": "introspect", "subtool": "NAME,NAME"}' in shown["note"]


@requirement("S2.46", "S2.26")
@pytest.mark.parametrize("mode", ["summary", "full"])
async def test_the_modes_of_the_seed_give_schemas_to_whoever_does_not_cut_them(
    mode: Any, tmp_path: Path
) -> None:
    setting = Introspection(mode=mode)
    async with serving(tmp_path, wide(30, 800), introspection=setting) as desk:
        for client in ("", CLAUDE, "cursor 1.0"):
            tools = json.loads(await introspect(desk, client))["tools"]
            assert all("inputSchema" in tool for tool in tools)
        assert "note" in json.loads(await introspect(desk, CODEX))


@requirement("S2.43")
@pytest.mark.parametrize(
    ("client", "room"),
    [
        ("anyone 1", Room(40_000, 10_000)),
        (CLAUDE, Room(40_000, 20_000)),
        (CODEX, Room(10_000, 10_000)),
    ],
)
@pytest.mark.parametrize("mode", ["summary", "full", "auto"])
@pytest.mark.parametrize("count", [60, 2_000])
async def test_nobody_is_sent_what_a_host_would_cut(
    client: str, room: Room, mode: Any, count: int, tmp_path: Path
) -> None:
    setting = Introspection(mode=mode)
    async with serving(tmp_path, wide(count, 700, 4_000), introspection=setting) as desk:
        for more in ({}, {}, {"subtool": "*"}, {"subtool": "do_thing_1,do_thing_2"}):
            text = await introspect(desk, client, **more)
            assert len(json.dumps(text).encode()) <= (room.letters or 0)
            assert tokens(text) <= (room.tokens or 0)
        every = json.loads(await introspect(desk, client))
        names = [tool["name"] for tool in every["tools"]]
        assert names[:60] == [f"do_thing_{n}" for n in range(60)]
        if len(names) < count:
            left = count + 1 - len(names)
            assert f"{left} more names are left out" in every["note"]


@requirement("S2.40")
async def test_several_subtools_are_asked_for_with_commas_or_a_pattern(tmp_path: Path) -> None:
    async with serving(tmp_path, wide(12, 100)) as desk:
        some = json.loads(await introspect(desk, subtool="do_thing_3, do_thing_1,do_thing_3"))
        assert [tool["name"] for tool in some["tools"]] == ["do_thing_3", "do_thing_1"]
        assert some["tools"][0]["annotations"] == {"readOnlyHint": True}
        some = json.loads(await introspect(desk, subtool="do_thing_1*"))
        assert [tool["name"] for tool in some["tools"]] == [
            *("do_thing_1", "do_thing_10", "do_thing_11")
        ]


@requirement("S2.44", "S2.48")
async def test_what_is_hidden_stays_hidden_among_several(tmp_path: Path) -> None:
    own = {"wide": SuiteSettings(deny=("*_1",))}
    async with serving(tmp_path, wide(3, 100), suites=own) as desk:
        fault = await desk.fault("wide_suite", action="introspect", subtool="do_thing_0,do_thing_1")
        assert (fault.code, fault.reason) == (FaultCode.PERMISSION_DENIED, "subtool-not-allowed")
        some = json.loads(await introspect(desk, subtool="do_*"))
        assert [tool["name"] for tool in some["tools"]] == ["do_thing_0", "do_thing_2"]
        for unknown in ("do_thing_0,nothing", "no_*"):
            fault = await desk.fault("wide_suite", action="introspect", subtool=unknown)
            assert (fault.code, fault.reason) == (FaultCode.NOT_FOUND, "unknown-subtool")


async def test_instructions_come_with_the_first_introspection_of_a_session(tmp_path: Path) -> None:
    async with serving(tmp_path, wide(2, 100, 3_000)) as desk:
        first = json.loads(await introspect(desk, subtool="do_thing_0"))
        assert len(first["instructions"]) == 3_000
        assert first["instructions"].startswith("Begin with thing 0. ")
        assert "instructions" not in json.loads(await introspect(desk))
        assert "instructions" in json.loads(await introspect(desk, session="another"))


def test_one_subtool_is_shortened_until_it_fits() -> None:
    words = "what this is about and what it is not " * 300
    schema = {
        "type": "object",
        "properties": {
            "description": {"type": "string", "description": words},
            "deep": {"type": "object", "properties": {"a": {"enum": [1, 2], "title": words}}},
        },
        "required": ["deep"],
    }
    tool = ShownSubtool("big", "Does it.", Raw(json.dumps(schema).encode()), "Big")
    text = chosen_tools([tool, ShownSubtool("next")], host=Room(letters=1_000))
    told = json.loads(text)
    assert len(json.dumps(text)) <= 1_000
    assert told["tools"] == [
        {
            "name": "big",
            "summary": "Does it.",
            "inputSchema": {
                "type": "object",
                "properties": {
                    "description": {"type": "string"},
                    "deep": {"type": "object", "properties": {"a": {"enum": [1, 2]}}},
                },
                "required": ["deep"],
            },
        }
    ]
    assert "`big` is shortened" in told["note"]
    assert told["note"].endswith("Ask for these again: next")


def test_a_long_schema_of_what_comes_back_is_the_first_to_go() -> None:
    answers = {"type": "object", "description": "x" * 2_000}
    hints = Raw(b'{"readOnlyHint":true}')
    tool = ShownSubtool(
        *("place", "Finds places.", Raw(b'{"type":"object"}'), "Places", hints),
        Raw(json.dumps(answers).encode()),
    )
    told = json.loads(chosen_tools([tool], host=Room(letters=1_000)))
    assert told["tools"] == [
        {
            "name": "place",
            "summary": "Finds places.",
            "inputSchema": {"type": "object"},
            "title": "Places",
            "annotations": {"readOnlyHint": True},
        }
    ]


def test_without_bounds_nothing_is_left_out() -> None:
    tools = [ShownSubtool(f"tool_{n}", "x" * 500, Raw(b"{}")) for n in range(500)]
    text = all_tools(tools, most_chars=160, with_schemas=UNBOUNDED, host=UNBOUNDED)
    assert len(json.loads(text)["tools"]) == 500
    assert "note" not in json.loads(text)
    bounded = all_tools(tools, most_chars=160, with_schemas=UNKNOWN, host=UNKNOWN)
    assert json.loads(bounded)["tools"][0].get("inputSchema", UNSET) is UNSET


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"type": "object", "properties": {"path": {"type": "string"}}}) * 40,
        "The quick brown fox jumps over the lazy dog, and comes back the next day. " * 30,
        json.dumps([{"id": n, "ratio": n / 7, "ok": True} for n in range(200)]),
        "Die Größe der Datei überschreitet die zulässige Grenze; bitte kürzen. " * 20,
        "文件的大小超过了允许的限制。请缩短它。" * 30,
    ],
    ids=["schema", "prose", "rows", "german", "chinese"],
)
def test_tokens_are_estimated_and_not_far_off(text: str) -> None:
    real = tokens(text)
    assert real * 0.8 <= estimated_tokens(text) <= real * 1.25
