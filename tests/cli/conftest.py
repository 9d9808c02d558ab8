"""A workspace for every test of the command line."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


@pytest.fixture(params=["in-process", "daemon"])
def either_workspace(request: pytest.FixtureRequest) -> Iterator[Workspace]:
    """One in which commands serve themselves, and one in which they use a daemon."""
    # Short, so that the socket lies in the home as it does for users.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        workspace = Workspace(Path(folder), daemon=request.param == "daemon")
        yield workspace
        workspace.stop_daemon()
