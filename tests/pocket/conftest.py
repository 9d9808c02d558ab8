"""A workspace with a gate, whose home may name ways to be told of questions."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.workspace import Workspace


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    # Short, so that the socket lies in the home as it does for users.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        workspace = Workspace(Path(folder), daemon=True)
        workspace.echo_child()
        yield workspace
        workspace.stop_daemon()
