"""The folder that the process of a server starts in, made ready for it."""

import os
from collections.abc import Mapping

from switchboard.children.runners import SAFE_PATH, taken_from_folder
from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault, FaultCode
from switchboard.procs.commands import lies_in, resolved_command
from switchboard.procs.trial import trial
from switchkit.files import NotPrivate, make_private_folder

_ASK = "import sys; print(getattr(sys.flags, 'safe_path', None) is not None)"
_PATIENCE_S = 5.0
_SCRIPT = b"#!"


def is_shielded(entry: ServerEntry) -> bool:
    """Whether it is Python that starts in a workspace which is not its own."""
    return (
        bool(entry.apart_from)
        and not entry.neutral
        and taken_from_folder(entry.command, entry.args) == "modules"
        and lies_in(entry.cwd, entry.apart_from)
    )


def make_ready(entry: ServerEntry, folder: str, env: Mapping[str, str]) -> None:
    """Make the folder if it is the server's own. Raises a fault where it cannot start there.

    Looks at files and may start an interpreter, so it belongs into a thread.
    """
    if entry.neutral:
        try:
            make_private_folder(folder)
        except NotPrivate as error:
            raise _no_folder(entry, f"it {error.why}") from error
        except OSError as error:
            raise _no_folder(entry, f"it cannot be made ({error.strerror})") from error
    # One that is confined has to be believed: nothing of it runs outside its sandbox.
    elif is_shielded(entry) and entry.sandbox_profile == "none":
        _check_python(entry, folder, env)


def _check_python(entry: ServerEntry, folder: str, env: Mapping[str, str]) -> None:
    try:
        path = env.get("PATH") or os.defpath
        command = resolved_command(entry.command, cwd=folder, path=path)
        heeds = _heeds_safe_path(command, folder, env)
    except OSError:
        # The start will say so.
        return
    if not heeds:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "folder-not-shut",
            f"`{entry.name}` would take modules from the workspace: its Python is older than 3.11",
            hint='write `start_in = "neutral"` in its entry, or `"workspace"` if it may have them',
        )


_known: dict[tuple[str, int, int], bool] = {}


def _heeds_safe_path(command: str, folder: str, env: Mapping[str, str]) -> bool:
    """Whether an interpreter knows the variable that keeps modules of its folder out."""
    found = os.stat(command)
    key = (command, found.st_ino, found.st_mtime_ns)
    if key in _known:
        return _known[key]
    # In the same folder: what stands for several versions chooses one by a file there.
    asked = trial(
        (command, "-I", "-S", "-c", _ASK),
        timeout_s=_PATIENCE_S,
        env={**env, SAFE_PATH: "1"},
        cwd=folder,
    )
    heeds = asked.status == 0 and asked.stdout.strip() == "True"
    with open(command, "rb") as file:
        if file.read(len(_SCRIPT)) != _SCRIPT:
            _known[key] = heeds
    return heeds


def _no_folder(entry: ServerEntry, why: str) -> Fault:
    return Fault(
        FaultCode.FAILED_PRECONDITION,
        "start-folder-unusable",
        f"`{entry.name}` has no folder to start in: {why}",
        hint="look at the folder `start` in the home of Switchboard",
    )
