"""What a browser keeps for us: readable by it, changeable by nobody.

Sealed with the secret of the team, so that any gateway knows it again.
"""

import hmac
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import TypeVar

import msgspec

T = TypeVar("T")


class SealedCookies:
    """Seals values, each for one purpose and until it is too old."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, purpose: str, value: object, lasts_s: float) -> str:
        """The text of a value."""
        whole = msgspec.json.encode((time.time() + lasts_s, value))
        text = urlsafe_b64encode(whole).rstrip(b"=").decode()
        return f"{text}.{self.word(purpose, text)}"

    def open(self, purpose: str, sealed: str, kind: type[T]) -> T | None:
        """The value that was sealed for this purpose; nothing if it was not, or is too old."""
        text, _, signature = sealed.rpartition(".")
        if not text or not hmac.compare_digest(
            self.word(purpose, text).encode(), signature.encode("utf-8", "replace")
        ):
            return None
        whole = urlsafe_b64decode(text + "=" * (-len(text) % 4))
        try:
            until, value = msgspec.json.decode(whole, type=tuple[float, kind])
        except msgspec.ValidationError:
            # Of a gateway of another version: whoever has it logs in anew.
            return None
        return value if time.time() < until else None

    def word(self, purpose: str, of: str) -> str:
        """What only we can say of a text."""
        return hmac.digest(self._key, f"{purpose}\n{of}".encode(), "sha256").hex()
