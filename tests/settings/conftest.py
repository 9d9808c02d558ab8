"""Every test here stands on a home and a workspace of its own."""

from pathlib import Path

import pytest

from settings.ground import Ground


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path.resolve())
