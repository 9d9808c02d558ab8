"""Each gate alone."""

import asyncio
import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from fakes.calls import a_call, a_session, a_tool, answer, outcome
from fakes.time import in_fake_time
from support.requirements import attack
from support.workspace import Json
from switchboard.core.calls.call import Call, Outcome
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.faults import Fault, FaultCode
from switchboard.pipeline.gates.arguments import ArgumentsGate
from switchboard.pipeline.gates.deadline import DeadlineGate
from switchboard.pipeline.gates.limits import LimitsGate
from switchboard.pipeline.gates.visibility import VisibilityGate
from switchboard.surface.channel import ClientChannel, Sink
from switchboard.wire.messages import Parts

NAMES = st.sampled_from(["read", "write", "read_all", "wipe"])


async def forever(_: Call) -> Outcome:
    await asyncio.Event().wait()
    raise AssertionError


# Visibility


@given(NAMES, st.none() | st.lists(NAMES), st.lists(NAMES))
def test_deny_wins_and_without_an_allow_list_all_are_shown(
    name: str, allow: list[str] | None, deny: list[str]
) -> None:
    lists = Visibility(None if allow is None else tuple(allow), tuple(deny))
    assert lists.shows(name) == (name not in deny and (allow is None or name in allow))


@pytest.mark.parametrize(
    ("lists", "shown"),
    [
        (Visibility(("read*",)), ["read", "read_all"]),
        (Visibility(("*",), ("*_all",)), ["read", "write"]),
        (Visibility(()), []),
        (Visibility(deny=("*",)), []),
    ],
)
async def test_a_star_stands_for_any_characters(lists: Visibility, shown: list[str]) -> None:
    gate = VisibilityGate(lists)
    passed: list[str] = []
    for name in ("read", "write", "read_all"):
        try:
            await gate(a_call(a_tool(name)), answer)
        except Fault as fault:
            assert fault.reason == "unknown-tool"  # noqa: PT017 - some pass, some do not
        else:
            passed.append(name)
    assert passed == shown


# Arguments


async def refused(schema: object, arguments: object) -> Fault:
    with pytest.raises(Fault) as caught:
        await ArgumentsGate()(a_call(a_tool(schema=schema), arguments), answer)
    return caught.value


async def test_arguments_are_checked_against_json_schema_2020_12_with_local_references() -> None:
    schema = {
        "$defs": {"count": {"type": "integer", "minimum": 1}},
        "type": "object",
        "properties": {"n": {"$ref": "#/$defs/count"}, "pair": {"prefixItems": [{"const": 1}]}},
        "required": ["n"],
        "unevaluatedProperties": False,
    }
    gate, tool = ArgumentsGate(), a_tool(schema=schema)
    await gate(a_call(tool, {"n": 3, "pair": [1]}), answer)
    for wrong in ({}, {"n": 0}, {"n": "1"}, {"n": 1, "more": 2}, {"n": 1, "pair": [2]}):
        fault = await refused(schema, wrong)
        assert (fault.code, fault.reason) == (FaultCode.INVALID_ARGUMENT, "arguments-invalid")


async def test_a_refusal_names_the_place_and_a_few_errors_at_most() -> None:
    names = [f"p{number}" for number in range(20)]
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}}
    fault = await refused(schema, dict.fromkeys(names, "x"))
    assert "`p0`" in fault.message
    assert "and 15 more" in fault.message


@pytest.mark.parametrize(
    "reference", ["https://example.org/schema.json", "file:///etc/passwd", "other.json"]
)
async def test_a_reference_to_another_document_is_never_followed(reference: str) -> None:
    schema = {"type": "object", "properties": {"x": {"$ref": reference}}}
    fault = await refused(schema, {"x": 1})
    assert (fault.code, fault.reason) == (FaultCode.FAILED_PRECONDITION, "schema-unusable")


async def test_a_schema_is_compiled_once_and_a_tools_own_check_comes_first() -> None:
    checked: list[Raw] = []
    tool = a_tool(schema={"type": "nonsense"}, check=checked.append)
    await ArgumentsGate()(a_call(tool), answer)
    assert len(checked) == 1


# Deadline


