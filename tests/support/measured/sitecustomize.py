"""Measures a process that has this folder in `PYTHONPATH`, which a daemon is left with.

The variables go again, so that what the process starts is what it starts for everybody.
"""

import os
from pathlib import Path

import coverage

_CHECKOUT = Path(__file__).parents[3]
_VARIABLES = {
    "COVERAGE_PROCESS_START": str(_CHECKOUT / "pyproject.toml"),
    "COVERAGE_FILE": str(_CHECKOUT / ".run" / "coverage" / "data"),
}

if "COVERAGE_PROCESS_CONFIG" not in os.environ:
    os.environ.update(_VARIABLES)
    coverage.process_startup()
    for name in (*_VARIABLES, "COVERAGE_PROCESS_CONFIG"):
        os.environ.pop(name, None)
