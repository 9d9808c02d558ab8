"""What was trusted, part by part: so that a change can be named, and not only noticed."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from switchboard.children.schema import ServerEntry
from switchboard.settings.consent.looking import Unbound
from switchboard.settings.consent.sealed_files import digests_of_files
from switchboard.settings.consent.trust_record import TrustedParts, TrustRecord
from switchboard.settings.server_fields import SERVER

# Enough to tell a change, and too little to find out a value.
_CHARS = 12
_MOST_TOLD = 5


def parts_of(entry: ServerEntry, workspace: str) -> dict[str, str]:
    """A digest of everything that a server is trusted with, by its name for people."""
    from hashlib import sha256  # noqa: PLC0415 - few servers come from a workspace

    def digest(value: Any) -> str:
        encoded = msgspec.json.encode(value, order="sorted", enc_hook=repr)
        return sha256(encoded).hexdigest()[:_CHARS]

    found = {
        field.name: digest(getattr(entry, field.name))
        for field in SERVER.fields
        if field.bound != "no"
    }
    if entry.seal is not None:
        try:
            files = digests_of_files(entry.seal, workspace)
        except Unbound:
            files = {}
        for name, told in files.items():
            # What leads to a file stands before its name.
            found[name.rpartition(":")[2]] = digest(told)
    return found


def trusted_now(entry: ServerEntry | None, workspace: str) -> TrustedParts:
    """What is trusted from now on; of what is no server, only when."""
    parts = {} if entry is None else parts_of(entry, workspace)
    return TrustedParts(at=time.time(), parts=parts)


def changes_in_words(
    waiting: Iterable[ServerEntry], workspace: str, record: TrustRecord
) -> dict[str, str]:
    """Of servers that wait, those that were trusted once: when, and what is another now."""
    found: dict[str, str] = {}
    for entry in waiting:
        if (known := record.before(workspace, entry.name)) is not None:
            found[entry.name] = _change(known, parts_of(entry, workspace))
    return found


def _change(known: TrustedParts, parts: Mapping[str, str]) -> str:
    if not known.at:
        return "trusted before; changed since"
    date = time.strftime("%Y-%m-%d", time.localtime(known.at))
    names = [
        name
        for name in dict.fromkeys((*parts, *known.parts))
        if known.parts and parts.get(name) != known.parts.get(name)
    ]
    more = f" and {len(names) - _MOST_TOLD} more" if len(names) > _MOST_TOLD else ""
    what = f": {', '.join(names[:_MOST_TOLD])}{more}" if names else ""
    return f"trusted on {date}; changed since{what}"
