"""Run every test. A few that fail beside others are run once more, each with the machine to itself.

Tests start thousands of processes on two cores, and wait for them with limits. What fails alone too
has failed; what passes alone is named, so that nobody takes it for a test that never fails.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.relays import RELAYED, RelayRecord, is_behind

ROOT = Path(__file__).parents[2]
FAILED = ROOT / ".pytest_cache" / "v" / "cache" / "lastfailed"
# More than these, of eleven thousand, are no accident of a busy machine.
MOST_AGAIN = 10


def run_tests(*words: str) -> int:
    """Run pytest, measured, and give its exit code."""
    command = (sys.executable, "-m", "coverage", "run", "-m", "pytest", *words)
    # Without the path by which this module was found: no program under test should find it.
    # And with byte code: each process would compile every test anew.
    left_out = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    env = {key: value for key, value in os.environ.items() if key not in left_out}
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def say(*lines: str) -> None:
    sys.stdout.write("\n  ".join(lines) + "\n")
    sys.stdout.flush()


def failed_tests() -> list[str]:
    """Name the tests that failed in the run just ended."""
    return list(json.loads(FAILED.read_text("utf-8"))) if FAILED.exists() else []


def relay_page_is_behind() -> bool:
    return is_behind(RelayRecord.load(RELAYED))


def main() -> int:
    code = run_tests("--cache-clear", *sys.argv[1:])
    failed = failed_tests()
    if code != pytest.ExitCode.TESTS_FAILED or not 0 < len(failed) <= MOST_AGAIN:
        return code
    say(f"\n{len(failed)} failed beside others; now alone:", *failed)
    code = run_tests("-n", "0", *failed)
    if code == 0 and relay_page_is_behind():
        say("docs/relay.md is behind the tests: make relayed")
        return pytest.ExitCode.TESTS_FAILED
    if code == 0:
        say("passed alone, after they had failed beside others:", *failed)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