async def late(call: Call) -> Fault:
    return await late_in(call, 5)


async def late_in(call: Call, patience_s: float) -> Fault:
    with pytest.raises(Fault) as caught:
        async with asyncio.timeout(patience_s):
            await DeadlineGate()(call, forever)
    return caught.value


@pytest.mark.parametrize(("tools", "clients"), [(0.02, None), (None, 0.02), (60, 0.02), (0.02, 60)])
@in_fake_time
async def test_the_smaller_limit_of_tool_and_client_ends_a_call(
    tools: float | None, clients: float | None
) -> None:
    fault = await late(a_call(a_tool(timeout_s=tools), client_timeout_s=clients))
    assert (fault.code, fault.reason) == (FaultCode.DEADLINE_EXCEEDED, "tool-timeout")
    assert "0.02 s" in fault.message


class _Told:
    """A client that notes what it is told."""

    def __init__(self) -> None:
        self.notes: list[tuple[str, Json]] = []

    def notify(self, method: str, params: Parts, /) -> None:
        self.notes.append((method, json.loads(b"".join(map(bytes, params)))))


def heard(told: _Told, token: Raw | None = Raw(b'"t"')) -> Call:  # noqa: B008 - a constant
    channel = ClientChannel(a_session(), cast("Sink", told), token=token)
    return replace(a_call(a_tool(timeout_s=58)), channel=channel, clock=channel.clock)


@in_fake_time
async def test_a_client_is_told_that_a_silent_call_goes_on_and_its_limit_stays() -> None:
    told = _Told()
    fault = await late_in(heard(told), 90)
    assert fault.reason == "tool-timeout"
    assert [method for method, _ in told.notes] == ["notifications/progress"] * 3
    first, *others = [params for _, params in told.notes]
    assert first["progressToken"] == "t"
    assert first["message"] == "`tool` has not answered for 15 s"
    assert 0 < first["progress"] < others[0]["progress"] < others[1]["progress"] < 0.001


@in_fake_time
async def test_who_speaks_for_itself_is_not_spoken_for() -> None:
    told = _Told()

    async def working(call: Call) -> Outcome:
        assert call.channel is not None
        for step in range(3):
            await asyncio.sleep(10)
            call.channel.report(step + 1)
        await asyncio.sleep(12)
        return outcome()

    await DeadlineGate()(heard(told), working)
    assert [params["progress"] for _, params in told.notes] == [1, 2, 3]


@in_fake_time
async def test_who_falls_silent_after_a_sign_of_life_is_spoken_for_until_the_next() -> None:
    told = _Told()

    async def working(call: Call) -> Outcome:
        assert call.channel is not None
        await asyncio.sleep(1)
        call.channel.report(5, 10, "half")
        await asyncio.sleep(48)
        call.channel.report(6, 10)
        await asyncio.sleep(42)
        return outcome()

    await DeadlineGate()(replace(heard(told), tool=a_tool(timeout_s=200)), working)
    shown = [params["progress"] for _, params in told.notes]
    assert shown == sorted(set(shown))
    # Two checks fall into the first silence, and two into the second.
    assert [round(each, 3) for each in shown] == [5, 5, 5, 6, 6, 6]
    assert {params["total"] for _, params in told.notes} == {10}
    said = [params["message"] for _, params in told.notes if "message" in params]
    assert said[1] == "`tool` has reported nothing for 29 s"


@in_fake_time
async def test_who_waited_for_a_person_is_spoken_for_once_it_works_again() -> None:
    told = _Told()

    async def asked(call: Call) -> Outcome:
        call.clock.pause()
        await asyncio.sleep(40)
        call.clock.resume()
        await asyncio.sleep(40)
        return outcome()

    await DeadlineGate()(heard(told), asked)
    assert [params["message"] for _, params in told.notes] == [
        "`tool` has reported nothing for 20 s",
        "`tool` has reported nothing for 35 s",
    ]


