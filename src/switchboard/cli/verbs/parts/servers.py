"""Servers as people read them."""

import os
import shlex
from collections.abc import Callable, Mapping
from shutil import which

from msgspec import Struct

from switchboard.children.schema import ServerEntry
from switchboard.cli.render import shown_origin
from switchboard.config.problems import shown_path
from switchboard.core.network.egress import reachable
from switchboard.core.privacy.redaction import redacted_text, redacted_words
from switchboard.daemon.board.assemble import with_weaker_sandbox
from switchboard.providers.source import Trust
from switchboard.sandbox.limits import limits_in_words
from switchboard.settings.sections import Omission, Settings
from switchboard.settings.validate import shown_name
from switchkit.cli.columns import visible
from switchkit.commands import search_path


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
    # How a model chooses its calls; empty where none does.
    natural_language: str = ""
    # When it was trusted, and what has changed since; empty unless it waits for that reason.
    changed: str = ""
    # Its user has switched it off.
    is_off: bool = False
    # Why it cannot be used although it is configured.
    left_out: str = ""
    # What to do about that, where it is not another name for its suite.
    hint: str = ""


def target_of(entry: ServerEntry) -> str:
    """What would be started or reached, as one would type it, without its secrets."""
    return redacted_text(entry.url) or shlex.join(redacted_words((entry.command, *entry.args)))


def whole_target_of(entry: ServerEntry) -> str:
    """The same for whoever is to trust it: what looks like a secret may be what is run."""
    return entry.url or shlex.join((entry.command, *entry.args))


def listed_servers(
    settings: Settings, target: Callable[[ServerEntry], str] = target_of
) -> tuple[ListedServer, ...]:
    """Every server of the settings, with those that wait for trust and those left out."""
    waiting = {id(entry) for entry in settings.untrusted}
    waiting |= {id(omission.entry) for omission in settings.omitted if omission.waits}
    reasons = {id(omission.entry): omission for omission in settings.omitted}
    return tuple(
        _listed(
            entry,
            settings,
            target=target(entry),
            waits=id(entry) in waiting,
            omission=reasons.get(id(entry)),
        )
        for entry in entries(settings)
    )


def entries(settings: Settings) -> tuple[ServerEntry, ...]:
    """Every server of the settings, usable or not, by name."""
    omitted = (omission.entry for omission in settings.omitted)
    every = (*settings.servers, *settings.untrusted, *omitted)
    return tuple(sorted(every, key=lambda entry: entry.name))


def sandbox_of(entry: ServerEntry) -> str:
    """The sandbox of a server and what it opens, or nothing."""
    if entry.sandbox_profile == "none":
        return ""
    opened = [
        with_weaker_sandbox(entry).weaker_sandbox or entry.sandbox_profile,
        *(("network",) if entry.allow_network else ()),
        *(f"reaches {each}" for each in reachable(entry.egress, asks=entry.egress_ask)),
        *(f"reads {each}" for each in entry.read_roots),
        *(f"writes {each}" for each in entry.writable_roots),
        *(("reads .env files",) if entry.read_env_files else ()),
        *(f"for a {each}" for each in entry.sandbox_features),
        *limits_in_words(entry.limits or {}),
    ]
    return visible(", ".join(opened))


def natural_of(entry: ServerEntry, workspace: str) -> str:
    """Whether a model turns sentences into calls of a server, and what the model is told."""
    if not entry.natural_language:
        return ""
    words = "a model turns sentences into calls"
    if entry.natural_only:
        words += ", and nothing else of it is shown"
    if not entry.instructions:
        return words
    told = shown_path(entry.instructions, workspace=workspace)
    return visible(f"{words}; the model is told what {told} says")


def program_of(entry: ServerEntry, environ: Mapping[str, str]) -> str | None:
    """The program that a stdio server starts, or nothing when it is not there."""
    if os.sep in entry.command:
        path = os.path.join(entry.cwd, entry.command)
        return path if os.access(path, os.X_OK) else None
    path = entry.env.get("PATH") or environ.get("PATH") or os.defpath
    return which(entry.command, path=search_path(path, entry.apart_from) or os.defpath)


def _listed(
    entry: ServerEntry, settings: Settings, *, target: str, waits: bool, omission: Omission | None
) -> ListedServer:
    origin = entry.origin
    changed = settings.changed.get(entry.name, "") if waits else ""
    waiting = "changed" if changed else "waiting"
    return ListedServer(
        name=entry.name,
        suite=shown_name(entry, settings.suites),
        transport=entry.transport,
        target=target,
        scope=str(origin.scope),
        trust=waiting if waits else "trusted" if entry.fingerprint else "own",
        changed=changed,
        origin=shown_origin(str(origin.scope), origin.path, origin.line, settings.workspace),
        description=entry.description,
        sandbox=sandbox_of(entry),
        natural_language=natural_of(entry, settings.workspace),
        is_off=omission is not None and omission.is_off,
        left_out=omission.reason if omission is not None and not omission.is_off else "",
        hint=omission.hint if omission is not None else "",
    )
