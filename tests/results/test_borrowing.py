"""What references to results may cost, and who waits for it."""

import threading
from pathlib import Path
from typing import Any

import pytest
from msgspec.json import encode

from fakes.calls import a_call
from fakes.events import MemoryEvents
from results.test_store import LAUNCH
from support.requirements import attack
from support.workspace import Workspace
from switchboard.core.bus import EventBus
from switchboard.core.calls.borrowed import Quoted
from switchboard.core.calls.call import Outcome
from switchboard.core.faults import Fault
from switchboard.daemon.board.runtime import running
from switchboard.pipeline.gates.results import RESULT_KEY
from switchboard.results.borrowing import (
    MOST_REFERENCES,
    MOST_UNPACKED,
    check_together,
    lent_to,
    resolve,
)
from switchboard.results.kept_result import KeptResult, packed
from switchboard.settings.load import load_settings


class Reads:
    """Where kept results were read."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads: list[int] = []
        document = KeptResult.document

        def noted(kept: KeptResult) -> Any:
            self.threads.append(threading.get_ident())
            return document(kept)

        monkeypatch.setattr(KeptResult, "document", noted)


def test_a_patch_that_nests_too_deeply_is_refused() -> None:
    deep: Any = 1
    for _ in range(700):
        deep = {"a": deep}
    patch: list[Any] = []
    place = ""
    for _ in range(4):
        patch.append({"op": "add", "path": f"{place}/x", "value": deep})
        place += "/x" + "/a" * 699
        patch.append({"op": "replace", "path": place, "value": {}})
    kept = a_result({"x": 1})
    args = {"it": {"$result": "r1", "patch": patch}}
    with pytest.raises(Fault) as caught:
        resolve(args, lent_to(args, lambda _: kept))
    assert caught.value.reason == "result-unusable"


@pytest.fixture(name="reads")
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    return Reads(monkeypatch)


def a_result(value: Any, handle: str = "r1") -> KeptResult:
    whole = encode(value)
    content, is_packed = packed(whole)
    return KeptResult(
        handle=handle,
        server="wiki",
        tool="page",
        quoted=Quoted(LAUNCH),
        tokens=500,
        packed=content,
        is_packed=is_packed,
        size=len(whole),
    )


def a_reference(handle: str = "r1", path: str = "/x", **more: Any) -> dict[str, Any]:
    return {"$result": handle, "path": path, **more}


@attack("T17")
def test_a_result_is_read_once_however_often_it_is_referred_to(reads: Reads) -> None:
    kept = a_result({"x": [1]})
    patch = [{"op": "add", "path": "/-", "value": 2}]
    args = {"v": [a_reference(), a_reference(patch=patch), a_reference()]}
    lent = lent_to(args, lambda _: kept)
    assert reads.threads == []
    assert resolve(args, lent).args == {"v": [[1], [1, 2], [1]]}
    assert len(reads.threads) == 1


@attack("T17")
def test_too_much_is_refused_before_anything_is_read(reads: Reads) -> None:
    # Many bytes in few.
    long = a_result({"x": 1, "rows": [0] * (MOST_UNPACKED // 2)})
    half = a_result({"x": 1, "rows": [0] * (MOST_UNPACKED // 4)})
    assert len(long.packed) < MOST_UNPACKED // 100
    with pytest.raises(Fault, match="more than 8,388,608") as caught:
        lent_to(a_reference(), lambda _: long)
    assert caught.value.reason == "results-too-long"
    with pytest.raises(Fault, match="at most 16 references"):
        lent_to([a_reference()] * (MOST_REFERENCES + 1), lambda _: a_result({"x": 1}))
    # Each of them is little enough.
    each = lent_to(a_reference(), lambda _: half)
    with pytest.raises(Fault, match="more than 8,388,608"):
        check_together((each, each))
    few = lent_to([a_reference()] * 9, lambda _: a_result({"x": 1}))
    with pytest.raises(Fault, match="at most 16 references"):
        check_together((few, few))
    assert reads.threads == []


@attack("T17")
def test_what_comes_of_short_results_is_bounded_too() -> None:
    kept = a_result({"x": "y" * 100_000})
    args = {"v": [a_reference()] * 11}
    with pytest.raises(Fault, match="are too long"):
        resolve(args, lent_to(args, lambda _: kept))


@attack("T17")
@pytest.mark.parametrize(("length", "is_alone"), [(20_000, False), (200_000, True)])
async def test_nobody_waits_while_a_long_result_is_read(
    tmp_path: Path, reads: Reads, length: int, is_alone: bool
) -> None:
    workspace = Workspace(tmp_path)
    workspace.echo_child()
    workspace.config_toml('surface_tokens = "lean"\n[results]\ninline_tokens = 1000\n')
    own = load_settings(workspace=str(workspace.root), environ=workspace.env)
    async with running(own, environ=workspace.env, events=EventBus(MemoryEvents().emit)) as runtime:

        async def run(name: str, **arguments: Any) -> Outcome:
            with runtime.boards.lease() as board:
                return await board.pipeline(a_call(board.catalog.tools[name], arguments))

        given = await run("call_tool", tool="echo.echo", args={"text": "x" * length})
        handle = given.meta[RESULT_KEY]["handle"]
        again = await run("call_tool", tool="echo.echo", args={"text": {"$result": handle}})
        assert again.meta[RESULT_KEY]["handle"] != handle
        # Also where few packed bytes stand for many.
        await run("read_result", handle=handle, lines="1")
    assert [each != threading.get_ident() for each in reads.threads] == [is_alone] * 2
