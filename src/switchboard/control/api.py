"""The control API: one object that the daemon's socket and its HTTP routes both speak."""

from collections.abc import Callable, Iterator
from typing import Protocol

from switchboard.control.requests import AnyRequest
from switchboard.core.calls.call_steps import CallStep
from switchboard.core.events import ApprovalAsked
from switchboard.core.questions import Asker

# Told of each question that a call waits for and that its caller cannot be asked, and of
# what goes on meanwhile.
Hear = Callable[[ApprovalAsked | CallStep], None]


class Control(Protocol):
    """What one caller may ask of a daemon."""

    async def answer(
        self, request: AnyRequest, *, asker: Asker | None = None, hear: Hear | None = None
    ) -> bytes:
        """The answer as a line of JSON. Raises a fault, and nothing else.

        For a call, `asker` puts questions to the caller's user.
        """
        ...

    def events(self, last: int) -> Iterator[str]:
        """The latest events as JSON lines, oldest first."""
        ...

    def follow(self, follower: Callable[[str], None]) -> Callable[[], None]:
        """Hear every event from now on as a JSON line, until the returned function is called."""
        ...

    def over_http(self) -> "Control":
        """The same for callers over HTTP, of whom nobody knows whether they are persons."""
        ...
