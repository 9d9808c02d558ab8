"""Kept results belong to one session, are bounded, and are gone with it."""

import pytest
from msgspec.structs import replace

from fakes.calls import a_session
from support.requirements import attack
from switchboard.core.calls.borrowed import Quoted
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.faults import Fault
from switchboard.core.sessions import Era, Session
from switchboard.results.kept_result import KeptResult, packed
from switchboard.results.store import ResultStore

LAUNCH = Launch(
    tool=ToolSpec(name="page", provider="fake"), server="wiki", fingerprint="f", runs="", cwd="/"
)
ONE, OTHER = a_session("one"), a_session("other")


def kept(store: ResultStore, session: Session, content: bytes = b'"x"', size: int = 0) -> str:
    handle = store.new_handle(session)
    result = KeptResult(
        handle=handle,
        server="wiki",
        tool="page",
        quoted=Quoted(LAUNCH),
        tokens=500,
        packed=content,
        is_packed=False,
        size=size or len(content),
    )
    assert store.keep(session, result)
    return handle


def reason(store: ResultStore, session: Session, handle: str) -> str:
    with pytest.raises(Fault) as caught:
        store.find(session, handle)
    assert "call the tool again" in caught.value.hint
    return caught.value.reason


def test_a_handle_of_another_session_is_unknown() -> None:
    store = ResultStore()
    handle = kept(store, ONE)
    assert store.find(ONE, handle).document() == "x"
    assert reason(store, OTHER, handle) == reason(store, OTHER, "r1-never") == "unknown-result"


def test_handles_cannot_be_told_from_one_another() -> None:
    store = ResultStore()
    handles = {kept(store, ONE) for _ in range(50)} | {kept(store, OTHER) for _ in range(50)}
    assert len({handle.partition("-")[2] for handle in handles}) == 100
    assert min(len(handle.partition("-")[2]) for handle in handles) >= 12


def test_a_session_that_ends_takes_its_results_along() -> None:
    store = ResultStore(most_bytes=10)
    handle, others = kept(store, ONE, b"12345"), kept(store, OTHER, b"12345")
    store.leave("one")
    assert reason(store, ONE, handle) == "unknown-result"
    # And its room.
    kept(store, OTHER, b"12345")
    assert store.find(OTHER, others)


@pytest.mark.parametrize(
    "store",
    [ResultStore(most_bytes_of_one=10), ResultStore(most_bytes=10), ResultStore(most_of_one=2)],
    ids=["bytes of one", "bytes of all", "count"],
)
def test_the_oldest_makes_room_and_that_is_told(store: ResultStore) -> None:
    first, second, third = (kept(store, ONE, b"12345") for _ in range(3))
    assert reason(store, ONE, first) == "result-gone"
    assert store.find(ONE, second)
    assert store.find(ONE, third)


@attack("T17")
def test_what_is_packed_counts_as_long_as_it_is_when_it_is_read() -> None:
    store = ResultStore(most_bytes_of_one=10)
    first, second = kept(store, ONE, b"1", size=6), kept(store, ONE, b"1", size=6)
    assert reason(store, ONE, first) == "result-gone"
    assert store.find(ONE, second)


def test_who_has_used_theirs_least_recently_makes_room_for_another() -> None:
    store = ResultStore(most_bytes=10)
    mine, theirs = kept(store, ONE, b"12345"), kept(store, OTHER, b"12345")
    assert store.find(ONE, mine)
    kept(store, ONE, b"12345")
    assert reason(store, OTHER, theirs) == "result-gone"
    assert store.find(ONE, mine)


def test_what_is_larger_than_the_whole_store_is_not_kept() -> None:
    store = ResultStore(most_bytes_of_one=10)
    small = kept(store, ONE, b"12345")
    large = KeptResult(
        handle=store.new_handle(ONE),
        server="",
        tool="",
        quoted=Quoted(LAUNCH),
        tokens=1,
        packed=b"12345678901",
        is_packed=False,
        size=11,
    )
    assert not store.keep(ONE, large)
    assert store.find(ONE, small)


def test_what_a_client_without_a_session_keeps_ends_by_itself() -> None:
    now = 0.0
    store = ResultStore(clock=lambda: now)
    alone = replace(ONE, via="http", era=Era.MODERN, entrance="start:token:address", client="x 1")
    handle = kept(store, alone)
    # Each of its requests is a session of its own.
    assert store.find(replace(alone, id="later"), handle)
    assert reason(store, replace(alone, client="y 1"), handle) == "unknown-result"
    mine = kept(store, OTHER)
    now = 3_700.0
    kept(store, OTHER)
    assert reason(store, alone, handle) == "unknown-result"
    assert store.find(OTHER, mine)


@pytest.mark.parametrize("length", [10, 100_000])
def test_a_long_result_is_packed_and_read_as_it_was(length: int) -> None:
    content, is_packed = packed(b'"%b"' % (b"x" * length))
    result = KeptResult(
        handle="r1",
        server="",
        tool="",
        quoted=Quoted(LAUNCH),
        tokens=1,
        packed=content,
        is_packed=is_packed,
        size=length + 2,
    )
    assert result.document() == "x" * length
    assert is_packed == (length > 10_000)
    assert len(result.packed) <= length + 2
