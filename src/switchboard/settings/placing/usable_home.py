"""Whether a home can keep anything. For commands: what only lists tools writes nothing there."""

import os
import shlex

from switchboard.config.problems import Problem
from switchboard.settings.placing.foreign_home import on_foreign_disk


def home_fault(home: str) -> Problem | None:
    """Why nothing can be kept in a home: no trust, no server, no answer of a person."""
    at = shlex.quote(home)
    if os.path.lexists(home) and not os.path.isdir(home):
        return Problem(
            path=home,
            message="the home of Switchboard is no folder, so nothing can be kept there",
            hint=f"move it away (mv {at} {at}.old), or name another folder with SWITCHBOARD_HOME",
        )
    if (foreign := on_foreign_disk(home)) is not None:
        return foreign
    # What is not there yet is made below the first folder that is.
    there = home
    while not os.path.lexists(there) and there != os.path.dirname(there):
        there = os.path.dirname(there)
    if os.path.isdir(there) and os.access(there, os.W_OK | os.X_OK):
        return None
    what = "the home of Switchboard" if there == home else f"`{there}`"
    return Problem(
        path=home,
        message=f"{what} cannot be written, so no server can be added or trusted",
        hint=f"chmod u+rwx {shlex.quote(there)}, or name another folder with SWITCHBOARD_HOME",
    )
