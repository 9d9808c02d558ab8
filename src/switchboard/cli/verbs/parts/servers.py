"""Servers as people read them."""

# ruff: noqa: PTH118

import os
import shlex
from collections.abc import Iterable, Mapping
from shutil import which

from msgspec import Struct

from switchboard.children.schema import ServerEntry
from switchboard.cli.render import shown_origin
from switchboard.core.faults import Fault, FaultCode
from switchboard.providers.source import Trust
from switchboard.settings.sections import Settings
from switchboard.settings.validate import RENAME, shown_name
from switchkit.cli.columns import visible
from switchkit.suggest import did_you_mean


class ListedServer(Struct, frozen=True, kw_only=True):
    """One configured server."""

    name: str
    suite: str
    transport: str
    target: str
    scope: str
    trust: Trust
    origin: str
    description: str = ""
    # What its sandbox opens; empty for a server that nothing confines.
    sandbox: str = ""
    # Why it cannot be used although it is configured.
    left_out: str = ""


def listed_servers(settings: Settings) -> tuple[ListedServer, ...]:
    """Every server of the settings, with those that wait for trust and those left out."""
    waiting = {id(entry) for entry in settings.untrusted}
    waiting |= {id(omission.entry) for omission in settings.omitted if omission.waits}
    reasons = {id(omission.entry): omission.reason for omission in settings.omitted}
    return tuple(
        _listed(entry, settings, waits=id(entry) in waiting, left_out=reasons.get(id(entry), ""))
        for entry in entries(settings)
    )


def entries(settings: Settings) -> tuple[ServerEntry, ...]:
    """Every server of the settings, usable or not, by name."""
    omitted = (omission.entry for omission in settings.omitted)
    every = (*settings.servers, *settings.untrusted, *omitted)
    return tuple(sorted(every, key=lambda entry: entry.name))


def target_of(entry: ServerEntry) -> str:
    """What would be started or reached, as one would type it."""
    return entry.url or shlex.join((entry.command, *entry.args))


def sandbox_of(entry: ServerEntry) -> str:
    """The sandbox of a server and what it opens, or nothing."""
    if entry.sandbox_profile == "none":
        return ""
    opened = [
        entry.sandbox_profile,
        *(("network",) if entry.allow_network else ()),
        *(f"reads {each}" for each in entry.read_roots),
        *(f"writes {each}" for each in entry.writable_roots),
        *(("reads .env files",) if entry.read_env_files else ()),
    ]
    return visible(", ".join(opened))


def program_of(entry: ServerEntry, environ: Mapping[str, str]) -> str | None:
    """The program that a stdio server starts, or nothing when it is not there."""
    if os.sep in entry.command:
        path = os.path.join(entry.cwd, entry.command)
        return path if os.access(path, os.X_OK) else None
    return which(entry.command, path=entry.env.get("PATH") or environ.get("PATH"))


def suite_for(settings: Settings, wanted: str) -> str:
    """The suite that a word means: its own name, or the name of its server.

    Raises a fault when there is none, or when its server may not run yet.
    """
    suites = {shown_name(entry, settings.suites): entry.name for entry in settings.servers}
    if wanted in suites:
        return wanted
    for suite, server in suites.items():
        if server == wanted:
            return suite
    for entry in settings.untrusted:
        if wanted in {entry.name, shown_name(entry, settings.suites)}:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "server-not-trusted",
                f"the server `{entry.name}` of this workspace is not trusted yet",
                hint=f"look at what it runs, then: switchboard trust {shlex.quote(entry.name)}",
            )
    for omission in settings.omitted:
        if wanted in {omission.entry.name, shown_name(omission.entry, settings.suites)}:
            raise server_left_out(omission.entry.name, omission.reason)
    raise no_server(wanted, (*suites, *suites.values()))


def server_left_out(name: str, reason: str) -> Fault:
    """The server is configured, and cannot be used as it is."""
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "server-left-out",
        f"the server `{name}` is left out: {reason}",
        hint=RENAME,
    )


def no_server(wanted: str, known: Iterable[str]) -> Fault:
    """Nothing is configured under this name."""
    known = set(known)
    meant = did_you_mean(wanted, known)
    return Fault(
        FaultCode.NOT_FOUND,
        "unknown-server",
        f"no server and no suite is named `{wanted}`",
        hint=f"did you mean `{meant}`?"
        if meant
        else ("switchboard list" if known else "switchboard add NAME -- COMMAND"),
    )


def _listed(entry: ServerEntry, settings: Settings, *, waits: bool, left_out: str) -> ListedServer:
    origin = entry.origin
    return ListedServer(
        name=entry.name,
        suite=shown_name(entry, settings.suites),
        transport=entry.transport,
        target=target_of(entry),
        scope=str(origin.scope),
        trust="waiting" if waits else "trusted" if entry.fingerprint else "own",
        origin=shown_origin(str(origin.scope), origin.path, origin.line, settings.workspace),
        description=entry.description,
        sandbox=sandbox_of(entry),
        left_out=left_out,
    )
