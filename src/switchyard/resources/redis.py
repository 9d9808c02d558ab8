"""A part of a Redis of each branch: the keys that begin with its prefix, one of which is the mark.

Spoken to directly: its protocol is a line and a length. Redis does not know who uses which keys, so
open connections to it are nobody's in particular.
"""

import socket
from typing import BinaryIO, Self, cast
from urllib.parse import unquote, urlsplit

from switchyard.core.fault import YardFault
from switchyard.resources.site import ResourceSite
from switchyard.runtime.resource_records import ResourceRecord

_PATIENCE_S = 10.0
_MARK_KEY = "switchyard"


class _Redis:
    def __init__(self, site: ResourceSite) -> None:
        self._site = site
        parts = urlsplit(site.server)
        try:
            where = (parts.hostname or "127.0.0.1", parts.port or 6379)
            self._sock = socket.create_connection(where, _PATIENCE_S)
        except OSError as wrong:
            raise self._fault(str(wrong.strerror or wrong)) from None
        self._stream: BinaryIO = self._sock.makefile("rb")
        if parts.password:
            user = [unquote(parts.username)] if parts.username else []
            self.ask("AUTH", *user, unquote(parts.password))
        if parts.path.strip("/"):
            self.ask("SELECT", parts.path.strip("/"))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()
        self._sock.close()

    def _fault(self, told: str) -> YardFault:
        return YardFault("resource-failed", f"`{self._site.resource.name}`: redis: {told}")

    def ask(self, *words: str | bytes) -> object:
        raw = [one.encode() if isinstance(one, str) else one for one in words]
        parts = [f"*{len(raw)}\r\n".encode()]
        parts += [b"$%d\r\n%s\r\n" % (len(one), one) for one in raw]
        try:
            self._sock.sendall(b"".join(parts))
            return self._answer()
        except OSError as wrong:
            raise self._fault(str(wrong)) from None

    def _answer(self) -> object:
        line = self._stream.readline().rstrip(b"\r\n")
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            length = int(rest)
            return None if length < 0 else self._stream.read(length + 2)[:-2]
        if kind == b"*":
            return [self._answer() for _ in range(int(rest))]
        raise self._fault(rest.decode("utf-8", "replace") or "it closed the connection")


def _prefix(site: ResourceSite) -> str:
    return f"{site.name}:"


def found_mark(site: ResourceSite) -> str | None:
    """The mark among its keys; nothing when there is none."""
    with _Redis(site) as redis:
        found = redis.ask("GET", _prefix(site) + _MARK_KEY)
    return found.decode("utf-8", "replace") if isinstance(found, bytes) else None


def make(site: ResourceSite) -> ResourceRecord:
    """Take the prefix."""
    prefix = _prefix(site)
    with _Redis(site) as redis:
        redis.ask("SET", prefix + _MARK_KEY, site.mark)
    return site.record(site.server, **{f"{site.resource.env}_PREFIX": prefix})


def users(_: ResourceSite) -> int:
    """Nobody can tell."""
    return 0


def drop(site: ResourceSite) -> None:
    """Remove every key with the prefix, the mark last."""
    prefix = _prefix(site)
    pattern = f"{prefix}*"
    mark = (prefix + _MARK_KEY).encode()
    with _Redis(site) as redis:
        cursor: bytes = b"0"
        while True:
            answer = redis.ask("SCAN", cursor, "MATCH", pattern, "COUNT", "1000")
            cursor, keys = cast("tuple[bytes, list[bytes]]", answer)
            others = [one for one in keys if one != mark]
            if others:
                redis.ask("DEL", *others)
            if cursor == b"0":
                break
        redis.ask("DEL", mark)
