"""How a secret is named: by the server that it belongs to and what it is there.

Configuration writes `vault:` before a reference; the store does not. Names below `oauth/` are those
of tokens that Switchboard keeps itself: no configuration can refer to them.
"""

import re
from typing import Literal

from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode

SCHEME = "vault:"
# What Switchboard keeps for itself: logins.
INTERNAL = "oauth/"
# Those of single people of a team, each below their key.
PERSONAL = "people/"
ENV_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
HEADER_NAME = r"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
# A name that a path can be made of: a server may be called anything else, but not in a reference.
_PART = r"(?!\.{1,2}/)[^/\s\x00-\x1f\x7f]+"
ENV_PATTERN = rf"mcp/{_PART}/env/{ENV_NAME}"
HEADER_PATTERN = rf"mcp/{_PART}/header/{HEADER_NAME}"
CLIENT_SECRET_PATTERN = rf"mcp/{_PART}/oauth/(?:{_PART}/)?client-secret"
FORMS = (
    "mcp/<server>/env/<KEY>",
    "mcp/<server>/header/<NAME>",
    "mcp/<server>/oauth/client-secret",
    "mcp/<server>/oauth/<account>/client-secret",
)

Kind = Literal["env", "header", "client-secret"]
_LONGEST = 512


class SecretReference(Struct, frozen=True, kw_only=True):
    """The parts of a reference to a secret of a server."""

    text: str
    server: str
    kind: Kind
    # The variable or the header; the account of a client secret, if it has one.
    key: str = ""


def parse_reference(text: str) -> SecretReference:
    """A reference as somebody wrote it, with or without `vault:`. Raises a fault."""
    plain = text.removeprefix(SCHEME)
    parts = plain.split("/")
    if len(plain) <= _LONGEST:
        if re.fullmatch(ENV_PATTERN, plain):
            return SecretReference(text=plain, server=parts[1], kind="env", key=parts[3])
        if re.fullmatch(HEADER_PATTERN, plain):
            return SecretReference(text=plain, server=parts[1], kind="header", key=parts[3])
        if re.fullmatch(CLIENT_SECRET_PATTERN, plain):
            account = parts[3] if len(parts) > len(("mcp", "server", "oauth", "secret")) else ""
            return SecretReference(text=plain, server=parts[1], kind="client-secret", key=account)
    raise Fault(
        FaultCode.INVALID_ARGUMENT,
        "reference-invalid",
        # It may be a value that somebody typed in the place of a reference.
        "this is not a reference to a secret",
        hint=f"write `{FORMS[0]}`",
    )


def of_person(key: str, reference: str) -> str:
    """Where the vault of a team keeps the secret of one person. No configuration refers to it."""
    return f"{PERSONAL}{key}/{reference}"


def check_name(name: str) -> None:
    """Refuse what no store could keep: a name has parts, and none of them leads elsewhere."""
    parts = name.split("/")
    is_plain = name.isprintable() and " " not in name and len(name) <= _LONGEST
    if not is_plain or any(part in ("", ".", "..") for part in parts):
        raise Fault(
            FaultCode.INVALID_ARGUMENT, "reference-invalid", "this is not the name of a secret"
        )
