"""The folder that the process of a server starts in, and what keeps it from taking of it."""

from switchboard.children.schema import ServerEntry
from switchboard.children.starting.bytecode import without_bytecode
from switchboard.children.starting.runners import taken_from_folder
from switchboard.core.faults import Fault, FaultCode
from switchkit.commands import lies_in
from switchkit.files import NotPrivate, make_private_folder

# Tells Python from 3.11 on that no module comes from the folder that it starts in. An option and
# not a variable: what the server starts in its turn is its own affair. Older ones refuse to start.
_SAFE_PATH = "-P"


def command_line(entry: ServerEntry) -> tuple[str, ...]:
    """What to start: as it is written, but for what keeps code of a workspace out."""
    shield = (_SAFE_PATH,) if _is_shielded(entry) else ()
    words = (entry.command, *shield, *entry.args)
    return without_bytecode(words, entry.bytecode) if entry.bytecode else words


def _is_shielded(entry: ServerEntry) -> bool:
    """Whether it is Python that starts in a workspace which is not its own."""
    return (
        bool(entry.apart_from)
        and not entry.neutral
        and taken_from_folder(entry.command, entry.args) == "modules"
        and lies_in(entry.cwd, entry.apart_from)
    )


def make_own_folder(entry: ServerEntry, folder: str) -> None:
    """Make the folder that is the server's own. Raises a fault."""
    try:
        make_private_folder(folder)
    except NotPrivate as error:
        raise _no_folder(entry, f"it {error.why}") from error
    except OSError as error:
        raise _no_folder(entry, f"it cannot be made ({error.strerror})") from error


def fault_from_old_python(entry: ServerEntry, said: str) -> Fault | None:
    """Why an interpreter ended that cannot be kept from taking modules of the workspace."""
    if not (_is_shielded(entry) and f"nknown option: {_SAFE_PATH}" in said):
        return None
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "folder-not-shut",
        "it would take modules from the workspace: its Python is older than 3.11",
        hint='write `start_in = "neutral"` in its entry, or `"workspace"` if it may have them',
    )


def _no_folder(entry: ServerEntry, why: str) -> Fault:
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "start-folder-unusable",
        f"`{entry.name}` has no folder to start in: {why}",
        hint="look at the folder `start` in the home of Switchboard",
    )
