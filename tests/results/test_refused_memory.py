"""What a refused call has made goes with it, and a large result is never read by many at once."""

import asyncio
import gc
import threading
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec import Raw
from msgspec.json import decode, encode

from fakes.calls import a_call
from fakes.events import MemoryEvents
from results.test_borrowing import a_reference, a_result
from support.requirements import attack
from support.workspace import Workspace
from switchboard.core.bus import EventBus
from switchboard.core.calls.call import Outcome, TextBlock
from switchboard.core.faults import Fault
from switchboard.core.text.decoded_size import MOST_DECODED, decoded_size
from switchboard.daemon.board.runtime import running
from switchboard.pipeline.gates.results import RESULT_KEY
from switchboard.results.borrowing import lent_to, may_refer, resolve
from switchboard.results.document import said_in
from switchboard.results.reading_room import ReadingRoom
from switchboard.settings.load import load_settings

# So many values in a row that no other list has them.
ROWS = 43_211
MANY = "[" + "{}," * 2_000_000 + "{}]"
PATIENCE_S = 60


@pytest.fixture(name="_no_collector")
def no_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def lists_of_rows() -> int:
    lists = [cast("list[Any]", each) for each in gc.get_objects() if type(each) is list]
    return sum(1 for each in lists if len(each) == ROWS)


@attack("T30")
@pytest.mark.usefixtures("_no_collector")
async def test_a_refused_call_keeps_none_of_its_values(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.echo_child()
    workspace.config_toml('surface_tokens = "lean"\n[results]\ninline_tokens = 1000\n')
    own = load_settings(workspace=str(workspace.root), environ=workspace.env)
    async with running(own, environ=workspace.env, events=EventBus(MemoryEvents().emit)) as runtime:

        async def run(name: str, **arguments: Any) -> Outcome:
            with runtime.boards.lease() as board:
                return await board.pipeline(a_call(board.catalog.tools[name], arguments))

        said = encode({"rows": [{}] * ROWS}).decode()
        given = await run("call_tool", tool="echo.echo", args={"text": said})
        handle = given.meta[RESULT_KEY]["handle"]
        patch = [{"op": "remove", "path": "/nothing"}]
        wrong = {"text": {"$result": handle, "path": "/rows"}}
        calls: list[partial[Any]] = [
            partial(run, "call_tool", tool="echo.nothing", args=said),
            partial(run, "call_tool", tool="echo.echo", args=said),
            partial(run, "call_tool", tool="echo.echo", args=wrong),
            partial(
                run, "call_tool", tool="echo.echo", args={"text": {**wrong["text"], "patch": patch}}
            ),
            partial(run, "read_result", handle=handle, path="/nothing"),
        ]
        for number, call in enumerate(calls):
            with pytest.raises(Fault) as caught:
                await call()
            # Also while somebody still has the fault.
            assert caught.value is not None
            assert lists_of_rows() == 0, number


@attack("T30")
async def test_one_large_result_of_a_session_is_read_at_a_time_and_two_in_all() -> None:
    room = ReadingRoom()
    lock = threading.Lock()
    reading: Counter[str] = Counter()
    most: Counter[str] = Counter()
    both = threading.Barrier(2)

    def work(holder: str) -> str:
        with lock:
            reading[holder] += 1
            reading["all"] += 1
            most[holder] = max(most[holder], reading[holder])
            most["all"] = max(most["all"], reading["all"])
        # Two sessions read side by side.
        both.wait(PATIENCE_S)
        with lock:
            reading[holder] -= 1
            reading["all"] -= 1
        return holder

    holders = [name for name in ("a", "b") for _ in range(5)]
    done = await asyncio.gather(*(room.read(name, partial(work, name)) for name in holders))
    assert done == holders
    assert most == {"a": 1, "b": 1, "all": 2}


@attack("T30")
async def test_arguments_of_too_many_values_are_refused_before_anybody_reads_them(
    tmp_path: Path,
) -> None:
    workspace = Workspace(tmp_path)
    workspace.echo_child()
    own = load_settings(workspace=str(workspace.root), environ=workspace.env)
    async with running(own, environ=workspace.env, events=EventBus(MemoryEvents().emit)) as runtime:
        with runtime.boards.lease() as board:
            tool = next(iter(board.catalog.tools.values()))
            call = a_call(tool, Raw(b'{"x":' + MANY.encode() + b"}"))
            with pytest.raises(Fault, match="too many values") as caught:
                await board.pipeline(call)
    assert caught.value.reason == "arguments-too-large"


@attack("T30")
@pytest.mark.parametrize("is_structured", [True, False])
def test_a_result_of_too_many_values_is_a_text(is_structured: bool) -> None:
    if is_structured:
        outcome = Outcome(structured=Raw(MANY.encode()))
    else:
        outcome = Outcome(blocks=(TextBlock(MANY),))
    said = said_in(outcome)
    assert said is not None
    assert said.document() == MANY


@attack("T30")
def test_a_patch_is_not_made_in_a_value_that_is_too_long() -> None:
    kept = a_result({"x": ["y" * 1_000_000] * 3})
    args = a_reference(patch=[{"op": "remove", "path": "/0"}])
    with pytest.raises(Fault, match="too many for a patch; take a part with `path`"):
        resolve(args, lent_to(args, lambda _: kept))


@attack("T30")
@pytest.mark.parametrize("written", ["$result", "\\u0024result", "$\\u0072esult"])
def test_a_reference_is_seen_however_its_key_is_written(written: str) -> None:
    arguments = f'{{"tool": "x", "args": {{"v": {{"{written}": "r1"}}}}}}'.encode()
    assert decode(arguments)["args"] == {"v": {"$result": "r1"}}
    assert may_refer(arguments)
    # And as a text in a text.
    assert may_refer(encode({"args": arguments.decode()}))
    assert not may_refer(b'{"tool": "x", "args": {"v": [{}, {}]}}')


def test_ten_megabytes_of_plain_rows_are_still_read_as_values() -> None:
    row = {"id": 123_456, "name": "the name of something", "state": "open", "note": "x" * 60}
    rows = encode([row] * 80_000)
    assert len(rows) > 10_000_000
    assert decoded_size(rows) < MOST_DECODED
    said = said_in(Outcome(blocks=(TextBlock(rows.decode()),)))
    assert said is not None
    assert len(said.document()) == 80_000
