"""What systems do with files and folders, each by calls of its own."""

import sys

if sys.platform == "darwin":
    from switchkit.platform.darwin.files import (
        HANDLE_ONLY,
        clone_file,
        folder_identity,
        foreign_disk,
        punch_hole,
        renamed_in,
        scratch_file,
        watch_folders,
        watch_writes,
    )
else:
    from switchkit.platform.linux.files import (
        HANDLE_ONLY,
        clone_file,
        folder_identity,
        foreign_disk,
        punch_hole,
        renamed_in,
        scratch_file,
        watch_folders,
        watch_writes,
    )

__all__ = [
    "HANDLE_ONLY",
    "clone_file",
    "folder_identity",
    "foreign_disk",
    "punch_hole",
    "renamed_in",
    "scratch_file",
    "watch_folders",
    "watch_writes",
]
