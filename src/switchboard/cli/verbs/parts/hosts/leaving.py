"""Everything of ours on a machine, taken away, but for what a person made."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from switchboard.audit.paths import AuditPaths
from switchboard.control.client import draining_daemons, running_daemon
from switchboard.ipc.paths import DaemonPlaces

# What we made for ourselves. Everything else in the home stays: settings, servers, skills, secrets,
# what servers keep for their user (`state/NAME`), and the log of what was called.
_OURS = (
    *("run", "logs", "reports", "cache", "caches", "bytecode", "containers", "sessions", "serving"),
    *("hosts", "http-token", "control-token", "trust.json"),
)
_STATE = "state"


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
    folder = os.path.join(home, _STATE)
    if os.path.isdir(folder):
        for entry in os.scandir(folder):
            # A folder there belongs to a server, which keeps data of its user in it.
            if entry.is_file(follow_symlinks=False) and entry.path not in proofs:
                yield entry.path


def remove(path: str) -> None:
    """Take one of them away. A link is removed, never followed."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
