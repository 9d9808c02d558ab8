"""Which servers of which workspace their user has agreed to.

The record lies in the home, never in the repository: nothing that decides trust may be read from
what it is to be trusted.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

import msgspec
from msgspec import Struct

from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.texts import references_of
from switchboard.config.documents import read_text
from switchboard.config.placeholders import Unfilled, expand
from switchboard.config.problems import Problem
from switchboard.config.writing import write_whole
from switchboard.providers.table import configured
from switchboard.settings.fingerprints import fingerprint
from switchboard.settings.sections import Settings

_SCHEMA = "switchboard.trust/1"
_PORTS = {"http": 80, "https": 443}
_PRIVATE = 0o600


class Trusted(Struct, frozen=True, kw_only=True):
    """One thing whose trust was changed."""

    name: str
    kind: str
    fingerprint: str
    workspace: str


class SecretGrant(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The secrets that something was given, and where they may be sent."""

    references: tuple[str, ...]
    # The origin of a remote server; empty for a program.
    to: str = ""


class TrustRecord:
    """The fingerprints of each workspace, by the name of what they belong to.

    Beside them are the secrets that each was given.
    """

    def __init__(
        self,
        path: str,
        workspaces: dict[str, dict[str, str]],
        grants: dict[str, dict[str, SecretGrant]],
    ) -> None:
        self.path = path
        self._workspaces = workspaces
        self._grants = grants

    def holds(self, workspace: str, fingerprint: str, references: Iterable[str] = ()) -> bool:
        """Whether exactly this was trusted in exactly this workspace, with these secrets."""
        if self._workspaces.get(workspace, {}).get(fingerprint) is None:
            return False
        grant = self.grant(workspace, fingerprint)
        return set(references) <= set(grant.references if grant is not None else ())

    def grant(self, workspace: str, fingerprint: str) -> SecretGrant | None:
        """What something was given."""
        return self._grants.get(workspace, {}).get(fingerprint)

    def holders(self, reference: str) -> Iterator[tuple[str, str]]:
        """The workspaces and names of those who were given a secret."""
        for workspace, grants in self._grants.items():
            for print_, grant in grants.items():
                name = self._workspaces.get(workspace, {}).get(print_)
                if reference in grant.references and name is not None:
                    yield workspace, name

    def add(
        self, workspace: str, fingerprint: str, name: str, grant: SecretGrant | None = None
    ) -> None:
        self._workspaces.setdefault(workspace, {})[fingerprint] = name
        if grant is not None and grant.references:
            self._grants.setdefault(workspace, {})[fingerprint] = grant

    def remove(self, workspace: str, name: str) -> list[str]:
        """Forget every fingerprint of a name, also those of earlier versions."""
        known = self._workspaces.get(workspace, {})
        gone = [print_ for print_, owner in known.items() if owner == name]
        grants = self._grants.get(workspace, {})
        for print_ in gone:
            del known[print_]
            grants.pop(print_, None)
        if not known:
            self._workspaces.pop(workspace, None)
        if not grants:
            self._grants.pop(workspace, None)
        return gone

    def names(self, workspace: str) -> set[str]:
        """The names that have something trusted in a workspace."""
        return set(self._workspaces.get(workspace, {}).values())

    def save(self) -> None:
        record: dict[str, Any] = {"schema": _SCHEMA, "workspaces": self._workspaces}
        if self._grants:
            record["grants"] = self._grants
        text = msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=2)
        write_whole(self.path, text.decode() + "\n", mode=_PRIVATE)


def read_trust(home: str, problems: list[Problem]) -> TrustRecord:
    """The record of a home. One that cannot be read trusts nothing, and says so."""
    path = os.path.join(home, "trust.json")
    found: list[Problem] = []
    read = read_text(path, found)
    workspaces: dict[str, dict[str, str]] = {}
    grants: dict[str, dict[str, SecretGrant]] = {}
    if read is not None:
        try:
            record: Any = msgspec.json.decode(read)
            workspaces, grants = _workspaces(record), _grants(record)
        except (msgspec.DecodeError, ValueError, RecursionError):
            found.append(Problem(path=path, message="the record of trust is damaged"))
    problems += [
        Problem(
            path=problem.path,
            message=f"{problem.message}; nothing of a workspace is trusted",
            hint="remove the file and run `switchboard trust` again",
            severity="warning",
        )
        for problem in found
    ]
    return TrustRecord(path, workspaces, grants)


