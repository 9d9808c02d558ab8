"""A listing asks whom it must, waits no longer than it may, and is announced when there is more."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from fakes.boards import echo_server, serving
from fakes.boards import server as server_entry
from relay.bridges import EraName, each_bridge, each_client_era
from relay.visiting import Guest, frank_entry
from support.mcp_stdio import text_of
from support.workspace import Json, child_command
from switchboard.children.listings import collector
from switchboard.children.schema import ServerEntry
from switchboard.core.events import ChildStarted

# Begins to read when a file is there.
LATE = (
    "import pathlib, runpy, sys, time\n"
    "while not pathlib.Path(sys.argv[1]).exists():\n"
    "    time.sleep(0.01)\n"
    "sys.argv = sys.argv[2:]\n"
    "sys.path.insert(0, str(pathlib.Path(sys.argv[0]).parent))\n"
    "runpy.run_path(sys.argv[0], run_name='__main__')\n"
)


def late_entry(era: EraName, gate: Path) -> ServerEntry:
    """A child that hangs until there is a file."""
    command = child_command("frank_child", era, "late")
    settings: Json = {"expose": "tools", "tool_prefix": "late_", "protocol": era}
    return server_entry("late", [sys.executable, "-c", LATE, str(gate), *command[1:]], **settings)


@each_client_era
async def test_a_board_of_suites_lists_its_tools_without_starting_a_child(
    tmp_path: Path, client_era: EraName
) -> None:
    async with serving(tmp_path, echo_server("one"), echo_server("two")) as desk:
        assert await Guest(desk, client_era).names() == ["one_suite", "two_suite"]
        assert desk.events.of(ChildStarted) == []


@each_client_era
async def test_only_children_that_show_their_tools_are_started_by_the_listing_of_tools(
    tmp_path: Path, client_era: EraName
) -> None:
    async with serving(tmp_path, echo_server("one"), frank_entry("modern", "frank")) as desk:
        names = await Guest(desk, client_era).names()
        assert names[0] == "one_suite"
        assert "frank_heard" in names
        assert [event.child for event in desk.events.of(ChildStarted)] == ["frank"]


@each_bridge
async def test_a_child_that_hangs_is_left_out_and_announced_when_it_has_listed(
    tmp_path: Path, client_era: EraName, child_era: EraName, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collector, "PATIENCE_S", 1.5)
    gate = tmp_path / "gate"
    servers = frank_entry(child_era, "frank"), late_entry(child_era, gate)
    async with serving(tmp_path, *servers) as desk:
        guest = Guest(desk, client_era)
        listening: asyncio.Future[Json] | None = None
        if client_era == "modern":
            wanted = {"notifications": {"toolsListChanged": True}}
            listening = asyncio.ensure_future(guest.ask("subscriptions/listen", wanted))
        assert not any(name.startswith("late_") for name in await guest.names())
        began = time.monotonic()
        assert "frank_heard" in await guest.names()
        assert text_of(await guest.call("frank_heard"))
        # Nobody waits a second time for who was late, and least of all a call to another.
        assert time.monotonic() - began < 1.2
        gate.touch()
        await guest.until(lambda: "notifications/tools/list_changed" in dict(guest.told))
        assert "late_heard" in await guest.names()
        assert text_of(await guest.call("late_heard"))
        if listening is not None:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


@each_client_era
async def test_a_call_waits_for_a_child_that_is_late_only_if_nobody_else_has_the_tool(
    tmp_path: Path, client_era: EraName
) -> None:
    gate = tmp_path / "gate"
    servers = frank_entry("modern", "frank"), late_entry("handshake", gate)
    async with serving(tmp_path, *servers) as desk:
        guest = Guest(desk, client_era)
        calling = asyncio.ensure_future(guest.call("late_heard"))
        await desk.events.wait_for(ChildStarted)
        async with asyncio.timeout(5):
            assert text_of(await guest.call("frank_heard"))
        assert not calling.done()
        gate.touch()
        assert text_of(await calling)


@each_bridge
async def test_a_guarded_call_waits_for_the_child_that_its_tool_was_recalled_of(
    tmp_path: Path, client_era: EraName, child_era: EraName, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = tmp_path / "gate"
    late = late_entry(child_era, gate)
    gate.touch()
    async with serving(tmp_path, late, is_guarded=True) as desk:
        assert text_of(await Guest(desk, client_era).call("late_dressed")) == "in None"
    gate.unlink()
    monkeypatch.setattr(collector, "PATIENCE_S", 0.3)
    async with serving(tmp_path, late, is_guarded=True) as desk:
        guest = Guest(desk, client_era)
        assert "late_dressed" in await guest.names()
        calling = asyncio.ensure_future(guest.call("late_dressed"))
        await asyncio.wait({calling}, timeout=0.8)
        gate.touch()
        assert text_of(await calling) == "in None"


@each_bridge
async def test_a_child_that_comes_back_with_other_things_is_announced(
    tmp_path: Path, client_era: EraName, child_era: EraName
) -> None:
    kinds = ("tools", "prompts", "resources")
    async with serving(tmp_path, frank_entry(child_era, "frank")) as desk:
        guest = Guest(desk, client_era)
        listening: asyncio.Future[Json] | None = None
        if client_era == "modern":
            wanted = {"notifications": {f"{kind}ListChanged": True for kind in kinds}}
            listening = asyncio.ensure_future(guest.ask("subscriptions/listen", wanted))
        for kind in kinds:
            await guest.call("frank_grow", {"kind": kind})
        grown = {kind: len((await guest.ask(f"{kind}/list"))[kind]) for kind in kinds}
        guest.told.clear()
        await guest.call("frank_die")
        assert text_of(await guest.call("frank_heard"))
        changed = {f"notifications/{kind}/list_changed" for kind in kinds}
        await guest.until(lambda: changed <= set(dict(guest.told)))
        for kind in kinds:
            assert len((await guest.ask(f"{kind}/list"))[kind]) == grown[kind] - 1
        guest.told.clear()
        await guest.call("frank_die")
        assert text_of(await guest.call("frank_heard"))
        await guest.ask("prompts/list")
        await guest.ask("resources/list")
        # It is now what clients were told last.
        assert guest.told == []
        if listening is not None:
            listening.cancel()
            await asyncio.gather(listening, return_exceptions=True)


@each_client_era
async def test_a_child_that_cannot_be_started_is_left_out_and_the_rest_is_listed(
    tmp_path: Path, client_era: EraName
) -> None:
    settings: Json = {"expose": "tools"}
    broken = server_entry("broken", [str(tmp_path / "nowhere")], **settings)
    async with serving(tmp_path, broken, frank_entry("handshake", "frank")) as desk:
        guest = Guest(desk, client_era)
        assert "frank_heard" in await guest.names()
        assert len((await guest.ask("prompts/list"))["prompts"]) == 3
        assert text_of(await guest.call("frank_heard"))


@each_bridge
async def test_a_suite_relays_prompts_and_resources_too_and_can_turn_that_off(
    tmp_path: Path, client_era: EraName, child_era: EraName
) -> None:
    shown = frank_entry(child_era, "shown", expose="suite")
    hidden = frank_entry(child_era, "hidden", expose="suite", relay=False)
    async with serving(tmp_path, shown, hidden) as desk:
        guest = Guest(desk, client_era)
        assert await guest.names() == ["shown_suite", "hidden_suite"]
        prompts = [each["name"] for each in (await guest.ask("prompts/list"))["prompts"]]
        assert prompts == ["prompt_0", "prompt_1", "prompt_2"]
        [read] = (await guest.ask("resources/read", {"uri": "frank://1"}))["contents"]
        assert read["text"] == "shown: frank://1"
