"""Hands every event to everyone who wants it."""

from collections.abc import Callable

from switchboard.core.events import Event

Subscriber = Callable[[Event], None]


class EventBus:
    """The `Events` that the program runs with."""

    def __init__(self, *subscribers: Subscriber) -> None:
        self._subscribers = subscribers

    def subscribe(self, subscriber: Subscriber) -> None:
        """From now on this one hears everything too."""
        self._subscribers = (*self._subscribers, subscriber)

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """From now on this one hears nothing more."""
        self._subscribers = tuple(each for each in self._subscribers if each is not subscriber)

    def emit(self, event: Event, /) -> None:
        for subscriber in self._subscribers:
            subscriber(event)
