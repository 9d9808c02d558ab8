"""What a process runs, where it stands, whose it is and what it holds."""

import sys

if sys.platform == "darwin":
    from switchkit.platform.darwin.facts import (
        age_s,
        command_line,
        command_words,
        has_open,
        open_paths,
        owner_of,
        resident_bytes,
        user_of,
        working_folder,
    )
else:
    from switchkit.platform.linux.facts import (
        age_s,
        command_line,
        command_words,
        has_open,
        open_paths,
        owner_of,
        resident_bytes,
        user_of,
        working_folder,
    )

__all__ = [
    "age_s",
    "command_line",
    "command_words",
    "has_open",
    "open_paths",
    "owner_of",
    "resident_bytes",
    "user_of",
    "working_folder",
]
