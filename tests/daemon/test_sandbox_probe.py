"""Whether a sandbox works is tried for a listing, off the loop, and what was found then counts."""

import threading
from pathlib import Path

import pytest

from fakes.events import MemoryEvents
from support.workspace import Workspace, child_command, server
from switchboard.core.bus import EventBus
from switchboard.daemon.board import assemble
from switchboard.daemon.board.runtime import running
from switchboard.settings.load import load_settings
from switchboard.settings.sections import Settings


async def test_neither_a_build_nor_a_view_tries_the_sandbox_on_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace(tmp_path)
    boxed = server(child_command("echo_child", "boxed"), sandbox_profile="default")
    workspace.mcp_json({"boxed": boxed})
    settings = load_settings(workspace=str(workspace.root), environ=workspace.env)
    asked: list[bool] = []
    judge = assemble.sandbox_refusals

    def noted(wanted: Settings) -> dict[str, tuple[str, str]]:
        asked.append(threading.current_thread() is threading.main_thread())
        return judge(wanted)

    monkeypatch.setattr(assemble, "sandbox_refusals", noted)
    events = EventBus(MemoryEvents().emit)
    async with running(settings, environ=workspace.env, events=events) as runtime:
        asked.clear()
        runtime.warm()
        assert asked == []
        async with runtime.view(settings) as board:
            assert "boxed_suite" in board.catalog.tools
        assert asked == [False]
