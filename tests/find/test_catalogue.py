"""What a search is made of: made once for the same tools, and while everybody else goes on."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from threading import Event

import pytest

from fakes.boards import echo_server, serving, text_of
from fakes.calls import a_session
from switchboard.core.calls.launches import Launch
from switchboard.core.privacy.secrets import Redact
from switchboard.daemon.board.guard import Guard
from switchboard.providers.find.catalogue import Catalogue
from switchboard.providers.find.source import SurfaceBudget
from switchboard.search.finder import Finder

FIND = {"find": SurfaceBudget(tokens=0)}
PATIENCE = 30.0


async def test_an_index_is_made_once_and_nobody_else_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end, made = Event(), Event(), list[Catalogue]()
    make = Catalogue.finder

    def slowly(catalogue: Catalogue) -> Finder:
        made.append(catalogue)
        begun.set()
        assert may_end.wait(PATIENCE)
        return make(catalogue)

    monkeypatch.setattr(Catalogue, "finder", slowly)
    async with serving(tmp_path, echo_server(), sources=FIND) as desk:
        searches = [
            asyncio.create_task(desk.call("find_tool", {"query": "add two numbers"}))
            for _ in range(3)
        ]
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        # Whoever calls meanwhile is answered meanwhile.
        async with asyncio.timeout(PATIENCE):
            await desk.call("call_tool", {"tool": "echo.add", "args": {"a": 2, "b": 3}})
        assert not any(search.done() for search in searches)
        may_end.set()
        assert {text_of(await search).partition("(")[0] for search in searches} == {"echo.add"}
        await desk.call("find_tool", {"query": "echo"})
    assert len(made) == 1


async def test_what_is_offered_is_the_same_while_a_tool_is_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is made of it, as an index of thousands of tools, is made once."""

    async def held(guard: Guard, launches: Mapping[str, Launch], hide: Redact) -> frozenset[str]:
        del guard, hide
        return frozenset({"add"} & launches.keys())

    monkeypatch.setattr(Guard, "held", held)
    async with serving(tmp_path, echo_server(), is_guarded=True) as desk:
        board = desk.runtime.boards.current
        assert board.directory is not None
        first, again = [
            await board.directory().offers("subtools", a_session(), None) for _ in range(2)
        ]
        assert [each.name for each in first if each.withheld] == ["add"]
        assert [*map(id, first)] == [*map(id, again)]
