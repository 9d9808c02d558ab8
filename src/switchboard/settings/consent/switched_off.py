"""Which servers their user has switched off, by name: in one workspace, or in all of them.

The record lies in the home. A repository neither switches a server off for everybody who uses it,
nor on again.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchboard.config.documents import read_text
from switchboard.config.problems import Problem
from switchboard.settings.sections import Omission

FILE = "switched-off.json"
_PRIVATE = 0o600
_SCHEMA = "switchboard.switched-off/1"


class SwitchedOff(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The names that are off."""

    schema: str = ""
    everywhere: tuple[str, ...] = ()
    workspaces: dict[str, tuple[str, ...]] = {}

    def holds(self, workspace: str, name: str) -> bool:
        return name in self.everywhere or name in self.workspaces.get(workspace, ())

    def with_off(self, workspace: str, name: str) -> "SwitchedOff":
        """The same with the name off in a workspace; without one, in all of them."""
        if not workspace:
            return replace(self, everywhere=_added(self.everywhere, name))
        names = _added(self.workspaces.get(workspace, ()), name)
        return replace(self, workspaces={**self.workspaces, workspace: names})

    def with_on(self, workspace: str, name: str) -> "SwitchedOff":
        """The same with the name on in a workspace, wherever it was off."""
        names = _taken(self.workspaces.get(workspace, ()), name)
        others = {key: each for key, each in self.workspaces.items() if key != workspace}
        return replace(
            self,
            everywhere=_taken(self.everywhere, name),
            workspaces={**others, workspace: names} if names else others,
        )

    def divided(
        self, workspace: str, servers: Sequence[ServerEntry]
    ) -> tuple[list[ServerEntry], list[ServerEntry]]:
        """Those that are on, and those that are off."""
        on = [entry for entry in servers if not self.holds(workspace, entry.name)]
        return on, [entry for entry in servers if self.holds(workspace, entry.name)]


def left_off(entry: ServerEntry, *, waits: bool) -> Omission:
    """A server that is off, as one that cannot be used."""
    return Omission(entry=entry, reason="it is switched off", waits=waits, is_off=True)


def read_switched_off(home: str, problems: list[Problem]) -> SwitchedOff:
    """The record of a home. One that cannot be read switches nothing off, and says so."""
    path = os.path.join(home, FILE)
    found: list[Problem] = []
    text = read_text(path, found)
    record = SwitchedOff()
    if text is not None:
        try:
            record = msgspec.json.decode(text, type=SwitchedOff)
        except (msgspec.MsgspecError, RecursionError):
            found.append(Problem(path=path, message="the record of servers is damaged"))
    problems += [
        replace(
            each,
            message=f"{each.message}; no server counts as switched off",
            hint=each.hint or "remove the file and run `switchboard disable` again",
            severity="warning",
        )
        for each in found
    ]
    return record


@contextmanager
def changing(home: str) -> Generator[SwitchedOff]:
    """The record as it is, while nobody else changes it. Raises `ConfigInvalid`."""
    # Everyone reads the record, and few change it.
    from switchboard.settings.consent.home_lock import home_lock  # noqa: PLC0415

    with home_lock(home):
        yield read_switched_off(home, [])


def save(home: str, record: SwitchedOff) -> None:
    """Keep the record. Raises `ConfigInvalid`."""
    raw = msgspec.json.encode(replace(record, schema=_SCHEMA))
    text = msgspec.json.format(raw, indent=2).decode() + "\n"
    from switchboard.config.writing import write_whole  # noqa: PLC0415 - as above

    write_whole(os.path.join(home, FILE), text, mode=_PRIVATE)


def _added(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(sorted({*names, name}))


def _taken(names: tuple[str, ...], name: str) -> tuple[str, ...]:
    return tuple(each for each in names if each != name)
