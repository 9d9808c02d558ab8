"""What agent files said last time, so that a start parses none of them again.

One file in the home, private as the home is. It holds what was read together with what tells that
nothing has changed since; a cache that cannot be read, or is of another version, counts as empty.
"""

import contextlib
import os
from collections.abc import Callable

import msgspec
from msgspec import Struct

from switchboard.providers.agents.files.agent_file import AgentReading
from switchboard.providers.agents.formats.parts import signature_of
from switchkit.files import make_private_folder, replace_file

# To be raised when files are understood otherwise.
_VERSION = 2
_MOST_BYTES = 32 * 1024 * 1024


class CachedAgents(Struct, frozen=True, kw_only=True):
    """The readings of files, by a key that says how each was read."""

    version: int
    readings: dict[str, AgentReading]


_decode = msgspec.json.Decoder(CachedAgents).decode


class AgentFileCache:
    """The cache of one home. Not for several threads at once."""

    def __init__(self, home: str) -> None:
        self._folder = os.path.join(home, "cache", "agents")
        self._path = os.path.join(self._folder, "files.json")
        self._known = self._load()
        self._used: dict[str, AgentReading] = {}

    def get(self, key: str, read: Callable[[], AgentReading]) -> AgentReading:
        """What was read, if everything it depends on is as it was; else what is read now."""
        reading = self._known.get(key)
        if reading is None or any(
            signature_of(part.path) != part.signature for part in reading.parts
        ):
            reading = read()
        # What depends on no file was not read at all.
        if reading.parts:
            self._used[key] = reading
        return reading

    def save(self) -> None:
        """Keep what was used, beside what other workspaces have."""
        changed = {
            key: each for key, each in self._used.items() if self._known.get(key) is not each
        }
        if not changed:
            return
        kept = {
            key: each
            for key, each in self._known.items()
            if key not in changed and all(os.path.exists(part.path) for part in each.parts[:1])
        }
        text = msgspec.json.encode(CachedAgents(version=_VERSION, readings={**kept, **changed}))
        if len(text) <= _MOST_BYTES:
            with contextlib.suppress(OSError):
                make_private_folder(self._folder)
                replace_file(self._path, text, durable=False)

    def _load(self) -> dict[str, AgentReading]:
        try:
            with open(self._path, "rb") as file:
                found = _decode(file.read(_MOST_BYTES + 1))
        except (OSError, msgspec.MsgspecError):
            return {}
        return found.readings if found.version == _VERSION else {}
