"""The forms in which programs write a secret."""

import base64
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus

_SHORTEST_LINE = 16
# Base64 of the value from each of the three places that it can begin at. A letter that also holds
# bits of a neighbour differs from text to text, so it is left off.
_BASE64_SHIFTS = (0, 1, 2)


def forms_of(value: str) -> set[str]:
    """The value itself, and as it stands in addresses, JSON, hexadecimal and base64."""
    # A variable may hold bytes that are no text, and what programs print of them is replaced.
    data = value.encode("utf-8", "surrogatepass")
    forms = {
        value,
        data.decode("utf-8", "replace"),
        quote(data, safe=""),
        quote_plus(data),
        quote(data),
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        data.hex(),
        data.hex().upper(),
    }
    for shift in _BASE64_SHIFTS:
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            forms.add(_inner(encode, data, shift))
    # What is written in several lines, such as a key, may be printed line by line.
    return forms | {line for line in value.splitlines() if len(line) >= _SHORTEST_LINE}


def _inner(encode: Callable[[bytes], bytes], data: bytes, shift: int) -> str:
    """The letters of base64 that hold bits of the value alone, if it begins `shift` bytes late."""
    text = encode(b"\0" * shift + data).decode().rstrip("=")
    first = -(-shift * 8 // 6)
    last = (shift + len(data)) * 8 // 6
    return text[first:last]
