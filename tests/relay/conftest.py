"""Boards that many tests share: their children take a while to start."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from relay.bridges import EraName, board, everything, frank
from support.processes import wait_until_none_mention
from support.workspace import Workspace

Boards = Callable[[EraName, str], Workspace]


@pytest.fixture(scope="session")
def boards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Boards]:
    made: dict[tuple[EraName, str], Workspace] = {}

    def with_children(era: EraName, scope: str) -> Workspace:
        if (era, scope) not in made:
            folder: Path = tmp_path_factory.mktemp(f"{era}-{scope}")
            children = {"everything": everything(era), "frank": frank(era)}
            shared = {name: {**child, "scope": scope} for name, child in children.items()}
            made[era, scope] = board(folder, shared, daemon=True)
        return made[era, scope]

    yield with_children
    for workspace in made.values():
        workspace.stop_daemon()
        wait_until_none_mention(str(workspace.root))


@pytest.fixture
def warm(boards: Boards, child_era: EraName) -> Workspace:
    """A board with children of this era, which all tests share, in whatever order they run.

    A child of the handshake era asks nobody there once it has worked for two sessions: for that see
    `asking`.
    """
    return boards(child_era, "workspace")


@pytest.fixture
def asking(boards: Boards, child_era: EraName) -> Workspace:
    """The same with children of one session each: those may ask without saying whom."""
    return boards(child_era, "session")
