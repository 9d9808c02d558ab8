"""A workspace whose hosts have servers."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agents.servers.host_bench import HostBench
from support.workspace import Workspace


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[HostBench]:
    workspace = Workspace(tmp_path)
    # The settings of agents are read wherever somebody has one.
    workspace.config_toml("[agents]\n", scope="home")
    bench = HostBench(workspace)
    yield bench
    await bench.aclose()
