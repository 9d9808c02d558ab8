"""A home for every test, and a gate over its desk."""

from pathlib import Path

import pytest

from approvals.ground import Ground


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path.resolve()


@pytest.fixture
def ground(home: Path) -> Ground:
    return Ground(home)
