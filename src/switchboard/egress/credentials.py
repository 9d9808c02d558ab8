"""Credentials that are put on at our edge."""

import base64
import binascii
import re
import secrets

from msgspec import Struct

from switchboard.egress.blackout import HiddenForms

Headers = list[tuple[bytes, bytes]]
_AUTHORIZATION = b"authorization"
_BASIC = re.compile(rb"basic +([A-Za-z0-9+/=_-]+)", re.IGNORECASE)


def new_placeholder() -> str:
    """What a child has in the place of a credential. It is worth nothing anywhere."""
    return f"egress-{secrets.token_hex(16)}"


class Credential(Struct, frozen=True, eq=False):
    """A placeholder, and what it stands for at one host."""

    placeholder: str
    value: str
    # How it may stand in an answer.
    forms: HiddenForms

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
