"""Makes each Python that ours start take this machine for a Mac (see `simulated`)."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent / "simulated"
# Some are started without any path or variable; here they have both.
_PYTHON = """#!/bin/sh
export PYTHONPATH={path} SIMULATED_DARWIN={own} SIMULATED_DISK={disk}
export SIMULATED_SEATBELT={seatbelt}
while [ "$1" = "-I" ] || [ "$1" = "-S" ]; do shift; done
exec {python} "$@"
"""


def as_darwin(
    env: Mapping[str, str],
    folder: Path,
    *,
    folding: Path | None = None,
    seatbelt: Path | None = None,
) -> dict[str, str]:
    """The same environment in the simulation, whose interpreter is put into a folder.

    Below `folding` the disk takes `Work` for `work`; `seatbelt` stands for `sandbox-exec`.
    """
    own = folder / "simulated-python"
    path = os.pathsep.join(filter(None, (str(FOLDER), env.get("PYTHONPATH", ""))))
    words = {"path": path, "own": own, "python": sys.executable, "disk": folding or ""}
    words["seatbelt"] = seatbelt or ""
    own.write_text(_PYTHON.format(**{name: shlex.quote(str(each)) for name, each in words.items()}))
    own.chmod(0o755)
    disk = {"SIMULATED_DISK": str(folding.resolve())} if folding is not None else {}
    own_variables = {"PYTHONPATH": path, "SIMULATED_DARWIN": str(own)}
    sandbox = {"SIMULATED_SEATBELT": str(seatbelt)} if seatbelt is not None else {}
    return {**env, **disk, **sandbox, **own_variables}
