"""Makes each Python that ours start take this machine for a Mac (see `simulated`)."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent / "simulated"
# Some are started without any path or variable; here they have both.
_PYTHON = """#!/bin/sh
export PYTHONPATH={path} SIMULATED_DARWIN={own}
while [ "$1" = "-I" ] || [ "$1" = "-S" ]; do shift; done
exec {python} "$@"
"""


def as_darwin(env: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The same environment in the simulation, whose interpreter is put into a folder."""
    own = folder / "simulated-python"
    path = os.pathsep.join(filter(None, (str(FOLDER), env.get("PYTHONPATH", ""))))
    words = {"path": path, "own": own, "python": sys.executable}
    own.write_text(_PYTHON.format(**{name: shlex.quote(str(each)) for name, each in words.items()}))
    own.chmod(0o755)
    return {**env, "PYTHONPATH": path, "SIMULATED_DARWIN": str(own)}
