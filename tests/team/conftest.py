"""A guarded workspace, and a database for every test."""

from collections.abc import Generator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gate.ground import Gate
from support.postgres import Cluster
from support.processes import wait_until_none_mention
from support.workspace import Workspace
from switchboard.postgres.address import DatabaseAddress


@pytest.fixture
def database(postgres: Cluster) -> Generator[DatabaseAddress]:
    """Give one that nobody has made any table in."""
    with postgres.database() as address:
        yield address


@pytest.fixture
def workspace() -> Generator[Workspace]:
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        workspace = Workspace(Path(folder))
        yield workspace
        wait_until_none_mention(str(workspace.root))


@pytest.fixture
def gate(workspace: Workspace) -> Gate:
    return Gate(workspace)
