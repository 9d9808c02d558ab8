"""The engine that other tests use in place of a real one keeps the contract of engines."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from engines.contract import EngineContract, Stage
from fakes.engines import Scene, ScriptedConversation, ScriptedEngine
from switchboard.engines.engine import EngineConversation
from switchboard.engines.profile import AgentProfile, EngineSpec
from switchkit.reaper_client import Reaper


class ScriptedStage:
    """The stage of an engine that plays the scenes itself."""

    def __init__(self, folder: Path, *scenes: Scene) -> None:
        self._folder = folder
        self.engine = ScriptedEngine(*scenes)
        self.reaper = Reaper()

    def spec(self, **more: Any) -> EngineSpec:
        cwd, own = self._folder / "cwd", self._folder / "own"
        for made in (cwd, own):
            made.mkdir(exist_ok=True)
        given: dict[str, Any] = {"profile": AgentProfile(name="tester"), "env": {}, **more}
        return EngineSpec(cwd=str(cwd), folder=str(own), **given)

    async def kill(self, conversation: EngineConversation) -> None:
        assert isinstance(conversation, ScriptedConversation)
        conversation.crash()


class TestScriptedEngine(EngineContract):
    is_real = False

    @asynccontextmanager
    async def stage(self, folder: Path, *scenes: Scene) -> AsyncGenerator[Stage]:
        yield ScriptedStage(folder, *scenes)
