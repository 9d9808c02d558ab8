"""Towns that end with their test."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from following.town import Town
from support.processes import wait_until_none_mention


@pytest.fixture(params=["in-process", "daemon"])
def town(request: pytest.FixtureRequest) -> Iterator[Town]:
    """Once with a daemon, and once without."""
    yield from _town(is_daemon=request.param == "daemon")


@pytest.fixture
def daemon_town() -> Iterator[Town]:
    """Where it makes no difference, or is about what sessions share."""
    yield from _town(is_daemon=True)


def _town(*, is_daemon: bool) -> Iterator[Town]:
    # Short, so that the socket lies in the home as it does for users.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        town = Town(Path(folder), daemon=is_daemon)
        yield town
        town.workspace.stop_daemon()
        wait_until_none_mention(folder)
