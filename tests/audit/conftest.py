"""A log for every test."""

from pathlib import Path

import pytest

from audit.ground import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path / "home")
