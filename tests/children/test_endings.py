"""A child that ends is a fault for who waits; it is brought back, unless it keeps ending."""

import asyncio
from pathlib import Path

import pytest

from fakes.nursery import arguments, json_from, nursery, text_from
from support.processes import alive, mentioning, until_gone, until_true
from support.requirements import attack, requirement
from switchboard.children.reaching.back_off import BackOff, BackOffs
from switchboard.children.reaching.child_limits import ChildLimits
from switchboard.core.events import ChildExited, ChildFailed, ChildStarted
from switchboard.core.faults import Fault, FaultCode


@requirement("S2.53", "S2.81")
async def test_a_crash_ends_the_calls_that_wait_and_the_next_call_starts_it_again(
    tmp_path: Path,
) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("dies-on-tool")
        await child.tools()
        first = child.pid
        waiting = asyncio.create_task(child.call("stall", arguments()))
        await asyncio.sleep(0)
        with pytest.raises(Fault) as caught:
            await child.call("die", arguments())
        fault = caught.value
        assert (fault.code, fault.reason) == (FaultCode.UNAVAILABLE, "child-exited")
        assert "status 3" in fault.message
        assert fault.details["stderr"] == "it was too much"
        with pytest.raises(Fault):
            await waiting
        [exited] = await some.events.wait_for(ChildExited)
        assert (exited.pid, exited.expected) == (first, False)
        assert await text_from(child, "echo", text="back") == "echo: back"
        assert child.pid not in {0, first}
        await until_gone([first])


@requirement("S2.81")
async def test_a_child_that_ends_at_once_is_told_of_with_its_status_and_last_words(
    tmp_path: Path,
) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("exit-at-once", "7")
        with pytest.raises(Fault) as caught:
            await child.tools()
        assert (caught.value.code, caught.value.reason) == (FaultCode.UNAVAILABLE, "child-exited")
        assert "status 7" in caught.value.message
        assert "does not want to work" in caught.value.details["stderr"]
        assert [event.reason for event in some.events.of(ChildFailed)] == ["child-exited"]


async def test_a_grandchild_that_holds_stdout_does_not_hide_the_end_of_a_child(
    tmp_path: Path,
) -> None:
    async with nursery(tmp_path) as some:
        child = some.run(["sh", "-c", "sleep 600 & exit 3"], protocol="handshake")
        async with asyncio.timeout(5):
            with pytest.raises(Fault) as caught:
                await child.tools()
        assert caught.value.reason == "child-exited"
        assert "status 3" in caught.value.message
        assert mentioning(str(tmp_path)) == []


