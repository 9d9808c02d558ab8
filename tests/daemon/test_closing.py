"""What closes goes on closing, also when one part of it fails."""

import asyncio
from pathlib import Path
from typing import Any, cast

import pytest

from support.processes import alive, wait_until_none_mention
from support.workspace import Workspace
from switchboard.core.bus import EventBus
from switchboard.daemon.board.engine import Built
from switchboard.daemon.board.runtime import RunningBoard, Runtime
from switchboard.settings.load import load_settings


class Broken:
    """Cannot be closed."""

    async def aclose(self) -> None:
        raise RuntimeError("it does not close")


class Slow:
    """Takes a turn of the loop to close, and more."""

    def __init__(self) -> None:
        self.is_closed = False

    async def aclose(self) -> None:
        await asyncio.sleep(0.01)
        self.is_closed = True


def built(*providers: Broken | Slow) -> Built:
    named = cast("Any", {str(number): each for number, each in enumerate(providers)})
    nothing = cast("Any", None)
    return Built(pipeline=nothing, directory=nothing, providers=named, sources={})


async def test_a_provider_that_fails_does_not_keep_others_from_closing() -> None:
    slow = Slow()
    with pytest.raises(RuntimeError, match="does not close"):
        await built(Broken(), slow).aclose()
    assert slow.is_closed


async def test_a_runtime_ends_every_child_whatever_fails(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.echo_child()
    settings = load_settings(workspace=str(workspace.root), environ=workspace.env)
    slow = Slow()
    runtime = Runtime(settings, environ=workspace.env, events=EventBus())
    providers = cast("RunningBoard", runtime.boards.current).open().providers
    cast("dict[str, Any]", providers).update(broken=Broken(), slow=slow)
    (child,) = runtime.needed()
    await child.connection.ready()
    pid = child.pid
    assert alive(pid)
    with pytest.raises(RuntimeError, match="does not close"):
        await runtime.aclose()
    assert slow.is_closed
    assert not alive(pid)
    wait_until_none_mention(str(tmp_path))
