"""A server that all folders of a user share."""

import os
from collections.abc import Mapping

from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchkit.commands import lies_in, search_path


def of_all_folders(entry: ServerEntry, home: str, environ: Mapping[str, str]) -> ServerEntry:
    """The entry for whoever shares it: it starts in the home of the user, and knows no workspace.

    Where the search path leads into one, or the home is one, it is nobody else's.
    """
    apart = entry.apart_from
    folders = search_path(entry.env.get("PATH") or environ.get("PATH") or "").split(os.pathsep)
    is_led = bool(apart) and any(lies_in(each, apart) for each in folders)
    return replace(
        entry,
        cwd=home,
        neutral=entry.neutral and (entry.start_in == "neutral" or not apart),
        apart_from=apart if is_led else "",
    )
