"""The real opencode on a stage, over ACP: its model plays scenes on loopback."""

import json
import os
import signal
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fakes.engines import Fails, Hangs, Runs, Says, Scene
from support.hosts import opencode_program
from support.models.loopback import ScriptedModel
from support.models.messages import messages_model, refused
from support.models.script import Hang, Json, Step, say, shell, stumble
from support.processes import program_below, wait_until_none_mention
from switchboard.engines.acp.engine import AcpEngine
from switchboard.engines.engine import EngineConversation
from switchboard.engines.profile import AgentProfile, EngineSpec, RunFields
from switchkit.reaper_client import Reaper

SECRET = "sk-opencode-loopback-4712"
FIELDS = RunFields(approval_policy="untrusted")


def _step(scene: Scene) -> Step:
    match scene:
        case Says(text):
            return say(text)
        case Runs(command, _):
            return shell(command, description="as the script says")
        case Hangs():
            return stumble(Hang())
        case Fails("not-logged-in"):
            return stumble(refused(401, "authentication_error", "invalid x-api-key"))
        case Fails(kind):
            raise NotImplementedError(kind)


class OpencodeStage:
    """One opencode with a home of a user and a working directory, all below one folder."""

    def __init__(self, folder: Path, model: ScriptedModel) -> None:
        self.folder = folder
        self.model = model
        self.user = folder / "user"
        self.cwd = folder / "cwd"
        for made in (self.user, self.cwd):
            made.mkdir(parents=True)
        self.reaper = Reaper()
        self.engine = AcpEngine("opencode", str(opencode_program()), args=("acp",))
        self._count = 0

    @property
    def env(self) -> dict[str, str]:
        limit = {"context": 100_000, "output": 1_000}
        models = {"mock-model": {"name": "mock", "limit": limit, "tool_call": True}}
        options = {"baseURL": f"{self.model.url}/v1", "apiKey": "{env:LOOPBACK_API_KEY}"}
        provider: Json = {"npm": "@ai-sdk/anthropic", "options": options, "models": models}
        settings = {
            "model": "loopback/mock-model",
            "small_model": "loopback/mock-model",
            "provider": {"loopback": provider},
            "share": "disabled",
        }
        return {
            "HOME": str(self.user),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "LOOPBACK_API_KEY": SECRET,
            "OPENCODE_CONFIG_CONTENT": json.dumps(settings),
            # Nothing here leaves loopback.
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
            # It would fetch a package for plugins, which it does without.
            "npm_config_offline": "true",
        }

    def spec(self, **more: Any) -> EngineSpec:
        self._count += 1
        given: dict[str, Any] = {
            "profile": AgentProfile(name="tester", fields=FIELDS),
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
async def opencode_stage(folder: Path, steps: Sequence[Step] = ()) -> AsyncGenerator[OpencodeStage]:
    """Open a stage; afterwards none of its processes may be left."""
    with messages_model(*steps) as model:
        stage = OpencodeStage(folder, model)
        try:
            yield stage
        finally:
            stage.reaper.close()
    wait_until_none_mention(str(folder))


@asynccontextmanager
async def playing(folder: Path, *scenes: Scene) -> AsyncGenerator[OpencodeStage]:
    """Open a stage for scenes."""
    async with opencode_stage(folder, [_step(scene) for scene in scenes]) as stage:
        yield stage
