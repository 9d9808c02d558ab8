"""Measures processes that would not be: a daemon, and what is started without site-packages.

A daemon is left with `PYTHONPATH`, but with no variable of coverage. These go again, so that what
it starts is what it starts for everybody.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import coverage

_CHECKOUT = Path(__file__).parents[3]
_VARIABLES = {
    "COVERAGE_PROCESS_START": str(Path(__file__).with_name("coverage.ini")),
    "COVERAGE_FILE": str(_CHECKOUT / ".run" / "coverage" / "data"),
}
_spawn = os.posix_spawn


def _spawn_with_site(path: str, words: list[str], env: Mapping[str, str], **more: Any) -> int:
    """Let the supervisor of a yard load site-packages, and coverage with them."""
    if any("switchyard.supervisor" in word for word in words):
        words = [word for word in words if word != "-S"]
    return _spawn(path, words, env, **more)


if "COVERAGE_PROCESS_CONFIG" in os.environ:
    os.posix_spawn = _spawn_with_site
else:
    os.environ.update(_VARIABLES)
    coverage.process_startup()
    for name in (*_VARIABLES, "COVERAGE_PROCESS_CONFIG"):
        os.environ.pop(name, None)