def granted_to(entry: ServerEntry, workspace: str, record: TrustRecord) -> tuple[str, ...]:
    """The secrets that a server may have of those that were given.

    They were given to exactly what it runs, and to be sent to one origin: what fills `${NAME}` in
    an address must not lead them elsewhere.
    """
    grant = record.grant(workspace, entry.fingerprint)
    if grant is None or grant.to != origin_of(entry.url):
        return ()
    return grant.references


def origin_of(url: str) -> str:
    """Scheme, host and port of an address; nothing for none."""
    if not url:
        return ""
    from urllib.parse import urlsplit  # noqa: PLC0415 - few have remote servers

    parts = urlsplit(url)
    try:
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError:
        port = None
    return f"{parts.scheme}://{parts.hostname}:{port}"


def still_trusted(entry: ServerEntry, workspace: str) -> bool:
    """Whether a server would run now what it would have run when the settings were loaded.

    Cheap: only the files that its command line names are read again. To be asked just before a
    start, because a script can change after trust. Servers that need no trust always are.
    """
    if not entry.fingerprint:
        return True
    if entry.seal is None:
        return False
    return not entry.seal.binding or fingerprint(entry.seal, workspace) == entry.fingerprint


def trust(
    settings: Settings,
    names: Iterable[str] | None = None,
    *,
    also: Iterable[ServerEntry] = (),
    environ: Mapping[str, str] = {},
) -> list[Trusted]:
    """Trust servers, command tools and the project of the workspace, all without `names`.

    `also` are untrusted servers of a scope above the settings: of an agent or a skill. With trust
    they are given the secrets that they ask for; `environ` says where addresses lead.
    """
    record = read_trust(settings.home, [])
    wanted = None if names is None else set(names)
    done: list[Trusted] = []
    above = [(entry.name, "server", entry.fingerprint, grant_for(entry, environ)) for entry in also]
    for name, kind, print_, grant in (*_untrusted(settings, environ), *above):
        if wanted is None or name in wanted:
            record.add(settings.workspace, print_, name, grant)
            done.append(
                Trusted(name=name, kind=kind, fingerprint=print_, workspace=settings.workspace)
            )
    if done:
        record.save()
    return done


def untrust(settings: Settings, names: Iterable[str] | None = None) -> list[Trusted]:
    """Take trust back, from everything of the workspace without `names`."""
    record = read_trust(settings.home, [])
    wanted = record.names(settings.workspace) if names is None else set(names)
    done = [
        Trusted(name=name, kind="", fingerprint=print_, workspace=settings.workspace)
        for name in sorted(wanted)
        for print_ in record.remove(settings.workspace, name)
    ]
    if done:
        record.save()
    return done


def grant_for(entry: ServerEntry, environ: Mapping[str, str]) -> SecretGrant:
    """What a server would be given with trust, and where it would be sent."""
    url = entry.url
    with suppress(Unfilled):
        url = expand(url, environ) if entry.origin.path.endswith(".toml") else url
    return SecretGrant(references=references_of(entry), to=origin_of(url))


def _untrusted(
    settings: Settings, environ: Mapping[str, str]
) -> list[tuple[str, str, str, SecretGrant | None]]:
    servers: list[tuple[str, str, str, SecretGrant | None]] = [
        (entry.name, "server", entry.fingerprint, grant_for(entry, environ))
        for entry in settings.untrusted
    ]
    return servers + [
        (item.name, item.kind, item.fingerprint, None)
        for source in configured(settings)
        for item in source.trust_items(settings)
        # What cannot be bound to what it holds now cannot be trusted either.
        if item.trust == "waiting" and item.fingerprint
    ]


def _workspaces(record: Any) -> dict[str, dict[str, str]]:
    if not isinstance(record, dict):
        raise ValueError("not an object")  # noqa: TRY004 - a damaged file, not a wrong call
    tree = cast("dict[str, Any]", record)
    return msgspec.convert(tree.get("workspaces", {}), dict[str, dict[str, str]])


def _grants(record: Any) -> dict[str, dict[str, SecretGrant]]:
    return msgspec.convert(record.get("grants", {}), dict[str, dict[str, SecretGrant]])
