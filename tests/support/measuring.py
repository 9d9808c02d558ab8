"""Branch coverage of the processes that tests start, where `coverage run` runs the tests."""

import os
from collections.abc import Mapping
from pathlib import Path

_PREFIX = "COVERAGE_"
_VARIABLES = {key: value for key, value in os.environ.items() if key.startswith(_PREFIX)}


def measured() -> dict[str, str]:
    """Give the variables that have a process measured; none where nobody measures."""
    return dict(_VARIABLES)


def measured_daemon() -> dict[str, str]:
    """Give those that have a daemon measured, too: of the environment it keeps its code path."""
    folder = str(Path(__file__).parent / "measured")
    return {**_VARIABLES, "PYTHONPATH": folder} if _VARIABLES else {}


def unmeasured(env: Mapping[str, str]) -> dict[str, str]:
    """Leave out what has a process measured, for a test of what the process loads."""
    kept = {key: value for key, value in env.items() if not key.startswith(_PREFIX)}
    if kept.get("PYTHONPATH") == measured_daemon().get("PYTHONPATH"):
        kept.pop("PYTHONPATH", None)
    return kept
