"""A workspace whose daemon ends with the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    workspace = Workspace(tmp_path, daemon=True)
    workspace.echo_child()
    yield workspace
    workspace.stop_daemon()
