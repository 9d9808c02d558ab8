"""One daemon with a warm board for children of each era, for the tests that only look."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from relay.bridges import EraName, board, everything, frank
from support.processes import wait_until_none_mention
from support.workspace import Workspace


@pytest.fixture(scope="session")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[EraName], Workspace]]:
    made: dict[EraName, Workspace] = {}

    def with_children(era: EraName) -> Workspace:
        if era not in made:
            folder: Path = tmp_path_factory.mktemp(era)
            children = {"everything": everything(era), "frank": frank(era)}
            made[era] = board(folder, children, daemon=True)
        return made[era]

    yield with_children
    for workspace in made.values():
        workspace.stop_daemon()
        wait_until_none_mention(str(workspace.root))


@pytest.fixture
def warm(boards: Callable[[EraName], Workspace], child_era: EraName) -> Workspace:
    """A board with children of this era."""
    return boards(child_era)
