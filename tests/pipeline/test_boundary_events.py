"""Who asks, and in which trace, is told with every call."""

from msgspec.structs import replace

from fakes.calls import a_call, a_session, a_tool, answer
from switchboard.core.bus import EventBus
from switchboard.core.events import CallFinished, CallStarted, Event
from switchboard.core.people import EVERYBODY, Person
from switchboard.pipeline.gates.boundary import BoundaryGate


async def told_of(person: Person | None) -> list[str]:
    seen: list[Event] = []
    gate = BoundaryGate(EventBus(seen.append))
    call = a_call(a_tool("read"))
    await gate(replace(call, session=replace(a_session(), person=person)), answer)
    return [each.person for each in seen if isinstance(each, CallStarted | CallFinished)]


async def test_a_person_is_named_as_the_issuer_knows_them_and_nobody_in_particular_is_not() -> None:
    ann = Person(key="k1", subject="ann@example.org", name="Ann", groups=frozenset({"staff"}))
    assert await told_of(ann) == ["ann@example.org"] * 2
    assert await told_of(EVERYBODY) == ["", ""]
    assert await told_of(None) == ["", ""]
