"""Branch coverage of the processes that tests start, where `coverage run` runs the tests."""

import os
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
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
# Measuring makes the start of a process four times as dear, and a test itself more than twice.
# What one in so many tests reaches is nearly what all of them reach; `make coverage` measures all.
_ONE_IN = 1 if "MEASURE_EVERY_TEST" in os.environ else 5


def _takes_part(test: str) -> bool:
    """Say whether a test is one of those; the same ones in every run."""
    return zlib.crc32(test.encode()) % _ONE_IN == 0


@contextmanager
def measured_or_not(test: str) -> Generator[None]:
    """Measure what a test does in this process, if it is one of those."""
    if not _IS_MEASURED or _takes_part(test):
        yield
        return
    # Most who run tests do not measure, and it takes a while to load.
    from coverage import Coverage  # noqa: PLC0415

    running = Coverage.current()
    if running is None:
        yield
        return
    running.stop()
    try:
        yield
    finally:
        running.start()


def measured() -> dict[str, str]:
    """Give the variables that have a process measured; none where nobody measures."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    return dict(_VARIABLES) if _IS_MEASURED and _takes_part(test) else {}


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
