"""A workspace with a gate whose daemon serves the page, and a browser."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from support.chromium import Browser, Chromium
from support.workspace import Workspace

GUARDED = """
enable_mcp_server_surface = true
[mcp.writes]
command = "touch"
args = ["touched"]
side_effects = ["filesystem-write"]
"""


@pytest.fixture
def workspace() -> Iterator[Workspace]:
    # Short, so that the socket lies in the home as it does for users.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        workspace = Workspace(Path(folder), daemon=True)
        workspace.echo_child()
        workspace.config_toml(GUARDED, scope="home")
        yield workspace
        workspace.stop_daemon()


@pytest.fixture
async def browser(chromium: Chromium) -> AsyncGenerator[Browser]:
    async with chromium.opened() as browser:
        yield browser
        assert browser.failures == []
