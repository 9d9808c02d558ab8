"""Numbers that a device signs, each once. None is kept before it has been signed.

Whoever can reach the page may ask for one. If those were kept, a stranger who asks for many would
take them away from the phone that is about to sign.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable

# How long a device may take to sign.
LASTS_S = 120.0
# Of those that were signed by a device: one that signs more at once has to begin anew.
_MOST_USED = 4_096
_RANDOM_BYTES = 18
_PARTS = 3


class Nonces:
    """The numbers of one listener, known again by their seals."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._secret = secrets.token_bytes(32)
        # Until when a number that was used would have counted.
        self._used: dict[str, float] = {}

    def issue(self) -> str:
        """A number that counts once, for a while."""
        until = f"{self._clock() + LASTS_S:.3f}".replace(".", "_")
        name = f"{until}.{secrets.token_urlsafe(_RANDOM_BYTES)}"
        return f"{name}.{self._seal(name)}"

    def counts(self, nonce: str) -> bool:
        """Whether it is one of ours that nobody has used, and not too old."""
        parts = nonce.split(".")
        if len(parts) != _PARTS or nonce in self._used:
            return False
        name = ".".join(parts[:2])
        # Only what we wrote ourselves is read as a time.
        is_ours = hmac.compare_digest(parts[2].encode(), self._seal(name).encode())
        return is_ours and self._clock() < _until(nonce)

    def use(self, nonce: str) -> None:
        """Let it count no more."""
        now = self._clock()
        while self._used:
            oldest = next(iter(self._used))
            if self._used[oldest] > now and len(self._used) < _MOST_USED:
                break
            del self._used[oldest]
        self._used[nonce] = _until(nonce)

    def _seal(self, name: str) -> str:
        return hmac.new(self._secret, name.encode(), hashlib.sha256).hexdigest()


def _until(nonce: str) -> float:
    return float(nonce.partition(".")[0].replace("_", "."))
