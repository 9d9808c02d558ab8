"""The lab: a project of its own in a home of its own, and no process left behind."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from boarded import Boarded
from yardlab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Generator[Lab]:
    """Give a project that is torn down whatever the test did to it."""
    made = Lab(tmp_path)
    try:
        yield made
    finally:
        made.close()


@pytest.fixture(params=["in-process", "daemon"])
def board(request: pytest.FixtureRequest, lab: Lab) -> Boarded:
    """Give Switchboard for the lab's project, once in a process of its own and once as a daemon."""
    made = Boarded(lab, daemon=request.param == "daemon")
    lab.cleanup(made.workspace.stop_daemon)
    return made


@pytest.fixture
def own_process(lab: Lab) -> Boarded:
    """Give Switchboard in a process of its own, where that makes no difference."""
    return Boarded(lab, daemon=False)
