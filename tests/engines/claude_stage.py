"""The real Claude Code on a stage: its model plays scenes on loopback."""

import os
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fakes.engines import Fails, Hangs, Runs, Says, Scene
from support.hosts import claude_program
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model, refused
from support.models.script import Hang, Step, say, shell, stumble
from support.processes import program_below, wait_until_none_mention
from switchboard.engines.claude.engine import ClaudeEngine
from switchboard.engines.engine import EngineConversation
from switchboard.engines.profile import AgentProfile, EngineSpec, RunFields
from switchkit.reaper_client import Reaper

OLD = "@anthropic-ai/claude-code"
NEW = "claude-modern"
SECRET = "sk-ant-loopback-4711"


def _step(scene: Scene) -> Step:
    match scene:
        case Says(text):
            return say(text)
        case Runs(command, _):
            # It refuses to run `sleep` under its own name.
            return shell(f"env {command}" if command.startswith("sleep") else command)
        case Hangs():
            return stumble(Hang())
        case Fails("not-logged-in"):
            return stumble(refused(401, "authentication_error"))
        case Fails(kind):
            raise NotImplementedError(kind)


class ClaudeStage:
    """One Claude Code with a home of a user and a working directory, all below one folder."""

    def __init__(self, folder: Path, model: ScriptedModel, package: str) -> None:
        self.folder = folder
        self.model = model
        self.user = folder / "user"
        self.cwd = folder / "cwd"
        for made in (self.user / "claude", self.cwd):
            made.mkdir(parents=True)
        self.reaper = Reaper()
        self.engine = ClaudeEngine(str(claude_program(package)))
        self._count = 0

    @property
    def env(self) -> dict[str, str]:
        return {
            "HOME": str(self.user),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": SECRET,
            "CLAUDE_CONFIG_DIR": str(self.user / "claude"),
            "CLAUDE_CODE_MAX_RETRIES": "1",
            # What a host would keep back for a search is in the first request.
            "ENABLE_TOOL_SEARCH": "false",
        }

    def spec(self, **more: Any) -> EngineSpec:
        self._count += 1
        given: dict[str, Any] = {
            "profile": AgentProfile(name="tester", fields=RunFields(model="mock-model")),
            "env": self.env,
            "cwd": str(self.cwd),
            "folder": str(self.folder / f"run-{self._count}"),
            **more,
        }
        return EngineSpec(**given)

    def converse(self, **more: Any) -> EngineConversation:
        return self.engine.converse(self.spec(**more), reaper=self.reaper)

    async def kill(self, conversation: EngineConversation) -> None:
        os.kill(program_below(conversation.pid), signal.SIGKILL)


@asynccontextmanager
async def claude_stage(
    folder: Path, steps: Sequence[Step] = (), *, package: str = NEW
) -> AsyncGenerator[ClaudeStage]:
    """Open a stage; afterwards none of its processes may be left."""
    with messages_model(*steps) as model:
        stage = ClaudeStage(folder, model, package)
        try:
            yield stage
        finally:
            stage.reaper.close()
    wait_until_none_mention(str(folder))


@asynccontextmanager
async def playing(folder: Path, package: str, *scenes: Scene) -> AsyncGenerator[ClaudeStage]:
    """Open a stage for scenes."""
    async with claude_stage(folder, [_step(scene) for scene in scenes], package=package) as stage:
        yield stage
