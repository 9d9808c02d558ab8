"""Takes a credential out of what comes back, in the forms in which programs write one."""

import re
from bisect import bisect_right

from switchboard.core.privacy.secret_forms import forms_of
from switchboard.core.privacy.secrets import SHORTEST

# A letter as addresses, JSON, scripts and HTML may write it.
_ESCAPED = re.compile(
    rb"%([0-9a-f]{2})|\\u00([0-7][0-9a-f])|\\x([0-9a-f]{2})"
    rb"|&#x0{0,6}([0-9a-f]{1,2});|&#0{0,6}([0-9]{1,3});",
    re.IGNORECASE,
)
_DECIMAL = 5
_LARGEST = 0xFF
# What may be the beginning of one.
_ESCAPE_BEGUN = re.compile(
    rb"(?:%[0-9a-f]?|\\(?:u0?0?[0-7]?|x[0-9a-f]?)?"
    rb"|&(?:#(?:x(?:0{0,6}[0-9a-f]{0,2})|0{0,6}[0-9]{0,3})?)?)\Z",
    re.IGNORECASE,
)
_LONGEST_ESCAPE = 12
_SIGNS = (b"%", b"\\", b"&#")


class HiddenForms:
    """The forms of one value, made once for many answers."""

    def __init__(self, value: str) -> None:
        self.value = value
        # Without case: a host may write a header or a name in another one.
        forms = {
            form.encode("utf-8", "surrogatepass").lower()
            for form in forms_of(value)
            if len(form) >= SHORTEST
        }
        self.forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        self.pattern = re.compile(b"|".join(map(re.escape, self.forms))) if forms else None

    def __repr__(self) -> str:
        return "HiddenForms()"


class Blackout:
    """Takes a value out of a stream of bytes, each letter by a star, so that lengths stay.

    What may be the beginning of a value is kept back until it is known whether it is one.
    """

    def __init__(self, hidden: HiddenForms) -> None:
        self._hidden = hidden
        self._held = b""

    def whole(self, data: bytes) -> bytes:
        """A text that comes at once."""
        return self._hide(data)[0]

    def feed(self, data: bytes) -> bytes:
        """What can be passed on of everything so far."""
        told, end = self._hide(self._held + data)
        told, self._held = told[:end], told[end:]
        return told

    def flush(self) -> bytes:
        """What is left, once nothing comes after it."""
        told, self._held = self._held, b""
        return told

    def _hide(self, data: bytes) -> tuple[bytes, int]:
        """The text without the value, and up to where nothing of it can have begun."""
        pattern = self._hidden.pattern
        if pattern is None:
            return data, len(data)
        spans = [found.span() for found in pattern.finditer(data.lower())]
        if any(sign in data for sign in _SIGNS):
            read = _Unescaped(data)
            spans += [read.span(*found.span()) for found in pattern.finditer(read.text)]
        if not spans:
            return data, self._sure_end(data)
        stars = bytearray(data)
        for begin, end in spans:
            stars[begin:end] = b"*" * (end - begin)
        told = bytes(stars)
        return told, self._sure_end(told)

    def _sure_end(self, told: bytes) -> int:
        """Up to where nothing can have begun. What is blacked out already is no beginning."""
        # Further back than the longest form, each letter escaped, nothing can begin.
        cut = max(0, len(told) - len(self._hidden.forms[0]) * _LONGEST_ESCAPE)
        tail = told[cut:]
        ends = [len(tail) - self._begun_in(tail.lower())]
        half = _ESCAPE_BEGUN.search(tail)
        for whole in (tail, tail[: half.start()] if half is not None else tail):
            read = _Unescaped(whole)
            ends.append(read.place(len(read.text) - self._begun_in(read.text)))
        return cut + min(ends)

    def _begun_in(self, data: bytes) -> int:
        longest = 0
        for form in self._hidden.forms:
            most = min(len(form) - 1, len(data))
            for size in range(most, longest, -1):
                if data.endswith(form[:size]):
                    longest = size
                    break
        return longest


class _Unescaped:
    """A text with its escaped letters read, in lower case, and the way back to where they stood."""

    def __init__(self, data: bytes) -> None:
        parts: list[bytes] = []
        # Where each part begins, in what was read and in the text itself.
        self._read: list[int] = [0]
        self._written: list[int] = [0]
        at = size = 0
        for found in _ESCAPED.finditer(data):
            number = found.lastindex or 1
            value = int(found[number], 10 if number == _DECIMAL else 16)
            if value > _LARGEST:
                continue
            parts += (data[at : found.start()], bytes((value,)))
            size += found.start() - at
            self._read += (size, size + 1)
            self._written += found.span()
            size += 1
            at = found.end()
        parts.append(data[at:])
        self.text = b"".join(parts).lower()

    def place(self, at: int) -> int:
        """Where a letter stands in the text itself."""
        index = bisect_right(self._read, at) - 1
        return self._written[index] + at - self._read[index]

    def span(self, begin: int, end: int) -> tuple[int, int]:
        return self.place(begin), self.place(end)
