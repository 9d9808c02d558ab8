"""The road as a whole: which gates, in which order, and what nothing gets past."""

import asyncio
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from approvals.ground import Ground, ScriptedAsker, a_launch
from fakes.calls import FakeProvider, a_call, a_session, a_tool, outcome
from fakes.events import MemoryEvents
from support.requirements import requirement
from switchboard.core.calls.call import Call, Outcome
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.visibility import Visibility
from switchboard.core.events import CallFinished, CallNarrowed, CallStarted
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.ports import Next
from switchboard.core.questions import Answer, Question
from switchboard.pipeline.compose import compose
from switchboard.pipeline.order import build_road

OPEN = Visibility()


def road_to(
    provider: FakeProvider, *, shown: Visibility = OPEN, events: MemoryEvents | None = None
) -> Next:
    return build_road({provider.key: provider}, shown, events or MemoryEvents())


def in_its_session(call: Call) -> Launch:
    """Launch every tool where its session works."""
    return a_launch(call.tool, cwd=call.session.cwd or call.session.workspace)


async def fault_of(road: Next, call: Call) -> Fault:
    with pytest.raises(Fault) as caught:
        await road(call)
    return caught.value


async def test_gates_are_passed_from_the_first_to_the_last_and_back() -> None:
    path: list[str] = []

    class Step:
        def __init__(self, name: str) -> None:
            self._name = name

        async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
            path.append(f"{self._name} in")
            answer = await proceed(call)
            path.append(f"{self._name} out")
            return answer

    async def end(_: Call) -> Outcome:
        path.append("end")
        return outcome()

    await compose((Step("a"), Step("b")), end)(a_call())
    assert path == ["a in", "b in", "end", "b out", "a out"]


@requirement("S2.103")
async def test_a_gate_put_on_the_road_sees_and_may_change_every_call() -> None:
    provider = FakeProvider()

    class Rewriting:
        async def __call__(self, call: Call, proceed: Next, /) -> Outcome:
            return await proceed(replace(call, arguments=Raw(b'{"changed":true}')))

    await compose((Rewriting(),), road_to(provider))(a_call())
    assert bytes(provider.invoked[0].arguments) == b'{"changed":true}'


async def test_a_hidden_tool_is_unknown_even_when_its_arguments_are_wrong() -> None:
    provider, events = FakeProvider(), MemoryEvents()
    road = road_to(provider, shown=Visibility(deny=("tool",)), events=events)
    strict = a_tool(schema={"type": "object", "required": ["x"]})
    fault = await fault_of(road, a_call(strict))
    assert (fault.code, fault.reason) == (FaultCode.NOT_FOUND, "unknown-tool")
    assert (provider.narrowed, provider.invoked) == ([], [])


async def test_wrong_arguments_are_refused_before_a_provider_hears_of_them() -> None:
    provider = FakeProvider(narrows=True)
    strict = a_tool(schema={"type": "object", "required": ["x"]})
    fault = await fault_of(road_to(provider), a_call(strict, {"y": 1}))
    assert (fault.code, fault.reason) == (FaultCode.INVALID_ARGUMENT, "arguments-invalid")
    assert (provider.narrowed, provider.invoked) == ([], [])


async def test_a_narrowed_call_reaches_its_provider_as_the_exact_tool_with_its_launch() -> None:
    provider, events = FakeProvider(narrows=True, launch=in_its_session), MemoryEvents()
    await road_to(provider, events=events)(a_call(a_tool("suite"), {"a": 1}))
    [call] = provider.invoked
    assert call.tool.name == "suite/inner"
    assert call.via is not None
    assert call.via.name == "suite"
    assert call.launch is not None
    assert (call.launch.tool, call.launch.cwd) == (call.tool, "/workspace")
    [narrowed] = events.of(CallNarrowed)
    assert (narrowed.suite, narrowed.tool) == ("suite", "suite/inner")


async def test_the_gates_before_the_provider_leave_no_trace_when_a_call_passes_twice() -> None:
    """In the modern era a call that is asked about passes them a second time."""
    provider = FakeProvider(narrows=True, launch=in_its_session)
    call = a_call(a_tool("suite"), {"a": 1})
    road = road_to(provider)
    await road(call)
    await road(call)
    first, second = provider.invoked
    assert first.tool.name == second.tool.name
    assert bytes(first.arguments) == bytes(second.arguments) == bytes(call.arguments)
    assert call.launch is None
    assert call.via is None


@requirement("S2.105")
async def test_every_call_is_seen_to_begin_and_to_end_with_its_time() -> None:
    events = MemoryEvents()
    await road_to(FakeProvider(), events=events)(a_call())

    async def failing(_: Call) -> Outcome:
        return outcome("no", is_error=True)

    await road_to(FakeProvider(run=failing), events=events)(a_call())
    assert [event.tool for event in events.of(CallStarted)] == ["tool", "tool"]
    assert [event.outcome for event in events.of(CallFinished)] == ["ok", "error"]
    assert all(event.duration_s >= 0 for event in events.of(CallFinished))
    assert {event.call_id for event in events.of(CallFinished)} == {"call-1"}


