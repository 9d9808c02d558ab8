"""Settings are read again when a file changes; whatever is wrong with them, the old ones stay."""

import asyncio
from pathlib import Path

import pytest

from fakes.boards import Desk, echo_server, serving, settings_for
from support.processes import alive, until_true
from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.core.events import ChildExited, ChildStarted, ConfigRejected
from switchboard.daemon.board.reload import Reloader
from switchboard.settings.sections import Settings
from switchboard.settings.usable import StandIns


def reloader(desk: Desk, settings: Settings | Exception) -> Reloader:
    def load(last_good: StandIns) -> Settings:
        del last_good
        if isinstance(settings, Exception):
            raise settings
        return settings

    return Reloader(desk.runtime, load)


async def test_new_settings_are_adopted_and_clients_hear_of_new_tools(tmp_path: Path) -> None:
    async with serving(tmp_path, echo_server("old")) as desk:
        told: list[str] = []

        def tell(kind: str, session_id: str) -> None:
            assert session_id == ""
            told.append(kind)

        desk.runtime.on_changed.add(tell)
        await reloader(desk, settings_for(tmp_path, echo_server("new"))).reload()
        assert desk.names == ["new_suite"]
        assert told == ["tools", "prompts", "resources"]
        await reloader(desk, desk.runtime.settings).reload()
        assert len(told) == 3


@pytest.mark.parametrize(
    "error",
    [
        ConfigInvalid([Problem(path="mcp.json", message="wrong")], workspace="/w"),
        PermissionError(13, "Permission denied", "/w/mcp.json"),
        RuntimeError("nobody foresaw this"),
    ],
    ids=["invalid", "unreadable", "unforeseen"],
)
async def test_settings_that_cannot_be_read_leave_the_old_ones_and_the_watch_goes_on(
    error: Exception, tmp_path: Path
) -> None:
    watched = tmp_path / "mcp.json"
    async with serving(tmp_path, echo_server("old"), watched=(str(watched),)) as desk:
        watching = asyncio.ensure_future(reloader(desk, error).watch())
        watched.write_text("first edit")
        await until_true(lambda: len(desk.events.of(ConfigRejected)) == 1)
        watched.write_text("a second edit")
        await until_true(lambda: len(desk.events.of(ConfigRejected)) == 2)
        assert desk.names == ["old_suite"]
        watching.cancel()
        await asyncio.wait({watching})


async def test_a_board_that_still_serves_keeps_its_children_over_two_reloads(
    tmp_path: Path,
) -> None:
    async with serving(tmp_path, echo_server("first")) as desk:
        desk.runtime.adopt(settings_for(tmp_path, echo_server("second")))
        with desk.runtime.boards.lease() as second:
            assert list(second.catalog.tools) == ["second_suite"]
            await desk.subtool("second_suite", "echo", text="warm")
            desk.runtime.adopt(settings_for(tmp_path, echo_server("third")))
            # The first board is long gone, the second is still leased.
            [started] = desk.events.of(ChildStarted)
            assert desk.events.of(ChildExited) == []
            assert alive(started.pid)
        await until_true(lambda: not alive(started.pid))
        assert desk.names == ["third_suite"]