async def test_a_child_that_closes_its_output_is_ended(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.run(["sh", "-c", "exec >&-; exec sleep 600"], protocol="handshake")
        with pytest.raises(Fault) as caught:
            await child.tools()
        assert caught.value.reason == "child-exited"
        assert "closed its output" in caught.value.message
        assert mentioning(str(tmp_path)) == []


def test_back_off_lets_the_first_retry_pass_then_waits_twice_as_long_each_time() -> None:
    now = 100.0
    back_off = BackOff(lambda: now)
    back_off.fail()
    assert back_off.wait_s() <= 0
    waits: list[float] = []
    for _ in range(8):
        back_off.fail()
        waits.append(round(back_off.wait_s(), 3))
    assert waits == [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]
    now += 31
    assert back_off.wait_s() <= 0


def test_a_child_that_lived_long_has_a_fresh_start() -> None:
    back_off = BackOff(lambda: 100.0)
    for _ in range(5):
        back_off.fail()
    back_off.fail(lived_s=60)
    assert back_off.failures == 1


async def test_a_child_that_keeps_failing_is_left_alone_for_a_while(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.run(["/no/such/program"], name="broken")
        for _ in range(4):
            with pytest.raises(Fault) as caught:
                await child.tools()
            assert caught.value.reason == "spawn-failed"
        with pytest.raises(Fault) as caught:
            await child.tools()
        assert (caught.value.code, caught.value.reason) == (
            FaultCode.UNAVAILABLE,
            "child-backing-off",
        )
        assert "not found" in caught.value.message


@requirement("S2.106")
async def test_an_idle_child_is_ended_and_comes_back_when_it_is_needed(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.child("echo_child", limits=ChildLimits(idle_s=0.2))
        assert await text_from(child, "echo", text="one") == "echo: one"
        first = child.pid
        [exited] = await some.events.wait_for(ChildExited)
        assert (exited.pid, exited.expected, exited.stderr_tail) == (first, True, "")
        assert not alive(first)
        assert await text_from(child, "echo", text="two") == "echo: two"
        assert len(some.events.of(ChildStarted)) == 2


@requirement("S2.106")
async def test_a_child_with_a_call_under_way_is_not_idle(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.child("echo_child", limits=ChildLimits(idle_s=0.1))
        stalled = asyncio.create_task(child.call("stall", arguments()))
        await asyncio.wait({stalled}, timeout=0.5)
        assert not stalled.done()
        assert alive(child.pid)
        stalled.cancel()
        await asyncio.wait({stalled})
        await some.events.wait_for(ChildExited)


async def test_a_call_that_is_given_up_is_cancelled_at_the_child(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.child("echo_child", protocol="handshake")
        await child.tools()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await child.call("stall", arguments())
        history = await json_from(child, "history")
        assert history["received"][-2:] == ["notifications/cancelled", "tools/call"]
        # initialize, tools/list, then the call.
        assert history["cancelled"] == [3]


@attack("H64")
async def test_sixty_megabytes_on_a_line_end_one_child_while_another_answers(
    tmp_path: Path,
) -> None:
    async with nursery(tmp_path) as some:
        huge, other = some.misbehaving("huge-line"), some.child("echo_child", name="other")
        await asyncio.gather(huge.tools(), other.tools())
        first = huge.pid
        flood = asyncio.create_task(huge.call("huge", arguments(megabytes=60)))
        answered = 0
        async with asyncio.timeout(20):
            while not flood.done():
                assert await text_from(other, "echo", text="hi") == "echo: hi"
                answered += 1
        with pytest.raises(Fault) as caught:
            await flood
        assert (caught.value.code, caught.value.reason) == (
            FaultCode.RESOURCE_EXHAUSTED,
            "message-too-large",
        )
        assert answered > 0
        await until_gone([first])
        assert await text_from(huge, "echo", text="again") == "echo: again"


@attack("D9")
async def test_a_line_without_an_end_ends_the_child(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("endless-line")
        with pytest.raises(Fault) as caught:
            await child.call("endless", arguments())
        assert caught.value.reason == "message-too-large"


@attack("W4")
async def test_an_answer_with_a_wrong_id_answers_nobody_and_the_child_goes_on(
    tmp_path: Path,
) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("wrong-id")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await child.call("echo", arguments(text="hi"))
        assert "echo" in (await child.tools()).tools


async def test_a_reload_keeps_the_children_that_both_boards_use(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        kept, dropped = some.child("echo_child", "kept"), some.child("echo_child", "dropped")
        await asyncio.gather(kept.tools(), dropped.tools())
        assert some.child("echo_child", "kept") is kept
        changed = some.child("echo_child", "kept", env={"NEW": "1"})
        assert changed is not kept
        other_limits = some.child("echo_child", "kept", limits=ChildLimits(rpc_s=1))
        assert other_limits is not kept
        kept_pid, dropped_pid = kept.pid, dropped.pid
        some.pool.retain([kept])
        await until_gone([dropped_pid])
        assert await text_from(kept, "echo", text="still here") == "echo: still here"
        assert kept.pid == kept_pid
        assert mentioning(str(tmp_path)) == [kept_pid]


async def test_a_child_that_is_let_go_finishes_what_it_was_asked(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("slow-start", "0.2")
        call = asyncio.create_task(text_from(child, "echo", text="last"))
        await asyncio.sleep(0)
        some.pool.retain([])
        assert await call == "echo: last"
        await some.events.wait_for(ChildExited)


async def test_closing_the_pool_ends_a_child_that_is_still_greeted(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    async with nursery(tmp_path) as some:
        child = some.scripted({"initialize": ["hush"]}, str(notes))
        starting = asyncio.create_task(child.tools())
        await until_true(notes.exists)
        await some.pool.aclose()
        with pytest.raises(asyncio.CancelledError):
            await starting
        assert mentioning(str(tmp_path)) == []


async def test_a_child_that_was_given_up_is_not_started_again(tmp_path: Path) -> None:
    async with nursery(tmp_path) as some:
        child = some.child("echo_child", "echo")
        await child.tools()
        some.pool.retain([])
        await some.events.wait_for(ChildExited)
        with pytest.raises(Fault) as caught:
            await child.call("echo", arguments(text="x"))
        assert (caught.value.code, caught.value.reason) == (FaultCode.UNAVAILABLE, "child-ended")


async def test_the_back_off_of_a_child_that_keeps_crashing_says_how_it_ended(
    tmp_path: Path,
) -> None:
    async with nursery(tmp_path) as some:
        child = some.misbehaving("dies-on-tool")
        last: Fault | None = None
        for _ in range(6):
            with pytest.raises(Fault) as caught:
                await child.call("die", arguments())
            last = caught.value
            if last.reason == "child-backing-off":
                break
            await some.events.wait_for(ChildExited, len(some.events.of(ChildStarted)))
        assert last is not None
        assert last.reason == "child-backing-off"
        assert "status 3" in last.message


async def test_who_ends_a_child_leaves_it_alone_and_nobody_else_has_to() -> None:
    now = 100.0
    patience = BackOffs(lambda: now)
    for _ in range(8):
        patience.ended(["alice"], True, lived_s=0.1)
    with pytest.raises(Fault) as refused:
        await patience.wait_out("alice", "one", None)
    assert refused.value.reason == "child-backing-off"
    await patience.wait_out("bob", "one", None)
    # It is not bob's to wait either if it ends when nobody's call is under way.
    for _ in range(8):
        patience.ended([], True, lived_s=0.1)
    await patience.wait_out("bob", "one", None)
    # An answer clears who was only beside it.
    patience.ended(["bob"], True, lived_s=0.1)
    patience.answered("bob")
    now += 60
    await patience.wait_out("alice", "one", None)
    assert not patience.callers
    for _ in range(8):
        patience.start_failed()
    with pytest.raises(Fault):
        await patience.wait_out("bob", "one", None)


async def test_back_offs_remember_few_sessions() -> None:
    patience = BackOffs(lambda: 100.0)
    for number in range(5_000):
        patience.ended([f"s{number}"], True, lived_s=0.1)
    assert len(patience.callers) <= 256
