"""Branch coverage of the processes that tests start, where `coverage run` runs the tests."""

import os
import zlib
from collections.abc import Mapping
from pathlib import Path

_PREFIX = "COVERAGE_"
_VARIABLES = {key: value for key, value in os.environ.items() if key.startswith(_PREFIX)}
_DAEMON_PATH = str(Path(__file__).parent / "measured")
# Measuring makes the start of a process four times as dear, and most tests start one. What one in
# so many tests reaches is nearly what all of them reach.
_ONE_IN = 3


def _takes_part() -> bool:
    """Say whether the test that runs is one of those; the same ones in every run."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    return zlib.crc32(test.encode()) % _ONE_IN == 0


def measured() -> dict[str, str]:
    """Give the variables that have a process measured; none where nobody measures."""
    return dict(_VARIABLES) if _takes_part() else {}


def measured_daemon() -> dict[str, str]:
    """Give those that have a daemon measured, too: of the environment it keeps its code path."""
    variables = measured()
    return {**variables, "PYTHONPATH": _DAEMON_PATH} if variables else {}


def unmeasured(env: Mapping[str, str]) -> dict[str, str]:
    """Leave out what has a process measured, for a test of what the process loads."""
    kept = {key: value for key, value in env.items() if not key.startswith(_PREFIX)}
    if kept.get("PYTHONPATH") == _DAEMON_PATH:
        del kept["PYTHONPATH"]
    return kept
