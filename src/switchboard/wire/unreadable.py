"""Messages that cannot be read as they are: what may be mended, and what they are about.

Everything that comes in is passed on in parts, so it is checked here, at our own border: one peer
that writes bytes which are no text would otherwise end the connections of those who read them.
"""

import re
from functools import cache

from switchboard.wire.messages import MessageId

_REPLACEMENT = b"\\ufffd"
_MARK = b"\xef\xbb\xbf"
# The id of an answer stands at one of its ends: before the result, or behind it.
_ID = rb'"id"\s*:\s*(\d{1,15})\s*[,}]'
_END_BYTES = 200
_LOOKED_AT = 8_192


def is_text(message: bytes) -> bool:
    """Whether it is UTF-8."""
    if message.isascii():
        return True
    try:
        str(message, "utf-8")
    except UnicodeDecodeError:
        return False
    return True


def mended(message: bytes) -> bytes:
    """The message with U+FFFD for each half of a character, and without a byte order mark.

    Node writes such halves where it cuts a text, and means no harm.
    """
    return _escapes().sub(_whole, message.removeprefix(_MARK))


@cache
def _escapes() -> re.Pattern[bytes]:
    """Of a text whose half of a character was cut off. An escaped backslash is no escape."""
    # Compiled by the first who needs it: most peers never write such a text.
    return re.compile(
        rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
        rb"|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
        re.DOTALL,
    )


def _whole(escape: re.Match[bytes]) -> bytes:
    return _REPLACEMENT if escape["half"] else escape[0]


def looks_like_answer(message: bytes) -> bool:
    """Whether it was most likely meant to be one, in whatever letters: no banner, no line of a log.

    UTF-16 and UTF-32 have a zero beside each letter of the protocol.
    """
    start = message[:_LOOKED_AT].replace(b"\0", b"")
    end = message[-_LOOKED_AT:].replace(b"\0", b"")
    said = start + end
    return b'"jsonrpc"' in said and (b'"result"' in said or b'"error"' in said)


def answered_id(message: bytes) -> MessageId:
    """Which request of ours an answer is about that nobody can read; None if it does not say."""
    if not message.lstrip(_MARK + b" \t").startswith(b"{"):
        return None
    found = re.findall(_ID, message[:_END_BYTES])[:1]
    # Of several at the end the last is the outermost.
    found = found or re.findall(_ID, message[-_END_BYTES:])[-1:]
    return int(found[0]) if found else None


_PART = rb'"(jsonrpc|method|id)"\s*:\s*(\d{1,15}|"[^"\\]{0,200}")'


@cache
def _ends() -> "tuple[re.Pattern[bytes], re.Pattern[bytes], re.Pattern[bytes]]":
    """Members at the beginning of a message, at its end, and one of them.

    Nothing is open before the first and behind the last, so that they are those of the message.
    """
    return (
        re.compile(rb"\s*\{\s*((?:" + _PART + rb"\s*,\s*){1,3})"),
        re.compile(rb"((?:,\s*" + _PART + rb"\s*){1,3})\}\s*$"),
        re.compile(_PART),
    )


def asked_by(message: bytes) -> MessageId:
    """The id of a request that is nested too deeply to be read; None where it cannot be told."""
    begins, ends, part = _ends()
    found: dict[bytes, bytes] = {}
    for match in (begins.match(message[:_LOOKED_AT]), ends.search(message[-_LOOKED_AT:])):
        if match is not None:
            found |= {each[1]: each[2] for each in part.finditer(match[1])}
    if not found.get(b"method", b"").startswith(b'"') or b"id" not in found:
        # An answer has an id of ours, and a notification has none.
        return None
    given = found[b"id"]
    return str(given[1:-1], "utf-8", "replace") if given.startswith(b'"') else int(given)
