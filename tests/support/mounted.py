"""Has programs of ours believe that a folder lies on another file system than it does."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

_LINE = "{number} 24 {device} / {place} rw,noatime shared:1 - {what}"
_STARTUP = """
import os, sys
sys.executable = os.environ["TOLD_PYTHON"]
from switchkit.platform.linux import files
files.PROC = os.environ["TOLD_PROC"]
"""
# The daemon is started without any path or variable; here it has both.
_PYTHON = """#!/bin/sh
export PYTHONPATH={path} TOLD_PYTHON={own} TOLD_PROC={proc}
while [ "$1" = "-I" ] || [ "$1" = "-S" ]; do shift; done
exec {python} "$@"
"""


def told_mounts(folder: Path, what: str, on: Path) -> Path:
    """Make what the kernel would say of mounts: `what` is the disk that a folder lies on."""
    device = on.stat().st_dev
    own = f"{os.major(device)}:{os.minor(device)}"
    table = folder / "proc" / "self" / "mountinfo"
    table.parent.mkdir(parents=True, exist_ok=True)
    rows = (("0:1", "/", "ext4 /dev/sda rw"), (own, "/mnt/any\\040where", what))
    lines = [
        _LINE.format(number=number, device=device, place=place, what=about)
        for number, (device, place, about) in enumerate(rows)
    ]
    table.write_text("\n".join(lines) + "\n")
    return folder / "proc"


def as_mounted(env: Mapping[str, str], folder: Path, what: str) -> dict[str, str]:
    """The same environment, in which a folder, and all that lies beside it, is on such a disk."""
    startup = folder / "startup"
    startup.mkdir()
    (startup / "sitecustomize.py").write_text(_STARTUP)
    path = os.pathsep.join(filter(None, (str(startup), env.get("PYTHONPATH", ""))))
    own, proc = startup / "python", told_mounts(folder, what, folder)
    words = {"path": path, "own": own, "proc": proc, "python": sys.executable}
    own.write_text(_PYTHON.format(**{name: shlex.quote(str(each)) for name, each in words.items()}))
    own.chmod(0o755)
    return {**env, "PYTHONPATH": path, "TOLD_PROC": str(proc), "TOLD_PYTHON": str(own)}
