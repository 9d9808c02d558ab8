"""Everything of ours on a machine, taken away, but for what a person made."""

import os
import shlex
import shutil
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from switchboard.audit.paths import AuditPaths
from switchboard.control.client import draining_daemons, running_daemon
from switchboard.ipc.paths import DaemonPlaces

# What we made for ourselves. Everything else in the home stays: settings, servers, skills, secrets,
# what servers keep for their user (`state/NAME`), and the log of what was called.
_OURS = (
    *("run", "logs", "reports", "cache", "caches", "bytecode", "containers", "sessions", "serving"),
    *("hosts", "http-token", "control-token", "page.json", "page-secret", "trust.json"),
)
_STATE = "state"
# A folder for each server that is started nowhere else.
_START = "start"
_PACKAGE = "switchboard-mcp"
# What installers leave in a home of their own for a program.
_RECEIPTS = {"uv-receipt.toml": "uv tool", "pipx_metadata.json": "pipx"}


def stop_daemons(places: DaemonPlaces) -> int:
    """End every daemon of the home; how many there were."""
    found = [each for each in (running_daemon(places), *draining_daemons(places)) if each]
    for each in found:
        each.stop()
        each.close()
    return len(found)


def ours_in(home: str) -> Iterator[str]:
    """The files and folders of a home that are only of use to Switchboard."""
    for name in _OURS:
        if os.path.lexists(path := os.path.join(home, name)):
            yield path
    audit = AuditPaths(Path(home))
    # The log stays, and without these two nobody could tell it from one that was tampered with.
    proofs = {str(audit.key), str(audit.head)} if audit.folder.is_dir() else set[str]()
    for name in (_START, _STATE):
        folder = os.path.join(home, name)
        if os.path.isdir(folder) and not os.path.islink(folder):
            yield from _ours_below(folder, proofs, has_files=name == _STATE)


def _ours_below(folder: str, kept: set[str], *, has_files: bool) -> Iterator[str]:
    """The folder itself if nothing in it is its user's, otherwise what of it is not."""
    entries = [*os.scandir(folder)]
    # A folder there belongs to a server, which may keep data of its user in it.
    ours = [
        each.path
        for each in entries
        if is_hollow(each.path)
        or (has_files and each.is_file(follow_symlinks=False) and each.path not in kept)
    ]
    yield from [folder] if len(ours) == len(entries) else ours


def is_hollow(path: str) -> bool:
    """Whether this is a folder that holds folders alone, however deep."""
    if os.path.islink(path) or not os.path.isdir(path):
        return False
    return all(is_hollow(each.path) for each in os.scandir(path))


def own_removal(prefix: str, installer: str) -> str:
    """The command that removes the program, by whatever put it there."""
    for receipt, command in _RECEIPTS.items():
        if os.path.exists(os.path.join(prefix, receipt)):
            return f"{command} uninstall {_PACKAGE}"
    python = shlex.quote(os.path.join(prefix, "bin", "python"))
    if installer == "uv":
        return f"uv pip uninstall --python {python} {_PACKAGE}"
    return f"{python} -m pip uninstall {_PACKAGE}"


def own_installer() -> str:
    """The program that put this one here, as it signed itself; nothing where none did."""
    try:
        return (metadata.distribution(_PACKAGE).read_text("INSTALLER") or "").strip()
    except metadata.PackageNotFoundError:
        return ""


def remove(path: str) -> None:
    """Take one of them away. A link is removed, never followed."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
