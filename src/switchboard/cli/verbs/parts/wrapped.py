"""The folder of the child that a verb is about."""

import os

from switchboard.children.schema import ServerEntry
from switchboard.cli.verbs.parts.servers import entries
from switchboard.core.faults import Fault, FaultCode
from switchboard.settings.files.wrapped_child import CHILD_FILE
from switchboard.settings.sections import Settings
from switchboard.settings.server_names import no_server


def child_named(settings: Settings, name: str) -> ServerEntry:
    """The server of this name, trusted or not. Raises a fault."""
    known = entries(settings)
    for entry in known:
        if entry.name == name:
            return entry
    first = f"write its `{CHILD_FILE}` into `.switchboard/mcps/{name}/` first"
    raise no_server(name, [entry.name for entry in known], first)


def folder_of(settings: Settings, name: str) -> str:
    """The folder of a suite child. Raises a fault for a server that has none."""
    entry = child_named(settings, name)
    if entry.instructions and os.path.lexists(os.path.join(entry.cwd, CHILD_FILE)):
        return entry.cwd
    raise Fault(
        FaultCode.FAILED_PRECONDITION,
        "no-child-file",
        f"`{name}` has no folder with a `{CHILD_FILE}` of its own ({entry.origin})",
        hint=f"set `natural_language = true` for `{name}` where it is declared",
    )
