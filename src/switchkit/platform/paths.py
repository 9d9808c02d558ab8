"""The one true spelling of a path: wherever a path becomes a fence or a key. Light."""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

# Whether most disks take two spellings for one name, so that names are compared without case.
FOLDS_NAMES: bool = sys.platform == "darwin"

# Where macOS lets a program in only if its user has allowed that to the app it belongs to: below a
# home, and anywhere.
_ASKED = ("Desktop", "Documents", "Downloads", "Library/Mobile Documents")
ASKED_BELOW_HOME: "tuple[str, ...]" = _ASKED if FOLDS_NAMES else ()
ASKED_ANYWHERE: "tuple[str, ...]" = ("/Volumes",) if FOLDS_NAMES else ()

if sys.platform == "darwin":
    from switchkit.platform.darwin.paths import folded, spelled, true_path
else:
    # Without links it has one spelling. Disks of Linux that fold names are rare, and not asked.
    true_path = os.path.realpath

    def spelled(path: str) -> str:
        """A path without links as the disk spells it."""
        return path

    def folded(name: str) -> str:
        """What is the same for all names that the disk takes for one."""
        return name


__all__ = [
    "ASKED_ANYWHERE",
    "ASKED_BELOW_HOME",
    "FOLDS_NAMES",
    "folded",
    "spelled",
    "true_folder",
    "true_path",
]


def true_folder(path: "Path") -> "Path":
    """`true_path` for whoever has an object that stands for a path."""
    return type(path)(true_path(str(path)))
