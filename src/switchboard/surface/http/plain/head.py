"""The head of a request that says nothing unusual.

Nearly every request is one. Whatever else a head may hold (a folded line, a coding of the body, an
upgrade, letters beyond ASCII, an older version) is not for us to judge: `h11` reads those, and
says what is wrong with them. So nothing is accepted here that it would refuse.
"""

import re
from urllib.parse import unquote

from msgspec import Struct

from switchkit.patterns import pattern

# What h11 holds of a head that is not whole.
LONGEST_HEAD = 16 * 1024
# Where a scope holds the cycle of its request, if it is a plain one.
CYCLE = "switchboard-cycle"
_END = b"\r\n\r\n"
# No two of its parts match the same letter: what does not fit is known after one pass.
_HEAD = pattern(
    r"(?:GET|POST|DELETE) /[\x21-\x7e]* HTTP/1\.1"
    r"(?:\r\n[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e]*)+"
)
# What decides where the body ends, what the connection is for, or what comes before the answer.
_UNUSUAL = frozenset({"transfer-encoding", "upgrade", "expect", "trailer", "te", "connection"})
_ONCE = frozenset({"host", "content-length", "connection"})
_CONNECTION = frozenset({"connection"})
_MOST_DIGITS = 15
_LENGTH = pattern(r"\r\ncontent-length:[ \t]*([0-9]{1,15})(?=\r\n|\Z)", re.IGNORECASE)


class PlainHead(Struct, frozen=True, gc=False):
    """A request line and headers, their names in small letters."""

    method: str
    path: str
    headers: dict[str, str]
    # The names that came more than once; the last value of each stands.
    repeated: frozenset[str]
    # How many bytes of a body come after it.
    length: int
    # Where the body begins.
    size: int
    # What comes before and after the digits of its length, if a length is given.
    before: bytes
    after: bytes


_NONE_REPEATED: frozenset[str] = frozenset()


def read_head(data: bytes, last: PlainHead | None = None) -> PlainHead | None:
    """The head that these bytes begin with; None where it is not whole or not plain.

    `last` is that of the request before: a client says nearly the same each time.
    """
    if last is not None and last.before and data.startswith(last.before):
        return _same_but_longer(data, last) or _read(data)
    return _read(data)


def _same_but_longer(data: bytes, last: PlainHead) -> PlainHead | None:
    """The head, if it differs from another in the length of the body alone."""
    start = len(last.before)
    end = data.find(b"\r", start, start + _MOST_DIGITS + 1)
    digits = data[start:end] if end > 0 else b""
    if not digits.isdigit() or not data.startswith(last.after, end):
        return None
    size = end + len(last.after)
    if size == last.size and int(digits) == last.length:
        return last
    headers = {**last.headers, "content-length": digits.decode()}
    return PlainHead(
        last.method,
        last.path,
        headers,
        last.repeated,
        int(digits),
        size,
        last.before,
        last.after,
    )


def _read(data: bytes) -> PlainHead | None:
    end = data.find(_END, 0, LONGEST_HEAD)
    if end < 0:
        return None
    text = data[:end].decode("latin-1")
    if _HEAD.fullmatch(text) is None:
        return None
    lines = text.split("\r\n")
    headers: dict[str, str] = {}
    repeated: set[str] = set()
    for line in lines[1:]:
        name, _, value = line.partition(":")
        name = name.lower()
        if name in headers:
            repeated.add(name)
        headers[name] = value.strip(" \t")
    length = _LENGTH.search(text)
    if not _is_usual(headers, repeated) or (length is None and "content-length" in headers):
        return None
    method, path, _ = lines[0].split(" ")
    if "?" in path:
        # Hardly anybody asks for one with a query: people who come back from their login do.
        return None
    return PlainHead(
        method,
        unquote(path) if "%" in path else path,
        headers,
        frozenset(repeated) if repeated else _NONE_REPEATED,
        0 if length is None else int(length[1]),
        end + len(_END),
        b"" if length is None else data[: length.start(1)],
        b"" if length is None else data[length.end(1) : end + len(_END)],
    )


def _is_usual(headers: dict[str, str], repeated: set[str]) -> bool:
    """Whether nothing in it has a say in where the request ends, or what comes after it.

    That the connection stays open, as it does anyway, may be said.
    """
    if "host" not in headers or not repeated.isdisjoint(_ONCE):
        return False
    unusual = _UNUSUAL.intersection(headers)
    return not unusual or (unusual == _CONNECTION and headers["connection"].lower() == "keep-alive")
