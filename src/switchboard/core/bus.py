"""Hands every event to everyone who wants it."""

import contextlib
import traceback
from collections.abc import Callable

from switchboard.core.events import Event

Subscriber = Callable[[Event], None]


class EventBus:
    """The `Events` that the program runs with.

    A subscriber with a method `hears` is asked once of each kind of event whether it wants them.
    """

    def __init__(self, *subscribers: Subscriber) -> None:
        self._subscribers = subscribers
        self._failed: set[Subscriber] = set()
        # Who hears each kind: several come with every call, and few want to know.
        self._by_kind: dict[type[Event], tuple[Subscriber, ...]] = {}

    def subscribe(self, subscriber: Subscriber) -> None:
        """From now on this one hears everything too."""
        self._subscribers = (*self._subscribers, subscriber)
        self._by_kind.clear()

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """From now on this one hears nothing more."""
        self._subscribers = tuple(each for each in self._subscribers if each is not subscriber)
        self._by_kind.clear()

    def hears(self, kind: type[Event]) -> bool:
        """Whether anybody wants events of a kind."""
        hearers = self._by_kind.get(kind)
        return bool(self._hearers(kind) if hearers is None else hearers)

    def _hearers(self, kind: type[Event]) -> tuple[Subscriber, ...]:
        hearers = tuple(each for each in self._subscribers if _hears(each, kind))
        self._by_kind[kind] = hearers
        return hearers

    def emit(self, event: Event, /) -> None:
        kind = type(event)
        hearers = self._by_kind.get(kind)
        for subscriber in self._hearers(kind) if hearers is None else hearers:
            try:
                subscriber(event)
            except Exception:  # noqa: BLE001 - a call must not fail because somebody watches it
                self._complain(subscriber)

    def _complain(self, subscriber: Subscriber) -> None:
        """Say once of each subscriber that it fails: there may be thousands of events."""
        if subscriber not in self._failed:
            self._failed.add(subscriber)
            # Where stderr is a pipe that nobody reads any more, this fails too.
            with contextlib.suppress(Exception):
                traceback.print_exc()


def _hears(subscriber: Subscriber, kind: type[Event]) -> bool:
    hears: Callable[[type[Event]], bool] | None = getattr(subscriber, "hears", None)
    return hears is None or hears(kind)
