"""What has happened lately in a daemon, for whoever asks: counts, recent events, followers."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, cast

import msgspec

from switchboard.core.bus import Subscriber
from switchboard.core.events import (
    CallFinished,
    CallNarrowed,
    CallStarted,
    Event,
    SessionClosed,
    SessionOpened,
)
from switchboard.wire.messages import encode

_KEPT = 1_000

Follower = Callable[[str], None]


class Tally:
    """The calls of one session."""

    __slots__ = ("calls", "failures", "finished", "last_failure")

    def __init__(self) -> None:
        self.calls = 0
        self.finished = 0
        self.failures = 0
        self.last_failure = ""


class RecentEvents:
    """Hears the events of every board."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, str, Event]] = deque(maxlen=_KEPT)
        self._followers: set[Follower] = set()
        self.tallies: dict[str, Tally] = {}

    def subscriber(self, workspace: str) -> Subscriber:
        """Who hears the events of one board."""
        recent = self._recent

        def note(event: Event, /) -> None:
            recent.append((time.time(), workspace, event))
            if type(event) is not CallNarrowed:
                self._count(event)
            if self._followers:
                line = _line(*recent[-1])
                for follower in tuple(self._followers):
                    follower(line)

        return note

    def _count(self, event: Event) -> None:
        kind = type(event)
        if kind is CallStarted:
            tally = self.tallies.get(cast("CallStarted", event).session_id)
            if tally is not None:
                tally.calls += 1
        elif kind is CallFinished:
            finished = cast("CallFinished", event)
            tally = self.tallies.get(finished.session_id)
            if tally is not None:
                tally.finished += 1
                if finished.outcome != "ok":
                    tally.failures += 1
                    tally.last_failure = f"{finished.tool}: {finished.reason or finished.outcome}"
        elif kind is SessionOpened:
            self.tallies[cast("SessionOpened", event).session_id] = Tally()
        elif kind is SessionClosed:
            self.tallies.pop(cast("SessionClosed", event).session_id, None)

    def events(self) -> tuple[tuple[float, str, Event], ...]:
        """Those that are remembered, oldest first, with their times and workspaces."""
        return tuple(self._recent)

    def recent(self, last: int) -> Iterator[str]:
        """The latest events as JSON lines, oldest first."""
        events = list(self._recent)
        for at, workspace, event in events[max(0, len(events) - last) :]:
            yield _line(at, workspace, event)

    def follow(self, follower: Follower) -> Callable[[], None]:
        """Hear every event from now on as a JSON line, until the returned function is called."""
        self._followers.add(follower)
        return lambda: self._followers.discard(follower)


def _line(at: float, workspace: str, event: Event) -> str:
    # What only the log may know stays there.
    fields: dict[str, Any] = {
        name: value
        for name, value in msgspec.structs.asdict(event).items()
        if name not in {"private", "stderr_tail"} and value != ""
    }
    record = {"at": round(at, 3), "event": type(event).__name__, "workspace": workspace, **fields}
    return encode(record).decode()
