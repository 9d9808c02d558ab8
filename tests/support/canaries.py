"""Secrets of tests have one word in common. What Switchboard has written must not have it."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

# Every secret that a test plants holds this word.
MARKER = b"canary"
HOME = ".switchboard"
# What people write into a home themselves may say anything.
WRITTEN_BY_PEOPLE = frozenset(
    {"config.toml", "mcp.json", "switchboard.config.json", "agents", "skills", "mcps", "tools"}
)
# What an engine keeps of its own conversations is its own, also where we say where.
WRITTEN_BY_ENGINES = frozenset({"conversations"})
# What Python makes of the sources that people write.
WRITTEN_BY_PYTHON = frozenset({"bytecode"})
_NOT_OURS = WRITTEN_BY_PEOPLE | WRITTEN_BY_ENGINES | WRITTEN_BY_PYTHON
# Nothing of ours is in there, and much of others.
_LARGE = frozenset({".git", "node_modules", "site-packages"})
_CORE = re.compile(r"core(\.\d+)?")
_LARGEST = 64 << 20


def leaks_below(root: Path) -> Iterator[str]:
    """Name the files below a folder of tests that hold a secret, or the memory of a process."""
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in _LARGE]
        is_home = f"{os.sep}{HOME}{os.sep}" in f"{folder}{os.sep}"
        if folder.endswith(f"{os.sep}{HOME}"):
            names[:] = [name for name in names if name not in _NOT_OURS]
            files[:] = [name for name in files if name not in _NOT_OURS]
        for name in files:
            if name.startswith("core") and _CORE.fullmatch(name):
                if _begins_with(Path(folder, name), b"\x7fELF"):
                    yield f"{Path(folder, name).relative_to(root)} (a core file)"
            elif (is_home or name.endswith(".log")) and _holds_marker(Path(folder, name)):
                yield str(Path(folder, name).relative_to(root))


def _holds_marker(path: Path) -> bool:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
        return False
    try:
        return MARKER in path.read_bytes().lower()
    except OSError:
        return False


def _begins_with(path: Path, beginning: bytes) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(beginning)) == beginning
    except OSError:
        return False
