"""Which files of other hosts in a workspace their user has looked at.

They name commands, so they count only once they are trusted, by their bytes.
"""

import os
import shlex
from collections.abc import Iterator
from typing import Any, cast

from switchboard.core.origins import Origin, Scope
from switchboard.providers.agents.found_agents import FoundAgents
from switchboard.providers.agents.servers.hosts import HostPlaces, TrustsFile, waiting_files
from switchboard.providers.source import Item
from switchboard.settings.sections import Settings
from switchboard.settings.trust import read_trust

# Beside the digests of other things in one record; nothing else is written this way.
_MARK = "host:"
_KEY = "agents"


def trusts_host_file(settings: Settings) -> TrustsFile:
    """Whether a file of the workspace counts, with exactly the bytes that it has now."""
    found = cast("FoundAgents | None", settings.sources.get(_KEY))
    if found is not None and found.trusts_workspace:
        return lambda _path, _digest: True
    record = read_trust(settings.home, [])
    return lambda path, digest: record.holds(settings.workspace, print_of(path, digest))


def host_items(settings: Settings, user_home: str) -> Iterator[Item]:
    """The files that wait for trust, or have it, as people see them. Blocks: files are read."""
    places = HostPlaces(workspace=settings.workspace, user_home=user_home)
    trusts = trusts_host_file(settings)
    for file, read, entries in waiting_files(places):
        name = os.path.relpath(file.path, places.workspace)
        yield Item(
            name=name,
            kind="project",
            trust="trusted" if trusts(file.path, read.digest) else "waiting",
            fingerprint=print_of(file.path, read.digest),
            runs="; ".join(_runs(fields) for fields in entries.values()),
            description=f"servers of {file.host} that agents may get",
            origin=Origin(scope=Scope.WORKSPACE, path=file.path),
        )


def print_of(path: str, digest: str) -> str:
    """What is trusted of a file with these bytes."""
    return f"{_MARK}{os.path.basename(path)}:{digest}"


def _runs(fields: Any) -> str:
    args: Any = fields.get("args") or []
    words = [fields.get("command"), *(cast("list[Any]", args) if isinstance(args, list) else [])]
    return shlex.join(map(str, words))
