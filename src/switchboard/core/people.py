"""Who asks, where many people share one Switchboard."""

from typing import Protocol

from msgspec import Struct


class Person(Struct, frozen=True, kw_only=True):
    """Somebody whom the issuer of the team knows, as their token says it."""

    # The same for nobody else and on every gateway; of letters and digits alone. Empty for whoever
    # is nobody in particular.
    key: str
    # As the issuer knows them, and as people do.
    subject: str
    name: str = ""
    groups: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.name} ({self.subject})" if self.name else self.subject


# Whoever shows the one token of a team, and is nobody in particular.
EVERYBODY = Person(key="", subject="team")


def key_of(person: Person | None) -> str:
    """What is compared where something is somebody's; the same for all where nobody has a name."""
    return "" if person is None else person.key


def name_in_logs(person: Person | None) -> str:
    """How the issuer knows somebody, for those who read logs; empty where nobody has a name."""
    return person.subject if person is not None and person.key else ""


class NotLetIn(Exception):
    """A token that lets nobody in: what is wrong with it, in words of ours alone."""

    def __init__(self, message: str, *, error: str = "invalid_token", status: int = 401) -> None:
        """`error` is a word of RFC 6750."""
        super().__init__(message)
        self.message = message
        self.error = error
        self.status = status


class Doorkeeper(Protocol):
    """Knows people by their tokens."""

    async def person(self, token: str, /) -> Person:
        """Whose token it is. Raises NotLetIn."""
        ...

    @property
    def document(self) -> bytes:
        """What we publish of ourselves as a protected resource (RFC 9728)."""
        ...

    @property
    def document_url(self) -> str:
        """Where that is."""
        ...

    @property
    def scopes(self) -> tuple[str, ...]:
        """What a token has to be good for."""
        ...
