"""A workspace for every test of the command line."""

from pathlib import Path

import pytest

from support.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)
