"""The settings as far as the files can be read: one broken file ends nobody's connection.

A broken file fails as a whole. Where it could be read before, that reading serves on. Where it
could not, nobody knows what it would have forbidden, so what it may be about is left out, and the
rest asks at the console.
"""

import os
from collections.abc import Iterable, Mapping
from typing import Protocol

from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchboard.config.documents import read_text
from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.settings.sections import BrokenFile, Omission, Settings

# By path: what is read in place of the file; nothing leaves it out.
StandIns = Mapping[str, str | None]
NOTHING_INSTEAD: StandIns = {}

# Files that say more than which servers there are.
_POLICIES = ("config.toml", "switchboard.config.json")
_MEND_IT = "switchboard config check"


class LoadFiles(Protocol):
    """Reads the settings with other texts in place of some files."""

    def __call__(self, *, stand_ins: StandIns) -> Settings:
        """Raises `ConfigInvalid`."""
        ...


def usable_settings(load: LoadFiles, last_good: StandIns = NOTHING_INSTEAD) -> Settings:
    """The settings without what is broken. Raises `ConfigInvalid` for what is wrong in no file."""
    stand_ins: dict[str, str | None] = {}
    broken: dict[str, tuple[Problem, ...]] = {}
    serves_on: set[str] = set()
    while True:
        try:
            settings = load(stand_ins=stand_ins)
        except ConfigInvalid as invalid:
            left = {
                each.path
                for each in invalid.problems
                if each.path in invalid.files and stand_ins.get(each.path, "") is not None
            }
            if not left:
                raise
            for path in left:
                problems = [each for each in invalid.problems if each.path == path]
                problems.sort(key=lambda each: each.severity != "error")
                broken.setdefault(path, tuple(problems))
                # What it held before may have become wrong as well: by another file, or a variable.
                is_new = path not in stand_ins and path in last_good
                (serves_on.add if is_new else serves_on.discard)(path)
                stand_ins[path] = last_good[path] if is_new else None
        else:
            break
    if not broken:
        return settings
    files = tuple(
        BrokenFile(path=path, problems=problems, serves_on=path in serves_on)
        for path, problems in broken.items()
    )
    settings = replace(settings, broken=files)
    unknown = [each.path for each in files if not each.serves_on]
    policies = [path for path in unknown if os.path.basename(path) in _POLICIES]
    return _cautious(settings, policies) if policies else settings


def last_readings(settings: Iterable[Settings]) -> StandIns:
    """What files held when they could last be used; nothing, if they were not there."""
    known: dict[str, str | None] = {}
    for each in settings:
        unknown = {file.path for file in each.broken if not file.serves_on}
        known |= {path: None for path in each.watched if path not in unknown and path not in known}
        known |= {file.path: file.text for file in each.files}
    return known


def _cautious(settings: Settings, paths: Iterable[str]) -> Settings:
    """Nothing that an unreadable file may have forbidden or confined runs unasked.

    A file of the workspace speaks of the servers of the workspace: those of the home are not its to
    take away.
    """
    texts: dict[str, str | None] = {}
    own: set[str] = set()
    for path in paths:
        shown = path if _is_of_workspace(settings, path) else os.path.basename(path)
        if shown != path:
            own.add(shown)
        texts[shown] = read_text(path, [])
    kept: list[ServerEntry] = []
    left_out = list(settings.omitted)
    for entry in settings.servers:
        named = [
            name
            for name, text in texts.items()
            if (name in own or entry.fingerprint) and (not text or entry.name in text)
        ]
        if named:
            reason = f"`{os.path.basename(named[0])}` cannot be used, and may hold settings of it"
            left_out.append(Omission(entry=entry, reason=reason, hint=_MEND_IT))
        else:
            kept.append(entry)
    return replace(
        settings,
        # What only reads is a server's word, which that file may have told us not to take.
        servers=tuple(
            replace(entry, trust_annotations=False) if own or entry.fingerprint else entry
            for entry in kept
        ),
        omitted=tuple(left_out),
        is_guarded=True,
        approval_channel="none" if settings.approval_channel == "none" else "console",
    )


def _is_of_workspace(settings: Settings, path: str) -> bool:
    is_homes = os.path.dirname(path) == settings.home
    return not is_homes and path.startswith(settings.workspace.rstrip(os.sep) + os.sep)
