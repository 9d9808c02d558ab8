"""A workspace whose hosts have servers, and one in which the real Codex works."""

import json
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from agents.servers.host_bench import HostBench
from support.hosts import PRIVATE, codex_program
from support.processes import wait_until_none_mention
from support.workspace import Workspace


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    # Codex will not have its home in the system's folder for temporary files.
    PRIVATE.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=PRIVATE, prefix="s", ignore_cleanup_errors=True) as folder:
        workspace = Workspace(Path(folder), daemon=True)
        workspace.config_toml(
            f"[agents]\nprograms = {{ codex = {json.dumps(str(codex_program()))} }}\n"
            # However slow the machine is.
            "patience = { default = 300 }\n",
            scope="home",
        )
        yield workspace
        workspace.stop_daemon()
        wait_until_none_mention(folder)


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[HostBench]:
    workspace = Workspace(tmp_path)
    # The settings of agents are read wherever somebody has one.
    workspace.config_toml("[agents]\n", scope="home")
    bench = HostBench(workspace)
    yield bench
    await bench.aclose()
