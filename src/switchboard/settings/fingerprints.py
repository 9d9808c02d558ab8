"""What exactly would run, as one digest.

A workspace is somebody else's until its user has looked at it. What the user trusts is not a name
but everything that decides what runs, so that any later change asks again.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from msgspec.structs import replace

from switchboard.children.schema import Seal, ServerEntry
from switchboard.children.starting.bytecode import shuts_bytecode
from switchboard.config.keys import Section
from switchboard.settings.consent.trust_record import UNBOUND
from switchboard.settings.server_fields import SERVER

_VERSION = "switchboard.trust/2"


def sealed(
    entry: ServerEntry,
    workspace: str,
    shown: Mapping[str, Any] = {},
    *,
    path: str = "",
    binding: bool = True,
) -> ServerEntry:
    """The server with the fingerprint of how it is written, before `${VAR}` is filled.

    Filled values are left out on purpose: a rotated token is not a changed server. `shown` are the
    words that the workspace says of its suite elsewhere, `path` is where its user's programs are.
    """
    stated = _digest(
        {
            "kind": "server",
            "workspace": workspace,
            "name": entry.name,
            "shown": dict(shown),
            **_bound_fields(entry),
            **_filling(entry),
        }
    )
    words = (entry.command, *entry.args)
    if entry.natural_language and entry.instructions:
        # What a model is told decides what runs.
        words += (entry.instructions,)
    own = entry.env.get("PATH", "")
    seal = Seal(
        stated=stated,
        words=words,
        lines=((entry.command, *entry.args),),
        cwd=entry.cwd,
        path=own or path,
        env=tuple(sorted(entry.env.items())),
        shuts_bytecode=shuts_bytecode(words),
        binding=binding,
    )
    return replace(entry, fingerprint=fingerprint(seal, workspace), seal=seal)


def _bound_fields(entry: ServerEntry) -> dict[str, Any]:
    """What trust is bound to, by the rows of the table.

    A value that is written down by older versions must stay as it is, or trust would be lost.
    """
    found: dict[str, Any] = {}
    sandbox: dict[str, Any] = {}
    for field in SERVER.fields:
        value = getattr(entry, field.name)
        match field.bound:
            case "value":
                found[field.name] = value
            case "members":
                # Names first, as older versions had it: without any, prints stay as they are.
                found[field.name] = sorted(value)
                if value:
                    found[f"{field.name}_as_written"] = dict(value)
            case "unless-default" if value != SERVER.default(field):
                found[field.name] = value
            case "sandboxed":
                sandbox[field.name.removeprefix("sandbox_")] = value
            case _:
                pass
    # Nothing for a server that is not confined, as before there were any that are.
    return found if entry.sandbox_profile == "none" else {**found, "sandbox": sandbox}


def _filling(entry: ServerEntry) -> dict[str, Any]:
    """Which values are more than they say. The same words in another file may not be.

    Nothing where there are none, so that older prints stay as they are.
    """
    found: dict[str, Any] = {}
    if entry.filled:
        found["filled"] = entry.filled
    if entry.templates:
        found["templates"] = sorted(entry.templates)
    return found


def in_development(entry: ServerEntry, workspace: str) -> ServerEntry:
    """The same server as one that its user writes: a change of its files does not ask again."""
    if entry.seal is None:
        return entry
    seal = as_written(entry.seal)
    return replace(entry, seal=seal, fingerprint=fingerprint(seal, workspace))


def as_written(seal: Seal) -> Seal:
    """The seal of something that its user writes."""
    return replace(seal, is_dev=True)


def bound_values(section: Section, values: Mapping[str, Any]) -> dict[str, Any]:
    """Of the values that a file writes, those that trust is bound to, by the rows of the table."""
    bound = {key for key, row in section.fields_of(section.file).items() if row.bound != "no"}
    return {key: value for key, value in values.items() if key in bound}


def fingerprint(seal: Seal, workspace: str) -> str:
    """The digest of what is stated and of what the files of the workspace hold right now.

    `UNBOUND` where they hold too much to be told apart: no record ever has that.
    """
    if seal.is_dev:
        return _digest({"stated": seal.stated, "dev": True})
    # Few servers come from a workspace, and everyone waits for the first listing.
    from switchboard.settings.consent.looking import Unbound  # noqa: PLC0415
    from switchboard.settings.consent.sealed_files import digests_of_files  # noqa: PLC0415

    try:
        return _digest({"stated": seal.stated, "files": digests_of_files(seal, workspace)})
    except Unbound:
        return UNBOUND


def seal_of(
    kind: str,
    name: str,
    fields: Mapping[str, Any],
    workspace: str,
    *,
    words: tuple[str, ...],
    cwd: str,
    binding: bool,
    env: Mapping[str, str] = MappingProxyType({}),
    is_shut: bool = False,
    lines: tuple[tuple[str, ...], ...] = (),
) -> Seal:
    """What decides what an entry runs, as it is written. Its command line is run in `cwd`.

    `is_shut`: whoever starts it keeps it from bytecode beside sources.
    """
    stated = _digest({"kind": kind, "workspace": workspace, "name": name, "fields": dict(fields)})
    given = tuple(sorted(env.items()))
    return Seal(
        stated=stated,
        words=words,
        lines=lines,
        cwd=cwd,
        env=given,
        shuts_bytecode=is_shut,
        binding=binding,
    )


def _digest(what: dict[str, Any]) -> str:
    canonical = msgspec.json.encode({"version": _VERSION, **what}, order="sorted")
    from hashlib import sha256  # noqa: PLC0415 - as above

    return sha256(canonical).hexdigest()