async def test_what_nobody_foresaw_is_an_internal_fault_without_path_or_traceback() -> None:
    async def burst(_: Call) -> Outcome:
        raise ZeroDivisionError("/home/me/secret.py")

    events = MemoryEvents()
    fault = await fault_of(road_to(FakeProvider(run=burst), events=events), a_call())
    assert (fault.code, fault.reason) == (FaultCode.INTERNAL, "unexpected")
    shown = f"{fault.message} {fault.hint} {fault.details}"
    assert "secret" not in shown
    assert "Traceback" not in shown
    assert "call-1" in fault.hint
    [finished] = events.of(CallFinished)
    assert (finished.outcome, finished.reason) == ("internal", "unexpected")
    assert "ZeroDivisionError" in finished.private


async def test_a_fault_passes_as_it_is_and_its_private_part_goes_to_the_log_only() -> None:
    thrown = Fault(FaultCode.UNAVAILABLE, "child-exited", "gone", private="/var/log/x")

    async def fail(_: Call) -> Outcome:
        raise thrown

    events = MemoryEvents()
    assert await fault_of(road_to(FakeProvider(run=fail), events=events), a_call()) is thrown
    [finished] = events.of(CallFinished)
    assert (finished.outcome, finished.reason) == ("unavailable", "child-exited")
    assert finished.private == "/var/log/x"


async def test_a_cancelled_call_is_an_event_and_stays_cancelled() -> None:
    begun = asyncio.Event()

    async def wait(_: Call) -> Outcome:
        begun.set()
        await asyncio.Event().wait()
        raise AssertionError

    events = MemoryEvents()
    task = asyncio.ensure_future(road_to(FakeProvider(run=wait), events=events)(a_call()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    [finished] = events.of(CallFinished)
    assert (finished.outcome, finished.reason) == ("cancelled", "client-cancelled")


async def test_a_session_that_says_where_it_works_runs_there() -> None:
    provider = FakeProvider(launch=in_its_session)
    await road_to(provider)(a_call(session=a_session(cwd="/elsewhere")))
    [call] = provider.invoked
    assert call.launch is not None
    assert call.launch.cwd == "/elsewhere"


async def test_the_launch_is_asked_for_once_and_the_provider_gets_that_very_one() -> None:
    asked: list[Launch] = []

    def launch(_: Call) -> Launch:
        asked.append(a_launch())
        return asked[-1]

    provider = FakeProvider(launch=launch)
    await road_to(provider)(a_call())
    [given], [call] = asked, provider.invoked
    assert call.launch is given


async def test_a_provider_refuses_a_call_where_it_may_not_run() -> None:
    def nowhere(_: Call) -> Launch:
        raise Fault(FaultCode.PERMISSION_DENIED, "path-outside-workspace", "not there")

    provider = FakeProvider(launch=nowhere)
    assert (await fault_of(road_to(provider), a_call())).reason == "path-outside-workspace"
    assert provider.invoked == []


@requirement("S3.26")
async def test_approval_stands_between_what_will_run_and_the_provider(tmp_path: Path) -> None:
    """It sees the exact tool and its place, and the provider sees nothing before it agreed."""
    asker = ScriptedAsker("denied")
    ground = Ground(tmp_path)
    provider, events = FakeProvider(narrows=True, launch=lambda _: ground.launch), MemoryEvents()
    road = build_road({provider.key: provider}, OPEN, events, approval=ground.gate)
    call = replace(a_call(a_tool("suite"), {"a": 1}), asker=asker)
    fault = await fault_of(road, call)
    assert (fault.code, fault.reason) == (FaultCode.PERMISSION_DENIED, "approval-denied")
    assert provider.invoked == []
    [question] = asker.asked
    assert question.suite == "suite"
    asker.verdict = "approved"
    await road(call)
    [passed] = provider.invoked
    assert passed.launch is not None
    assert passed.approval is not None
    [denied, ran] = events.of(CallFinished)
    assert (denied.outcome, ran.outcome) == ("permission_denied", "ok")


async def test_a_tool_s_time_does_not_run_while_a_person_thinks(tmp_path: Path) -> None:
    class Thinking(ScriptedAsker):
        async def ask(self, question: Question, /) -> Answer:
            await asyncio.sleep(0.2)
            return await super().ask(question)

    ground = Ground(tmp_path)
    provider = FakeProvider(launch=lambda _: ground.launch)
    road = build_road({provider.key: provider}, OPEN, MemoryEvents(), approval=ground.gate)
    await road(replace(a_call(a_tool(timeout_s=0.05)), asker=Thinking()))
    assert len(provider.invoked) == 1


async def test_a_provider_that_cannot_tell_what_would_run_ends_with_the_deadline() -> None:
    class Stuck(FakeProvider):
        async def launch(self, call: Call) -> Launch | None:
            del call
            await asyncio.Event().wait()

    provider = Stuck()
    async with asyncio.timeout(5):
        fault = await fault_of(road_to(provider), a_call(a_tool(timeout_s=0.05)))
    assert (fault.code, fault.reason) == (FaultCode.DEADLINE_EXCEEDED, "tool-timeout")
    assert provider.invoked == []


async def test_a_timeout_inside_a_provider_is_not_taken_for_the_deadline() -> None:
    class Failing(FakeProvider):
        async def launch(self, call: Call) -> Launch | None:
            del call
            raise TimeoutError

    fault = await fault_of(road_to(Failing()), a_call(a_tool(timeout_s=60)))
    assert fault.code is not FaultCode.DEADLINE_EXCEEDED
