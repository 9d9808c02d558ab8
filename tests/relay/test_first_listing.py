"""Prompts and resources of servers that never ran: nobody waits long, and nothing is forgotten."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from fakes.boards import Desk, serving
from fakes.boards import server as server_entry
from relay.bridges import EraName, each_client_era
from relay.test_listing import LATE
from relay.visiting import Guest, frank_entry
from support.mcp_stdio import text_of
from support.processes import mentioning, until_true
from support.workspace import Json, child_command
from switchboard.children.listings import collector, turns
from switchboard.children.schema import ServerEntry

SHORT_S = 0.3
TOGETHER_S = 0.05
PATIENCE = 20.0
# So many prompts has one server of the tests.
OF_ONE = 3
PROMPTS, RESOURCES = "notifications/prompts/list_changed", "notifications/resources/list_changed"


def late_suite(name: str, gate: Path, child: str = "frank_child") -> ServerEntry:
    """A suite whose server hangs until there is a file."""
    words = ("modern", name) if child == "frank_child" else (name,)
    command = child_command(child, *words)
    settings: Json = {"protocol": "modern"} if child == "frank_child" else {}
    return server_entry(name, [sys.executable, "-c", LATE, str(gate), *command[1:]], **settings)


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "CONTENTS_PATIENCE_S", SHORT_S)
    monkeypatch.setattr(collector, "TOGETHER_S", TOGETHER_S)


@asynccontextmanager
async def attentive(desk: Desk, era: EraName, session: str = "guest") -> AsyncGenerator[Guest]:
    """A client that is told of every listing that changes, in the way of its era."""
    guest = Guest(desk, era, session=session)
    if era == "handshake":
        yield guest
        return
    wanted = {"promptsListChanged": True, "resourcesListChanged": True}
    listening = asyncio.ensure_future(guest.ask("subscriptions/listen", {"notifications": wanted}))
    await guest.until(lambda: "notifications/subscriptions/acknowledged" in dict(guest.told))
    try:
        yield guest
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def listed(guest: Guest, count: int) -> Json:
    """Ask for prompts until there are so many."""
    return await asked(guest, lambda found: len(found["prompts"]) == count)


async def asked(guest: Guest, is_enough: Callable[[Json], bool]) -> Json:
    """Ask for prompts until it is enough."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = await guest.ask("prompts/list")
            if is_enough(found):
                return found
            await asyncio.sleep(0.02)


@each_client_era
async def test_who_lists_prompts_waits_little_for_a_slow_server_and_is_told_when_it_has_listed(
    tmp_path: Path, client_era: EraName
) -> None:
    gate = tmp_path / "gate"
    servers = frank_entry("modern"), late_suite("late", gate)
    async with serving(tmp_path, *servers) as desk, attentive(desk, client_era) as guest:
        first = await listed(guest, OF_ONE)
        if client_era == "modern":
            # It lacks something, so it is not worth keeping.
            assert first["ttlMs"] == 0
        gate.touch()
        await guest.until(lambda: PROMPTS in dict(guest.told))
        whole = await listed(guest, 2 * OF_ONE)
        if client_era == "modern":
            assert whole["ttlMs"] > 0


@each_client_era
async def test_every_session_that_lacks_something_is_told(
    tmp_path: Path, client_era: EraName
) -> None:
    gate = tmp_path / "gate"
    async with (
        serving(tmp_path, late_suite("late", gate)) as desk,
        attentive(desk, client_era, "one") as one,
        attentive(desk, client_era, "two") as two,
    ):
        for guest in (one, two):
            assert (await guest.ask("resources/list"))["resources"] == []
        gate.touch()
        for guest in (one, two):
            await guest.until(lambda: RESOURCES in dict(guest.told))  # noqa: B023 - awaited here
            assert (await guest.ask("resources/list"))["resources"]


@each_client_era
async def test_who_wants_a_prompt_or_a_resource_waits_for_the_server_that_has_it(
    tmp_path: Path, client_era: EraName
) -> None:
    gate = tmp_path / "gate"
    async with serving(tmp_path, late_suite("late", gate)) as desk:
        guest = Guest(desk, client_era)
        assert (await guest.ask("prompts/list"))["prompts"] == []
        getting = asyncio.ensure_future(
            guest.ask("prompts/get", {"name": "prompt_0", "arguments": {"who": "Ada"}})
        )
        reading = asyncio.ensure_future(guest.ask("resources/read", {"uri": "frank://1"}))
        following = asyncio.ensure_future(guest.ask("resources/read", {"uri": "frank://item/7"}))
        # As long as for tools, and longer than who only asks what there is.
        await asyncio.wait({getting, reading, following}, timeout=3 * SHORT_S)
        assert not any(each.done() for each in (getting, reading, following))
        gate.touch()
        [message] = (await getting)["messages"]
        assert message["content"]["text"] == "prompt_0 for Ada"
        assert (await reading)["contents"]
        assert (await following)["contents"]


async def test_a_server_without_prompts_is_no_news(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    servers = late_suite("late", gate, "echo_child")
    async with serving(tmp_path, servers) as desk, attentive(desk, "modern") as guest:
        assert (await guest.ask("prompts/list"))["ttlMs"] == 0
        gate.touch()
        await asked(guest, lambda found: found["ttlMs"] > 0)
        # Whatever was to be told has been by now.
        await asyncio.sleep(2 * TOGETHER_S)
        assert PROMPTS not in dict(guest.told)


async def test_servers_that_are_only_listed_start_a_few_at_a_time_and_calls_do_not_wait_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "AT_ONCE", 2)
    monkeypatch.setattr(turns, "TURN_S", PATIENCE)
    gate = tmp_path / "gate"
    suites = [late_suite(f"number{each}", gate) for each in range(5)]

    def begun() -> int:
        return len(mentioning(str(gate)))

    async with serving(tmp_path, *suites) as desk:
        guest = Guest(desk, "modern")
        for kind in ("prompts", "resources", "resources/templates"):
            await guest.ask(f"{kind}/list")
        await until_true(lambda: begun() == 2)
        calling = asyncio.ensure_future(guest.call("number4_suite", {"action": "introspect"}))
        await until_true(lambda: begun() == 3)
        gate.touch()
        assert "heard" in text_of(await calling)
        await listed(guest, len(suites) * OF_ONE)


async def test_a_server_that_takes_its_time_to_start_gives_its_turn_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "AT_ONCE", 1)
    monkeypatch.setattr(turns, "TURN_S", SHORT_S)
    gate = tmp_path / "gate"
    servers = late_suite("late", gate), frank_entry("modern", expose="suite")
    async with serving(tmp_path, *servers) as desk:
        guest = Guest(desk, "modern")
        await listed(guest, OF_ONE)
        gate.touch()
        await listed(guest, 2 * OF_ONE)
