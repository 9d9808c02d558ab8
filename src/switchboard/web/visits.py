"""Who may look at the page: a link that logs in once, and the cookie that it is changed for.

A cookie goes to every port of this machine, so that any local server that a browser visits gets to
know it. It counts only together with a key that the page alone has, in the storage of its origin.
"""

import hashlib
import hmac
import secrets
import time

from msgspec import Struct

from switchboard.core.single_use import SingleUse

LINK_S = 300.0
VISIT_S = 7 * 86_400
_MOST_LINKS = 8
_RANDOM_BYTES = 32
_PARTS = 3


class Visit(Struct, frozen=True, kw_only=True):
    """What a browser is given when it logs in."""

    cookie: str
    key: str


class Visits:
    """The visits of one listener. Whoever has its secret knows them all again."""

    def __init__(self, secret: str, origin: str) -> None:
        """A visit of another origin is none here, though its secret be the same."""
        self._secret = secret.encode()
        self._origin = origin.encode()
        self._links: SingleUse[bool] = SingleUse(
            lambda: secrets.token_urlsafe(_RANDOM_BYTES), lasts_s=LINK_S, most=_MOST_LINKS
        )

    def link(self) -> str:
        """The token of a link that logs in once."""
        return self._links.issue(True)

    def begin(self, token: str) -> Visit | None:
        """Log in by the token of a link; nothing if it is none."""
        if not self._links.take(token):
            return None
        name = f"{int(time.time()) + VISIT_S}.{secrets.token_urlsafe(_RANDOM_BYTES)}"
        return Visit(cookie=f"{name}.{self._sealed(b'cookie', name)}", key=self._key(name))

    def holds(self, cookie: str, key: str) -> bool:
        """Whether both belong to one visit that still lasts."""
        until, _, rest = cookie.partition(".")
        name = cookie.rpartition(".")[0]
        if len(cookie.split(".")) != _PARTS or not until.isdecimal() or not rest:
            return False
        is_ours = hmac.compare_digest(
            cookie.encode(), f"{name}.{self._sealed(b'cookie', name)}".encode()
        )
        is_page = hmac.compare_digest(key.encode(), self._key(name).encode())
        return is_ours and is_page and int(until) > time.time()

    def _key(self, name: str) -> str:
        return self._sealed(b"key", name)

    def _sealed(self, purpose: bytes, name: str) -> str:
        text = b"\n".join((purpose, self._origin, name.encode()))
        return hmac.new(self._secret, text, hashlib.sha256).hexdigest()
