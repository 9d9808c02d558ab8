"""Branch coverage of the processes that tests start, where `coverage run` runs the tests."""

import os
import zlib
from collections.abc import Mapping
from pathlib import Path

_PREFIX = "COVERAGE_"
# Says to a program of the tests, which is not measured itself, that what it starts is.
_STARTER = "TESTS_ARE_MEASURED"
_IS_MEASURED = _STARTER in os.environ or any(key.startswith(_PREFIX) for key in os.environ)
_CHECKOUT = Path(__file__).parents[2]
_DAEMON_PATH = str(Path(__file__).parent / "measured")
_VARIABLES = {
    "COVERAGE_PROCESS_START": str(Path(_DAEMON_PATH, "coverage.ini")),
    "COVERAGE_FILE": str(_CHECKOUT / ".run" / "coverage" / "data"),
}
# Measuring makes the start of a process four times as dear, and most tests start one. What one in
# so many tests reaches is nearly what all of them reach.
_ONE_IN = 3


def _takes_part() -> bool:
    """Say whether the test that runs is one of those; the same ones in every run."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    return zlib.crc32(test.encode()) % _ONE_IN == 0


def measured() -> dict[str, str]:
    """Give the variables that have a process measured; none where nobody measures."""
    return dict(_VARIABLES) if _IS_MEASURED and _takes_part() else {}


def measured_daemon() -> dict[str, str]:
    """Give those that have a daemon measured, too: of the environment it keeps its code path."""
    variables = measured()
    return {**variables, "PYTHONPATH": _DAEMON_PATH} if variables else {}


def starter(env: Mapping[str, str]) -> dict[str, str]:
    """Have a program of the tests not measured, but the commands of ours that it starts."""
    return {**unmeasured(env), **({_STARTER: "1"} if _IS_MEASURED else {})}


def unmeasured(env: Mapping[str, str]) -> dict[str, str]:
    """Leave out what has a process measured, for a test of what the process loads."""
    kept = {key: value for key, value in env.items() if not key.startswith(_PREFIX)}
    if kept.get("PYTHONPATH") == _DAEMON_PATH:
        del kept["PYTHONPATH"]
    return kept
