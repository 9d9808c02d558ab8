"""The one secret that the processes of a team share, and what is made from it.

Several may be known at once: the first is used, the others still open what was made with them. So
a team changes its secret without a moment in which something cannot be read.
"""

import hmac
from collections.abc import Sequence

from switchboard.core.faults import Fault, FaultCode

_LEAST_LETTERS = 32
_SALT = b"switchboard.team/1"


class TeamKey:
    """One secret of a team. It never shows what it is."""

    def __init__(self, secret: bytes) -> None:
        self._secret = hmac.digest(_SALT, secret, "sha256")
        # Tells which of several it was, and nothing else.
        self.id = self.derived("id").hex()[:16]

    def __repr__(self) -> str:
        return f"TeamKey({self.id})"

    def derived(self, purpose: str) -> bytes:
        """A key for one purpose, from which neither the secret nor another key can be made."""
        # One block of HKDF (RFC 5869), which is as long as any key here.
        return hmac.digest(self._secret, f"switchboard.team.{purpose}".encode() + b"\1", "sha256")


def read_team_keys(text: str) -> tuple[TeamKey, ...]:
    """The secrets of a text, one a line, the one to use first. Raises a fault that shows none."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines or any(len(line) < _LEAST_LETTERS for line in lines):
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "team-key-invalid",
            f"the secret of a team has at least {_LEAST_LETTERS} letters, made by chance",
            hint="openssl rand -base64 32",
        )
    return tuple(TeamKey(line.encode()) for line in lines)


def by_id(keys: Sequence[TeamKey], key_id: str) -> TeamKey | None:
    """The one that was used, if it is still known."""
    return next((key for key in keys if key.id == key_id), None)
