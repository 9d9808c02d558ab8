"""A home on a disk of another system, which no start may use."""

from switchboard.config.problems import Problem
from switchkit.platform.files import foreign_disk


def on_foreign_disk(home: str) -> Problem | None:
    """Why a home is not used at all: what protects it does not hold where it lies."""
    if not (kind := foreign_disk(home)):
        return None
    return Problem(
        path=home,
        message=f"the home of Switchboard lies on a disk of Windows (`{kind}`), where neither "
        "modes nor locks hold: others could read its secrets, and two daemons could run at once",
        hint="keep it on the disk of Linux: export SWITCHBOARD_HOME=/home/$USER/.switchboard",
    )
