"""The lab: a project of its own in a home of its own, and no process left behind."""

import sys
from collections.abc import Generator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from yardlab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Generator[Lab]:
    """Give a project that is torn down whatever the test did to it."""
    made = Lab(tmp_path)
    try:
        yield made
    finally:
        made.close()
