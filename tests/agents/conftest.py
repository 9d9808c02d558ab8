from collections.abc import Generator
from pathlib import Path

import pytest

from agents.lab import Lab
from support.processes import wait_until_none_mention
from support.workspace import Workspace


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder as it is called once every link is followed."""
    return tmp_path.resolve()


@pytest.fixture
def workspace(tmp_path: Path) -> Generator[Workspace]:
    """A workspace with a daemon, of which nothing may be left."""
    made = Workspace(tmp_path, daemon=True)
    try:
        yield made
    finally:
        made.stop_daemon()
        wait_until_none_mention(str(tmp_path))
