"""The files and folders whose change makes a reload worth trying."""

import os
from collections.abc import Iterable, Sequence
from itertools import chain

from switchboard.children.schema import ServerEntry
from switchboard.config.globs import watched_folders
from switchboard.config.locate import File, Places
from switchboard.providers.table import TABLE, watched_for
from switchboard.settings.consent.switched_off import FILE as SWITCHED_OFF
from switchboard.settings.files.wrapped_child import is_original, wrapper_above
from switchboard.settings.sections import ReadFile


def sealed_files(servers: Iterable[ServerEntry], workspace: str) -> list[str]:
    """Those that trust in servers is bound to."""
    seals = [each.seal for each in servers if each.seal is not None]
    if not seals:
        return []
    # Few servers come from a workspace, and everyone waits for the first listing.
    from switchboard.settings.consent.sealed_files import files_to_watch  # noqa: PLC0415

    return [path for seal in seals for path in files_to_watch(seal, workspace)]


def watched_files(
    files: Sequence[File],
    read: Sequence[ReadFile],
    places: Places,
    patterns: tuple[str, ...],
    *others: Iterable[str],
) -> tuple[str, ...]:
    """The files of the configuration, there or not, those that were read, and others."""
    paths = [file.path for file in files]
    children = [file.path for file in read if file.path not in paths]
    children += [wrapper_above(path) for path in children if is_original(path)]
    folders = watched_folders(places.workspace, patterns)
    records = (os.path.join(places.home, name) for name in ("trust.json", SWITCHED_OFF))
    own = [os.path.join(places.workspace, row.file) for row in TABLE.values() if row.file]
    # Where nothing calls for a provider yet, too: a file may come.
    finds = [path for row in TABLE.values() for path in watched_for(row, places)]
    scripts = chain.from_iterable(others)
    return tuple(dict.fromkeys((*paths, *children, *folders, *records, *own, *finds, *scripts)))
