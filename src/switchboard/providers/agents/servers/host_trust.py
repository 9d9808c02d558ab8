"""Which files of other hosts in a workspace their user has looked at.

They name commands, so they count only once they are trusted: by their bytes, and by the files that
the commands name.
"""

import os
import shlex
from collections.abc import Iterator, Mapping
from typing import Any, cast

from switchboard.core.origins import Origin, Scope
from switchboard.core.privacy.cleaning import written_out
from switchboard.providers.agents.found_agents import FoundAgents
from switchboard.providers.agents.servers.host_fields import EntryUnusable
from switchboard.providers.agents.servers.host_file import HostFile, HostTree
from switchboard.providers.agents.servers.host_seal import (
    HostSeal,
    filled_in,
    given_to,
    refuse_loader,
    words_of,
)
from switchboard.providers.agents.servers.hosts import (
    HostPlaces,
    TrustsFile,
    local_entries,
    waiting_files,
)
from switchboard.providers.source import Item
from switchboard.settings.consent.looking import one_look
from switchboard.settings.consent.trust_record import read_trust
from switchboard.settings.fingerprints import fingerprint
from switchboard.settings.sections import Settings

# Beside the digests of other things in one record; nothing else is written this way.
_MARK = "host:"
_KEY = "agents"


def trusts_host_file(settings: Settings) -> TrustsFile:
    """Whether a file of the workspace counts, with exactly what it holds and names now."""
    found = cast("FoundAgents | None", settings.sources.get(_KEY))
    if found is not None and found.trusts_workspace:
        return lambda _file, _read: True
    record = read_trust(settings.home, [])
    workspace, home = settings.workspace, settings.user_home
    return lambda file, read: record.holds(workspace, print_of(file, read, workspace, home))


def host_items(settings: Settings) -> list[Item]:
    """The files that wait for trust, or have it, as people see them. Blocks: files are read."""
    with one_look():
        return [*_items(settings)]


def _items(settings: Settings) -> Iterator[Item]:
    places = HostPlaces(workspace=settings.workspace, user_home=settings.user_home)
    trusts = trusts_host_file(settings)
    for file, read, entries in waiting_files(places):
        yield Item(
            name=os.path.relpath(file.path, places.workspace),
            kind="project",
            trust="trusted" if trusts(file, read) else "waiting",
            fingerprint=print_of(file, read, places.workspace, places.user_home),
            runs="; ".join(_runs(fields, file) for fields in entries.values()),
            description=f"servers of {file.host} that agents may get",
            origin=Origin(scope=Scope.WORKSPACE, path=file.path),
        )


def print_of(file: HostFile, read: HostTree, workspace: str, home: str) -> str:
    """What is trusted of a file that holds this. Blocks: the files that it names are read."""
    seal = HostSeal(file, local_entries(read.tree), workspace, home).seal(read.digest)
    return f"{_MARK}{os.path.basename(file.path)}:{fingerprint(seal, workspace)}"


def _runs(fields: Mapping[str, Any], file: HostFile) -> str:
    """The command line of an entry and what it is given, without any value."""
    given, filled = given_to(fields), filled_in(fields, file)
    said: list[str] = []
    if given:
        said.append(f"sets {_names(given)}")
    if filled:
        said.append(f"is given the value of your {_names(filled)}")
    try:
        for key in given:
            refuse_loader(key)
    except EntryUnusable as why:
        said.append(f"left out: {why}")
    line = shlex.join(words_of(fields))
    return f"{line} ({'; '.join(said)})" if said else line


def _names(names: list[str]) -> str:
    # In the words of a shell: no name can be taken for several, or for the end of the list.
    return ", ".join(shlex.quote(written_out(name)) for name in names)
