"""What a remote child is shown of us: the port that logins lie behind."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Protocol

from switchboard.children.schema import ServerEntry
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault


class Authorization(Protocol):
    """The login at one server. Whoever asks sends what it gets to that server's origin alone."""

    async def header(self) -> str:
        """What `Authorization` says; nothing to try it without. Raises a fault.

        Renews what has expired.
        """
        ...

    async def renewed(self, refused: str) -> str:
        """Another value, after the server refused this one; nothing when there is none.

        Asked once for a request. Raises a fault when one may be there later.
        """
        ...

    def fault(self, status: int, challenge: str) -> Fault | None:
        """What to tell a client when the server refuses for good; `challenge` is its header.

        Nothing when it is not about the login.
        """
        ...

    def close(self) -> None:
        """The connection has ended, and needs nothing renewed any more."""
        ...


# Says whether somebody has logged in.
OfferLogin = Callable[[ServerEntry, Channel], Awaitable[bool]]


class Authorizations(Protocol):
    """Gives the login of a server to those who connect to it."""

    def open(
        self,
        entry: ServerEntry,
        *,
        environ: Mapping[str, str],
        secret: Callable[[str], str | None],
        learn: Callable[[Iterable[str]], None],
        forget: Callable[[Iterable[str]], None],
    ) -> Authorization:
        """The login at this server. `secret` looks references up; secrets are noted by `learn`."""
        ...

    def offer(self, entry: ServerEntry, channel: Channel) -> Awaitable[bool]:
        """Offer the client's user a page to log in at. Says whether somebody did."""
        ...
