"""The helpers of these tests stand beside them; `http` itself is a name of the standard library."""

import sys
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from edges.board import Served, served_board


@pytest.fixture
async def served(tmp_path: Path) -> AsyncGenerator[Served]:
    """Serve a board with one well-behaved child."""
    async with served_board(tmp_path) as board:
        yield board