@pytest.mark.parametrize("said", ["3", "1e300", "0.25", '"much"', "-4"])
@in_fake_time
async def test_a_sign_of_our_own_is_more_than_whatever_the_server_said(said: str) -> None:
    told = _Told()

    async def working(call: Call) -> Outcome:
        assert call.channel is not None
        call.channel.progress(Raw(b'{"progress":%b}' % said.encode()))
        await asyncio.sleep(50)
        return outcome()

    await DeadlineGate()(heard(told), working)
    first, *others = [params["progress"] for _, params in told.notes]
    assert len(others) == 3
    assert others == sorted(set(others))
    assert not isinstance(first, float | int) or others[0] > first


@in_fake_time
async def test_nobody_is_told_while_a_person_is_asked_nor_after_the_answer() -> None:
    told = _Told()

    async def asked(call: Call) -> Outcome:
        call.clock.pause()
        await asyncio.sleep(40)
        return outcome()

    gate = DeadlineGate()
    await gate(heard(told), asked)
    await gate(heard(told), answer)
    await asyncio.sleep(60)
    assert told.notes == []
    # Nor who did not ask to be told.
    plain = heard(told, token=None)
    await late_in(plain, 90)
    assert told.notes == []


async def test_a_timeout_inside_the_tool_is_not_taken_for_ours() -> None:
    async def inner(_: Call) -> Outcome:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        await DeadlineGate()(a_call(a_tool(timeout_s=60)), inner)


@in_fake_time
async def test_a_call_that_ends_in_time_is_not_touched_afterwards() -> None:
    assert await DeadlineGate()(a_call(a_tool(timeout_s=0.05)), answer)
    # Longer than the limit: the clock must not ring in what comes after.
    await asyncio.sleep(0.1)
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


@in_fake_time
async def test_calls_that_share_a_limit_have_each_their_own_time() -> None:
    gate, loop = DeadlineGate(), asyncio.get_running_loop()
    limit = 0.06

    async def lasted() -> float:
        begun = loop.time()
        with pytest.raises(Fault):
            await gate(a_call(a_tool(timeout_s=limit)), forever)
        return loop.time() - begun

    # The first sets the timer and is gone when it rings.
    assert await gate(a_call(a_tool(timeout_s=limit)), answer)
    running: list[asyncio.Future[float]] = []
    for _ in range(3):
        await asyncio.sleep(limit / 4)
        running.append(asyncio.ensure_future(lasted()))
    async with asyncio.timeout(5):
        assert min(await asyncio.gather(*running)) > limit - 0.003
    # And once more, when nobody was left to wait for.
    assert await asyncio.wait_for(lasted(), 5) > limit - 0.003


async def test_a_cancellation_by_the_client_stays_a_cancellation() -> None:
    task = asyncio.ensure_future(DeadlineGate()(a_call(a_tool(timeout_s=60)), forever))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@in_fake_time
async def test_a_deadline_leaves_the_task_ready_for_other_work() -> None:
    """Also when the tool answers its cancellation with an error of its own."""

    async def stubborn(_: Call) -> Outcome:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise Fault(FaultCode.UNAVAILABLE, "child-exited", "gone") from None
        raise AssertionError

    call = a_call(a_tool(timeout_s=0.02))
    with pytest.raises(Fault):
        await DeadlineGate()(call, forever)
    with pytest.raises(Fault):
        await DeadlineGate()(call, stubborn)
    current = asyncio.current_task()
    assert current is not None
    assert current.cancelling() == 0


# Limits


@attack("D6")
async def test_a_session_may_have_so_many_calls_under_way_and_no_more() -> None:
    gate = LimitsGate(2)
    running = [asyncio.ensure_future(gate(a_call(), forever)) for _ in range(2)]
    await asyncio.sleep(0)
    with pytest.raises(Fault) as caught:
        await gate(a_call(), answer)
    assert (caught.value.code, caught.value.reason) == (
        FaultCode.RESOURCE_EXHAUSTED,
        "too-many-calls",
    )
    assert await gate(a_call(session=a_session("other")), answer)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    assert await gate(a_call(), answer)


async def test_a_failed_call_gives_its_place_back() -> None:
    async def fail(_: Call) -> Outcome:
        raise Fault(FaultCode.INTERNAL, "unexpected", "x")

    gate = LimitsGate(1)
    for _ in range(3):
        with pytest.raises(Fault):
            await gate(a_call(), fail)
    assert (await gate(a_call(), answer)).blocks == outcome().blocks
