"""What the same server does for others of a team, and what they are told of ours."""

from collections.abc import Collection
from typing import Protocol


class Elsewhere(Protocol):
    """The same servers on other gateways. A server is known by `known_to_team`."""

    def changed(self, server: str, feature: str, /) -> None:
        """Our child lists something else."""
        ...

    def updated(self, server: str, uri: str, /) -> None:
        """Our child says, or may have meant to say, that a resource is not what it was."""
        ...

    def follows(self, server: str, /) -> None:
        """Clients of ours follow other resources than before."""
        ...

    def followed(self, server: str, /) -> Collection[str]:
        """The resources that clients of others follow."""
        ...


class Nowhere:
    """There are no others."""

    def changed(self, server: str, feature: str, /) -> None:
        """Nobody is told."""

    def updated(self, server: str, uri: str, /) -> None:
        """Nobody is told."""

    def follows(self, server: str, /) -> None:
        """Nobody is told."""

    def followed(self, server: str, /) -> Collection[str]:
        """Nothing."""
        del server
        return ()
