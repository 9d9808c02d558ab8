"""The bench of a test."""

from pathlib import Path

import pytest

from commands.bench import Bench
from settings.ground import Ground


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)
