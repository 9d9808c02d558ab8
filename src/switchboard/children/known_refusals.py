"""Calls that a login is known not to reach as far as."""

import hashlib

from switchboard.core.faults import Fault, ScopeMissing
from switchboard.wire.messages import Parts

_MOST_KEPT = 64


class KnownRefusals:
    """What a server has said of calls, by their very bytes: other arguments may need less."""

    def __init__(self) -> None:
        # Read by every call: nearly always there is none.
        self.known: dict[bytes, ScopeMissing] = {}

    def note(self, params: Parts, fault: ScopeMissing) -> None:
        """It was refused just now."""
        if len(self.known) >= _MOST_KEPT:
            self.known.clear()
        self.known[_digest(params)] = fault

    def check(self, params: Parts) -> None:
        """Raises a fault where the same call was refused, and nobody has logged in since."""
        digest = _digest(params)
        known = self.known.get(digest)
        if known is None:
            return
        if not known.still_holds():
            del self.known[digest]
            return
        raise Fault(known.code, known.reason, known.message, hint=known.hint)


def _digest(params: Parts) -> bytes:
    return hashlib.sha256(b"".join(bytes(part) for part in params)).digest()
