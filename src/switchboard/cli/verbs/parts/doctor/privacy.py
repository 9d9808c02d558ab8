"""Folders that macOS opens to a program only if its user has allowed it."""

import os
from collections.abc import Iterator

from switchboard.providers.source import Finding
from switchkit.platform.paths import ASKED_ANYWHERE, ASKED_BELOW_HOME, true_path


def about_privacy(workspace: str, user_home: str) -> Iterator[Finding]:
    """Whether the daemon, or this very command, may be kept out of the workspace."""
    folders = (*(os.path.join(user_home, each) for each in ASKED_BELOW_HOME), *ASKED_ANYWHERE)
    place = next((each for each in folders if _lies_in(workspace, each)), "")
    if not place:
        return
    try:
        os.listdir(workspace)
    except PermissionError:
        yield Finding(
            severity="error",
            subject="workspace",
            message=f"macOS does not let this program into {place}",
            hint="allow it to your terminal in System Settings, Privacy & Security, Files and"
            " Folders, then `switchboard daemon restart`",
        )
    except OSError:
        return
    else:
        yield Finding(
            severity="note",
            subject="privacy",
            message=f"macOS asks before a program reads {place}, and gives the daemon the"
            " permission of the app that started it first, whichever window it serves",
            hint="if a server is refused there (`Operation not permitted`): `switchboard daemon"
            " restart` in a terminal that may",
        )


def _lies_in(path: str, folder: str) -> bool:
    real, within = true_path(path), true_path(folder)
    return real == within or real.startswith(within + os.sep)
