"""Children of both eras and every framing are spoken to in the way they understand."""

import shlex
from pathlib import Path

import pytest

from fakes.nursery import json_from, nursery, text_from
from support.processes import mentioning
from support.requirements import requirement
from support.workspace import child_command
from switchboard.core.events import ChildStarted
from switchboard.core.faults import Fault, FaultCode


async def test_a_modern_child_is_used_without_a_handshake(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("modern-only")
        assert await text_from(child, "echo", text="hi") == "echo: hi"
        assert child.is_modern
        assert "echo" in (await child.tools()).tools
        history = await json_from(child, "history")
        assert "initialize" not in history["received"]
        assert history["received"][0] == "server/discover"
        [started] = some.events.of(ChildStarted)
        assert started.protocol == "2026-07-28"


async def test_an_older_child_refuses_the_probe_and_gets_a_handshake(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.child("echo_child")
        history = await json_from(child, "history")
        assert history["received"][:3] == [
            "server/discover",
            "initialize",
            "notifications/initialized",
        ]
        assert not child.is_modern


async def test_a_child_that_dies_at_the_probe_is_started_again_for_a_handshake(
    tmp_path: Path,
) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("legacy-strict")
        assert await text_from(child, "echo", text="hi") == "echo: hi"
        assert mentioning(str(tmp_path)) == [child.pid]
        assert len(some.events.of(ChildStarted)) == 1


async def test_a_child_that_keeps_silent_at_the_probe_gets_a_handshake(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("legacy-silent")
        assert await text_from(child, "echo", text="hi") == "echo: hi"


async def test_an_entry_can_name_the_handshake_and_then_there_is_no_probe(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.child("echo_child", protocol="handshake")
        history = await json_from(child, "history")
        assert history["received"][0] == "initialize"


async def test_an_entry_that_demands_the_modern_era_refuses_an_older_child(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        with pytest.raises(Fault) as caught:
            await some.child("echo_child", protocol="modern").tools()
        assert (caught.value.code, caught.value.reason) == (
            FaultCode.UNIMPLEMENTED,
            "child-not-modern",
        )
        assert mentioning(str(tmp_path)) == []


@pytest.mark.parametrize(
    "answer",
    [
        '{"jsonrpc":"2.0","id":$id,"result":{"serverInfo":{}}}\n',
        '{"jsonrpc":"2.0","id":$id,"result":[]}\n',
        '{"jsonrpc":"2.0","id":$id,"error":{"code":-32000,"message":"not today"}}\n',
    ],
)
async def test_a_handshake_that_makes_no_sense_is_a_fault_and_ends_the_child(
    answer: str, tmp_path: Path
) -> None:
    async with nursery(tmp_path) as some:
        child = some.scripted({"initialize": [answer]})
        with pytest.raises(Fault) as caught:
            await child.tools()
        assert (caught.value.code, caught.value.reason) == (FaultCode.INTERNAL, "child-error")
        assert mentioning(str(tmp_path)) == []


@requirement("S2.56", "S2.57", "S2.58", "S2.59", "S2.65")
@pytest.mark.parametrize(
    "habit",
    ["garbage-first", "pretty-content-length", "mixed-framing", "trickle", "paged"],
)
async def test_a_child_may_write_in_any_framing_with_junk_between(
    habit: str, tmp_path: Path
) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving(habit)
        assert {"echo", "history"} <= set((await child.tools()).tools)
        assert await text_from(child, "echo", text="héllo 🙂") == "echo: héllo 🙂"


@requirement("S2.62")
async def test_a_child_that_wants_headers_gets_them_when_its_entry_says_so(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("content-length-only", framing="content-length")
        assert await text_from(child, "echo", text="hi") == "echo: hi"


async def test_a_child_that_asks_us_something_gets_an_answer(tmp_path: Path) -> None:
    """Ping is answered; what we do not offer is refused; neither holds up the call."""
    notes = tmp_path / "notes"
    ask = (
        '{"jsonrpc":"2.0","id":"p","method":"ping"}\n'
        '{"jsonrpc":"2.0","id":"r","method":"roots/list"}\n'
        '{"jsonrpc":"2.0","id":$id,"result":{"content":[{"type":"text","text":"done"}]}}\n'
    )
    async with nursery(tmp_path) as some:
        child = some.scripted({"tools/call": [ask]}, str(notes))
        assert await text_from(child, "any") == "done"
        assert await text_from(child, "any") == "done"
    said = notes.read_text()
    assert '"id":"p","result":{}' in said
    assert '"id":"r","error":{"code":-32601' in said


async def test_a_modern_child_that_failed_its_first_start_is_not_taken_for_an_old_one(
    tmp_path: Path,
) -> None:
    flag = tmp_path / "started-before"
    modern = " ".join(map(shlex.quote, child_command("misbehaving_child", "modern-only")))
    script = f"test -e {flag} && exec {modern}; touch {flag}; exit 1"
    async with nursery(tmp_path) as some:
        child = some.run(["sh", "-c", script])
        # The probe ends it once; the second start, with the handshake, is refused by a modern one.
        with pytest.raises(Fault):
            await child.tools()
        assert (await child.tools()).tools
        [started] = some.events.of(ChildStarted)
        assert started.protocol == "2026-07-28"
