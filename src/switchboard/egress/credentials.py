"""Credentials that are put on at our edge, and taken out of what comes back."""

import base64
import binascii
import re
import secrets
from collections.abc import Iterable

from msgspec import Struct

from switchboard.core.privacy.secret_forms import forms_of
from switchboard.core.privacy.secrets import SHORTEST

Headers = list[tuple[bytes, bytes]]
_AUTHORIZATION = b"authorization"
_BASIC = re.compile(rb"basic +([A-Za-z0-9+/=_-]+)", re.IGNORECASE)


def new_placeholder() -> str:
    """What a child has in the place of a credential. It is worth nothing anywhere."""
    return f"egress-{secrets.token_hex(16)}"


class Credential(Struct, frozen=True):
    """A placeholder, and what it stands for at one host."""

    placeholder: str
    value: str

    def put_on(self, headers: Headers) -> Headers:
        """The headers with the credential where the placeholder is, or as a bearer token.

        A child that sends no placeholder and no authorization of its own is given one.
        """
        found = [(name, self._filled(name.lower(), value)) for name, value in headers]
        if found != headers or any(name.lower() == _AUTHORIZATION for name, _ in headers):
            return found
        return [*found, (b"Authorization", b"Bearer " + self.value.encode())]

    def _filled(self, name: bytes, value: bytes) -> bytes:
        old, new = self.placeholder.encode(), self.value.encode()
        basic = _BASIC.fullmatch(value) if name == _AUTHORIZATION else None
        if basic is not None:
            # Name and password in one: the placeholder cannot be seen from outside.
            try:
                login = base64.b64decode(basic[1], validate=True)
            except binascii.Error:
                return value
            if old in login:
                return b"Basic " + base64.b64encode(login.replace(old, new))
            return value
        return value.replace(old, new)

    def __repr__(self) -> str:
        return "Credential()"


class Blackout:
    """Takes values out of a stream of bytes, each letter by a star, so that lengths stay.

    What may be the beginning of a value is kept back until it is known whether it is one.
    """

    def __init__(self, values: Iterable[str]) -> None:
        forms = {
            form.encode("utf-8", "surrogatepass")
            for value in values
            for form in forms_of(value)
            if len(form) >= SHORTEST
        }
        self._forms = tuple(sorted(forms, key=lambda form: (-len(form), form)))
        self._pattern = re.compile(b"|".join(map(re.escape, self._forms))) if forms else None
        self._held = b""

    def whole(self, data: bytes) -> bytes:
        """A text that comes at once."""
        if self._pattern is None:
            return data
        return self._pattern.sub(lambda found: b"*" * len(found[0]), data)

    def feed(self, data: bytes) -> bytes:
        """What can be passed on of everything so far."""
        told = self.whole(self._held + data)
        begun = self._begun_in(told)
        end = len(told) - begun
        told, self._held = told[:end], told[end:]
        return told

    def flush(self) -> bytes:
        """What is left, once nothing comes after it."""
        told, self._held = self._held, b""
        return told

    def _begun_in(self, data: bytes) -> int:
        longest = 0
        for form in self._forms:
            most = min(len(form) - 1, len(data))
            for size in range(most, longest, -1):
                if data.endswith(form[:size]):
                    longest = size
                    break
        return longest
