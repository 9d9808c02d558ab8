"""The way back to the client of one request, for as long as the request is under way."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Raw, Struct

if TYPE_CHECKING:
    from switchboard.core.calls.receipts import Receipt

# Said by a client of the handshake era that works elsewhere now.
ROOTS_CHANGED = "notifications/roots/list_changed"


class Input(Struct, frozen=True):
    """Something that a child wants of the client: a form filled in, a text written, its roots."""

    method: str
    params: Raw


# Asks the client several things, each by a key, and waits for its answers by the same keys.
Ask = Callable[[Mapping[str, Input]], Awaitable[Mapping[str, Raw]]]


class Channel(Protocol):
    """What may be told and asked of the client while its request is under way."""

    @property
    def receipt(self) -> "Receipt | None":
        """Of the call that the request makes, once it is on the road."""
        ...

    def hold(self, receipt: "Receipt") -> None:
        """Note the receipt of the call that the request makes.

        A call that is only a part of one has no answer of its own, and holds none.
        """
        ...

    @property
    def session_id(self) -> str:
        """Whose channel it is."""
        ...

    @property
    def holder(self) -> str:
        """The same, for who has no session of its own and comes again: see `Session.holder`."""
        ...

    @property
    def request_id(self) -> Any:
        """What the client calls the request."""
        ...

    @property
    def declared(self) -> bytes:
        """What the client can be asked for, as the JSON of its capabilities."""
        ...

    @property
    def meta(self) -> bytes:
        """Members of the request's `_meta` that only the two ends understand, each with a comma."""
        ...

    @property
    def log_level(self) -> str:
        """From which level on the client wants log messages; empty when it did not say."""
        ...

    def report(self, done: float, total: float | None = None, message: str = "") -> None:
        """Tell how far the work has come. The call gets its time anew."""
        ...

    def progress(self, params: Raw) -> None:
        """As `report`, in the words of a child."""
        ...

    def log(self, level: str, params: bytes) -> None:
        """Pass on a log message."""
        ...

    def notify(self, method: str, params: bytes) -> None:
        """Tell what only clients of one kind understand, in their words.

        Progress that is told this way is a sign of our own: how far it is is for us to say.
        """
        ...

    def visited(self, params: Raw) -> None:
        """Pass on that a page was visited that the client was asked to visit."""
        ...

    @property
    def is_pressed(self) -> bool:
        """Whether the client has not read what it was told so far."""
        ...

    async def relieved(self) -> None:
        """Wait until the client has read on, or is gone."""
        ...

    async def ask(self, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        """The client's answers, by the same keys. Raises a fault when there will be none.

        The call's clock stands still meanwhile.
        """
        ...

    def ask_elsewhere(self, ask: Ask) -> None:
        """The request gets its answer now, but may ask later: in this way, and without haste."""
        ...
