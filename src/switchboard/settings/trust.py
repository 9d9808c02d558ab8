"""Which servers of which workspace their user has agreed to.

The record lies in the home, never in the repository: nothing that decides trust may be read from
what it is to be trusted.
"""

import os
from collections.abc import Iterable
from typing import Any, cast

import msgspec
from msgspec import Struct

from switchboard.children.schema import ServerEntry
from switchboard.config.documents import read_text
from switchboard.config.problems import Problem
from switchboard.config.writing import write_whole
from switchboard.providers.table import configured
from switchboard.settings.fingerprints import fingerprint
from switchboard.settings.sections import Settings

_SCHEMA = "switchboard.trust/1"
_PRIVATE = 0o600


class Trusted(Struct, frozen=True, kw_only=True):
    """One thing whose trust was changed."""

    name: str
    kind: str
    fingerprint: str
    workspace: str


class TrustRecord:
    """The fingerprints of each workspace, by the name of what they belong to."""

    def __init__(self, path: str, workspaces: dict[str, dict[str, str]]) -> None:
        self.path = path
        self._workspaces = workspaces

    def holds(self, workspace: str, fingerprint: str) -> bool:
        """Whether exactly this was trusted in exactly this workspace."""
        return self._workspaces.get(workspace, {}).get(fingerprint) is not None

    def add(self, workspace: str, fingerprint: str, name: str) -> None:
        self._workspaces.setdefault(workspace, {})[fingerprint] = name

    def remove(self, workspace: str, name: str) -> list[str]:
        """Forget every fingerprint of a name, also those of earlier versions."""
        known = self._workspaces.get(workspace, {})
        gone = [print_ for print_, owner in known.items() if owner == name]
        for print_ in gone:
            del known[print_]
        if not known:
            self._workspaces.pop(workspace, None)
        return gone

    def names(self, workspace: str) -> set[str]:
        """The names that have something trusted in a workspace."""
        return set(self._workspaces.get(workspace, {}).values())

    def save(self) -> None:
        record = {"schema": _SCHEMA, "workspaces": self._workspaces}
        text = msgspec.json.format(msgspec.json.encode(record, order="sorted"), indent=2)
        write_whole(self.path, text.decode() + "\n", mode=_PRIVATE)


def read_trust(home: str, problems: list[Problem]) -> TrustRecord:
    """The record of a home. One that cannot be read trusts nothing, and says so."""
    path = os.path.join(home, "trust.json")
    found: list[Problem] = []
    read = read_text(path, found)
    workspaces: dict[str, dict[str, str]] = {}
    if read is not None:
        try:
            record: Any = msgspec.json.decode(read[0])
            workspaces = _workspaces(record)
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
    return TrustRecord(path, workspaces)


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
) -> list[Trusted]:
    """Trust servers, command tools and the project of the workspace, all without `names`.

    `also` are untrusted servers of a scope above the settings: of an agent or a skill.
    """
    record = read_trust(settings.home, [])
    wanted = None if names is None else set(names)
    done: list[Trusted] = []
    above = [(entry.name, "server", entry.fingerprint) for entry in also]
    for name, kind, print_ in (*_untrusted(settings), *above):
        if wanted is None or name in wanted:
            record.add(settings.workspace, print_, name)
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


def _untrusted(settings: Settings) -> list[tuple[str, str, str]]:
    servers = [(entry.name, "server", entry.fingerprint) for entry in settings.untrusted]
    return servers + [
        (item.name, item.kind, item.fingerprint)
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
