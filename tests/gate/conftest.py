"""A guarded workspace whose daemon, and all that it started, is gone after the test."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gate.ground import Gate
from support.processes import wait_until_none_mention
from support.workspace import Workspace


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    # Short, so that the socket lies in the home as it does for users.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        workspace = Workspace(Path(folder), daemon=True)
        yield workspace
        workspace.stop_daemon()
        wait_until_none_mention(str(workspace.root))


@pytest.fixture
def gate(workspace: Workspace) -> Gate:
    return Gate(workspace)
