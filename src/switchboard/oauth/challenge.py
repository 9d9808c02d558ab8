"""What a server says when it wants a token: the header `WWW-Authenticate`."""

import re

from msgspec import Struct

# A server writes it: a name is tried from its first letter only, and what is quoted without an end
# takes the rest and says nothing.
_MEMBER = re.compile(
    r"(?<![A-Za-z_])([A-Za-z_]++)\s*+=\s*+"
    r'(?:"((?:[^"\\]++|\\.)*+)"|".*|([^\s,"]++))',
    re.DOTALL,
)
# A scope by RFC 6749. Whatever else stands in its place is not repeated to anybody.
_SCOPE = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,200}")
_MOST_SCOPES = 50
_LONGEST = 8_192


class Challenge(Struct, frozen=True, kw_only=True):
    """What a server wants of whoever calls it."""

    error: str = ""
    scopes: tuple[str, ...] = ()
    resource_metadata: str = ""


def read_challenge(header: str) -> Challenge:
    """Read a `WWW-Authenticate`. What makes no sense in it is not there."""
    if len(header) > _LONGEST or "bearer" not in header.lower():
        return Challenge()
    members = {
        name.lower(): re.sub(r"\\(.)", r"\1", quoted) or plain
        for name, quoted, plain in _MEMBER.findall(header)
    }
    return Challenge(
        error=members.get("error", ""),
        scopes=scopes_in(members.get("scope", "")),
        resource_metadata=members.get("resource_metadata", ""),
    )


def scopes_in(text: str) -> tuple[str, ...]:
    """The scopes in a text that are well formed, each once."""
    found = (word for word in text.split(" ") if _SCOPE.fullmatch(word))
    return tuple(dict.fromkeys(found))[:_MOST_SCOPES]
