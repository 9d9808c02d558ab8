"""Shows what waits for a person as it comes, and on a terminal takes the answers."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Mapping

from switchboard.approvals.approver import Approver
from switchboard.cli.report import Report, Silent
from switchboard.control.decisions import Decisions
from switchboard.control.requests import DecideRequest
from switchboard.core.faults import Fault
from switchboard.core.questions import Extent, Question
from switchboard.core.stores import ApprovalStore, Held, Subscription
from switchkit.cli.style import is_terminal

# The end of whoever asked is not told; at the latest then it is noticed.
_LOOK_S = 1.0
_GONE = "it does not wait any more"
_ENDED = frozenset({"decided-already", "unknown-approval", "changed-again"})
# Whether it is agreed to, and for how long.
_ANSWERS: dict[str, tuple[bool, Extent]] = {
    "y": (True, "once"),
    "s": (True, "session"),
    "n": (False, "once"),
}
_CHOICES = {"y": "y: this call", "s": "s: every call of this session", "n": "n: no"}


class WaitingCall:
    """A call that a client wants to make."""

    def __init__(
        self,
        store: ApprovalStore,
        decisions: Decisions,
        question: Question,
        show: Callable[[Question], object],
    ) -> None:
        self._store = store
        self._decisions = decisions
        self._question = question
        self._show = show
        self.id = question.id
        self.choices: Mapping[str, str] = {
            key: _CHOICES[key] for key, (_, extent) in _ANSWERS.items() if extent in question.offers
        }

    def show(self) -> None:
        self._show(self._question)

    async def still_waits(self) -> bool:
        return await self._store.answer(self.id) is None

    async def decide(self, key: str) -> str:
        """Give the answer, and say what came of it. Raises a fault."""
        approves, extent = _ANSWERS[key]
        wanted = DecideRequest(id=self.id, approves=approves, extent=extent)
        return await _outcome(self._decisions, wanted)


class WaitingDefinition:
    """A tool that its server has changed."""

    choices: Mapping[str, str] = {"y": "y: take it as it is now", "n": "n: no"}

    def __init__(
        self,
        store: ApprovalStore,
        decisions: Decisions,
        held: Held,
        show: Callable[[Held], object],
    ) -> None:
        self._store = store
        self._decisions = decisions
        self._held = held
        self._show = show
        self.id = held.id

    def show(self) -> None:
        self._show(self._held)

    async def still_waits(self) -> bool:
        return any(held.id == self.id for held in await self._store.held())

    async def decide(self, key: str) -> str:
        """Give the answer, and say what came of it. Raises a fault."""
        return await _outcome(self._decisions, DecideRequest(id=self.id, approves=key == "y"))


async def _outcome(decisions: Decisions, wanted: DecideRequest) -> str:
    try:
        return (await decisions.decide(wanted, Approver.of_this_process())).verdict
    except Fault as fault:
        if fault.reason in _ENDED:
            return _GONE
        raise


Waiting = WaitingCall | WaitingDefinition


async def watch(store: ApprovalStore, waiting: Callable[[], AsyncIterator[Waiting]]) -> Report:
    """Stay, until interrupted or until the terminal is closed."""
    seen: set[str] = set()
    asks = is_terminal(sys.stdin)
    with store.subscribe() as news:
        while True:
            # Those that ended are forgotten, so that the set stays small.
            found = {each.id: each async for each in waiting()}
            seen &= found.keys()
            for each in found.values():
                if each.id in seen:
                    continue
                seen.add(each.id)
                each.show()
                if asks and not await _take_answer(each, news):
                    return Silent()
            await news.changed(_LOOK_S)


async def _take_answer(waiting: Waiting, news: Subscription) -> bool:
    """Ask until there is an answer from here or from elsewhere. False when nobody is there."""
    _say(f"{', '.join(waiting.choices.values())}, Enter: later > ")
    while True:
        line = await _line_while(waiting, news)
        if line is None:
            _say(f"\n{_GONE}\n")
            return True
        if not line:
            return False
        key = line.strip().lower()
        if not key:
            return True
        if key not in waiting.choices:
            _say(f"{', '.join(waiting.choices)} or Enter > ")
            continue
        try:
            _say(f"{await waiting.decide(key)}\n")
        except Fault as fault:
            _say(f"{fault.message}\n")
        return True


async def _line_while(waiting: Waiting, news: Subscription) -> str | None:
    """What is typed, or nothing once it does not wait any more."""
    typing = asyncio.ensure_future(_typed_line())
    try:
        while await waiting.still_waits():
            changing = asyncio.ensure_future(news.changed(_LOOK_S))
            await asyncio.wait((typing, changing), return_when=asyncio.FIRST_COMPLETED)
            changing.cancel()
            if typing.done():
                return typing.result()
    finally:
        typing.cancel()
    return None


async def wait_for_line() -> None:
    """Wait until a line was typed. A thread that reads could not be stopped."""
    loop = asyncio.get_running_loop()
    ready = loop.create_future()
    loop.add_reader(sys.stdin.fileno(), lambda: ready.done() or ready.set_result(None))
    try:
        await ready
    finally:
        loop.remove_reader(sys.stdin.fileno())


async def _typed_line() -> str:
    await wait_for_line()
    return sys.stdin.readline()


def _say(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
