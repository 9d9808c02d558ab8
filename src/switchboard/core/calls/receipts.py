"""What becomes of calls, and whether their clients have the answers."""

import asyncio
import re
import time
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Raw, Struct

from switchboard.core.calls.clock import CallTimes, Clock
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.privacy.secrets import NO_SECRETS, Redact
from switchboard.core.sessions import Session
from switchkit.patterns import pattern

if TYPE_CHECKING:
    from switchboard.core.calls.call import Call, Outcome
    from switchboard.core.faults import Fault

# Why a client waits no more: it said so, its patience was over, or it is not there any more.
GaveUp = Literal["", "cancelled", "timed-out", "left"]
# As hosts say it: `McpError: MCP error -32001: Request timed out`, `request timeout`.
_TIMED_OUT = pattern(r"timed?[\s_-]?out|deadline", re.IGNORECASE)


def gave_up(reason: str | None) -> GaveUp:
    """Why, by the words of a cancellation; nothing was said by a client that is gone.

    The protocol has one notification for a person who pressed a key and for a host whose patience
    is over. Only the first wants the work to end; what the second began may well be done by now,
    and it will be sent again.
    """
    if reason is None:
        return "left"
    return "timed-out" if _TIMED_OUT.search(reason) else "cancelled"


# What an identical call waits for: the outcome, nothing if it was cancelled, and whether it ended.
Following = asyncio.Future["tuple[Outcome | Fault | None, bool]"]


class Arrival(Protocol):
    """How far an answer got, of those that went the same way."""

    def look(self) -> int:
        """Up to where the client has read, by a count of its own."""
        ...

    @property
    def taken(self) -> int:
        """The same when it was last looked at."""
        ...

    @property
    def is_over(self) -> bool:
        """Whether it will read no further."""
        ...


class Receipt(Struct, eq=False):
    """One call that may change something, from then on until its client has the answer."""

    id: str
    session: Session
    tool: ToolSpec
    # The suite that it came through.
    via: ToolSpec | None
    clock: Clock
    # By the monotonic clock.
    began_at: float
    # Takes the secrets out of what is kept of it.
    hide: Redact = NO_SECRETS
    # Until its client has the answer: who looks after it, what it is about, where it is looked for
    # when it is sent again, and what it came to.
    book: "Calls | None" = None
    call: "Call | None" = None
    place: "tuple[str, ToolSpec, bytes] | None" = None
    # Another that is the same in this, and older; nearly always there is none.
    older: "Receipt | None" = None
    outcome: "Outcome | Fault | None" = None
    # Once it has ended: where its time went, and as in the event: `ok`, `error` or the code of a
    # fault.
    times: CallTimes | None = None
    status: str = ""
    reason: str = ""
    # How far the answer got, and how far it has to get; nothing before it was sent.
    delivery: "Arrival | bool | None" = None
    mark: int = 0
    # Why its client waits no more, whether its session has ended, and whether its outcome lies on
    # disk.
    given_up: GaveUp = ""
    # Whether its client was answered with a question, and has not gone on with the call since.
    is_parked: bool = False
    is_left: bool = False
    is_kept: bool = False
    # Identical calls that wait for its end.
    followers: "list[Following] | None" = None
    # The call whose answer it was given, being the same; and that itself, until it was delivered.
    repeats_id: str = ""
    repeats: "Receipt | KeptOutcome | None" = None

    @property
    def came_at(self) -> float:
        """When it came, by the clock of the world."""
        return _by_the_world(self.began_at)

    @property
    def ended_at(self) -> float:
        """When it ended; 0 while it is under way."""
        times = self.times
        if times is None:
            return 0.0
        return _by_the_world(self.began_at + times.queue_s + times.work_s + times.human_s)

    def current_times(self, now: float) -> CallTimes:
        """Where its time has gone so far."""
        return self.times or self.clock.times(self.began_at, now)

    # Those who wait for it

    def tell(self, outcome: "Outcome | Fault | None", *, has_ended: bool = True) -> None:
        """Tell those who wait what they wait for, or that it now waits for a person itself."""
        for each in self.followers or ():
            if not each.done():
                each.set_result((outcome, has_ended))

    def goes_on(self, why: GaveUp) -> bool:
        """Whether the work is done to its end although its client gives it up."""
        if self._runs_on(why) or self.followers:
            self.given_up = why
            return True
        return False

    def _runs_on(self, why: GaveUp) -> bool:
        """Only what has begun, may have changed something by now, and waits for nobody's answer."""
        clock = self.clock
        if self.book is None or self.status or not clock.worked_from or clock.is_asking:
            return False
        return self.book.lets_go_on(why)

    # The way of the answer

    def look(self) -> bool | None:
        """Whether the client has the answer; nothing while that is open."""
        way = self.delivery
        if way is None or isinstance(way, bool):
            return way
        if way.taken >= self.mark or way.look() >= self.mark:
            self.delivery = True
        elif way.is_over:
            self.delivery = False
        else:
            return None
        return self.delivery


def _by_the_world(moment: float) -> float:
    return time.time() - time.monotonic() + moment


class KeptFault(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How a call failed whose client does not know yet."""

    code: str
    reason: str
    message: str
    hint: str = ""
    details: dict[str, Any] = {}


class KeptOutcome(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome of a call whose client has not got it, as it lies on disk. It has no secrets."""

    id: str
    session: str
    client: str = ""
    workspace: str = ""
    tool: str
    suite: str = ""
    came_at: float
    ended_at: float
    # From then on it is as if it were not there.
    until: float
    times: CallTimes = CallTimes()
    status: str
    reason: str = ""
    given_up: GaveUp = ""
    # Who is answered with it: the same session, and, once that has ended, the same client in the
    # same workspace; nobody where these are empty.
    session_claim: str = ""
    successor_claim: str = ""
    # Whether the answer was on its way when it was last looked at.
    was_sent: bool = False
    # What the tool answered, or nothing if that was larger than is kept.
    result: Raw | None = None
    is_modern: bool = False
    size: int = 0
    fault: KeptFault | None = None
    # Whether it came after the call had run out of time, and its client was told so.
    is_late: bool = False


class KeptOutcomes(Protocol):
    """Where outcomes lie that nobody has got. What cannot be read is not there."""

    def put(self, kept: KeptOutcome, /) -> bool:
        """Keep one, for a while. Says whether that was possible. It may take a moment."""
        ...

    def get(self, call_id: str, /) -> KeptOutcome | None:
        """The outcome of a call."""
        ...

    def drop(self, call_id: str, /) -> None:
        """Somebody has got it."""
        ...

    def all(self) -> list[KeptOutcome]:
        """Those that are kept, the oldest first."""
        ...


class Calls(Protocol):
    """Who knows of every call on a road, and looks after those that may change something."""

    @property
    def under_way(self) -> "dict[str, Call]":
        """The calls on the road, by their ids, as far as they are narrowed."""
        ...

    def lets_go_on(self, why: GaveUp, /) -> bool:
        """Whether the outcome of a call is kept that its client gives up for this reason."""
        ...

    async def keep(self, receipt: Receipt, outcome: "Outcome | Fault", /) -> None:
        """Keep the outcome of a call whose client has given up. Never raises."""
        ...

    def end(self, receipt: Receipt, outcome: "Outcome | Fault | None", /) -> None:
        """A call has ended; without an outcome it was cancelled."""
        ...

    def sent(self, receipt: Receipt, way: Arrival, mark: int, /) -> None:
        """An answer is on its way; the client has it when it has read so far."""
        ...

    def late(self, receipt: Receipt, result: Raw, /) -> None:
        """A server has answered a call that had run out of time."""
        ...
