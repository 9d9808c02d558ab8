"""From what an agent asks for to a process of Codex that is ready to be talked to."""

import asyncio
import contextlib
import os
import shutil
from typing import Any

from msgspec import Struct

from switchboard.core.faults import Fault
from switchboard.engines.codex.app_server import START_S, AppServer, ServerGone, ServerRefused
from switchboard.engines.codex.home import (
    CodexHome,
    UserCodex,
    digest_of,
    make_home,
    user_codex,
    without_told_keys,
)
from switchboard.engines.codex.opening import opening_of, provider_of
from switchboard.engines.codex.program import CodexProgram, find_program
from switchboard.engines.codex.spare import Spares, home_in
from switchboard.engines.codex.template import HomeTemplates
from switchboard.engines.events import TurnFailure
from switchboard.engines.failures import kind_of_crash
from switchboard.engines.profile import EngineSpec
from switchboard.engines.quiet_git import with_quiet_git
from switchboard.engines.surroundings import kept_from_shells, without
from switchkit.reaper_client import Reaper

Json = dict[str, Any]

# Unknown settings are refused, not ignored; and who cannot reach the model is told so, instead of
# being kept waiting for the network for ever.
FLAGS = ("app-server", "--strict-config", "--disable", "unbounded_connection_retries")


class CodexUnusable(Exception):
    """Codex cannot be used for this conversation."""

    def __init__(self, failure: TurnFailure) -> None:
        super().__init__(failure.private)
        self.failure = failure


class Launched(Struct, frozen=True, kw_only=True):
    """A process that waits for its conversation to be opened."""

    server: AppServer
    opening: Json
    # The folder of a spare, which goes with the process; empty for one in the run's own folder.
    passing_folder: str = ""

    async def aclose(self) -> None:
        """End it, and take its passing folder away."""
        await self.server.aclose()
        if self.passing_folder:
            await asyncio.to_thread(shutil.rmtree, self.passing_folder, ignore_errors=True)


class _Plan(Struct, frozen=True, kw_only=True):
    program: CodexProgram
    user: UserCodex
    opening: Json
    home: str
    # What the process sees of the environment.
    env: dict[str, str]
    key: str


class CodexLaunch:
    """Starts Codex for one conversation, or takes a spare."""

    def __init__(
        self,
        spec: EngineSpec,
        *,
        reaper: Reaper,
        spares: Spares | None,
        templates: HomeTemplates | None = None,
    ) -> None:
        self._spec = spec
        self._reaper = reaper
        self._spares = spares
        self._templates = templates
        self._started: _Plan | None = None

    async def start(self) -> Launched:
        """Start it. Raises `CodexUnusable`."""
        try:
            plan = await asyncio.to_thread(self._plan)
        except Fault as fault:
            raise CodexUnusable(
                TurnFailure(kind="configuration-refused", private=fault.message)
            ) from fault
        except OSError as error:
            raise CodexUnusable(TurnFailure(kind="other", private=str(error))) from error
        spec = self._spec
        if self._spares is not None and not spec.resume:
            taken = await self._spares.take(plan.key)
            if taken is not None:
                await asyncio.to_thread(_lend_sessions, taken.home, plan.home)
                self._started = plan
                return Launched(
                    server=taken.server, opening=plan.opening, passing_folder=taken.folder
                )
        launched = Launched(server=await self._fresh(plan, plan.home), opening=plan.opening)
        self._started = plan
        return launched

    def refill(self) -> None:
        """Have a spare for the next run. Called once this one has ended.

        A start takes more of the machine than anything else that Codex does.
        """
        plan, self._started = self._started, None
        if self._spares is not None and plan is not None:
            self._spares.refill(plan.key, lambda folder: self._spare(plan, folder))

    def _plan(self) -> _Plan:
        spec = self._spec
        if not os.path.isabs(spec.cwd) or not os.path.isdir(spec.cwd):
            raise CodexUnusable(
                TurnFailure(kind="configuration-refused", private="the folder does not exist")
            )
        program = find_program(spec.program, spec.env)
        if program is None:
            raise CodexUnusable(TurnFailure(kind="engine-missing", private="no codex was found"))
        user = user_codex(spec.env).with_provider(provider_of(spec.profile))
        if not user.can_reach_a_model:
            # Codex would ask a service on the network, to be told the same.
            raise CodexUnusable(TurnFailure(kind="not-logged-in", private="there is no login"))
        env = without_told_keys(spec.env, user.config, spec.profile.config)
        env = with_quiet_git(env, spec.cwd)
        return _Plan(
            program=program,
            user=user,
            opening=opening_of(spec, user.home),
            home=home_in(spec.folder),
            env=env,
            key=digest_of(user, env, program),
        )

    async def _spare(self, plan: _Plan, folder: str) -> AppServer:
        if self._templates is not None:
            await self._templates.prepare(plan.program, lambda path: self._nobodys(plan, path))
        server = await self._fresh(plan, folder)
        try:
            await warm_up(server, folder)
        except BaseException:
            await asyncio.shield(server.aclose())
            raise
        return server

    async def _fresh(self, plan: _Plan, folder: str) -> AppServer:
        try:
            home = await asyncio.to_thread(self._home, plan, folder)
        except OSError as error:
            raise CodexUnusable(TurnFailure(kind="other", private=str(error))) from error
        return await start_server(plan.program, home, self._reaper)

    def _home(self, plan: _Plan, folder: str) -> CodexHome:
        if self._templates is not None:
            self._templates.begin(folder, plan.program)
        return make_home(folder, plan.user, plan.env, plan.program.helpers)

    async def _nobodys(self, plan: _Plan, folder: str) -> AppServer:
        """Codex without anything of the user."""
        nobody = UserCodex(home="", config={}, env={}, login="")
        env = with_quiet_git(without(plan.env, kept_from_shells(plan.env)))
        home = await asyncio.to_thread(make_home, folder, nobody, env, plan.program.helpers)
        return await start_server(plan.program, home, self._reaper)


async def start_server(program: CodexProgram, home: CodexHome, reaper: Reaper) -> AppServer:
    """Start an app-server in a home. Raises `CodexUnusable`."""
    try:
        # Not in the workspace: what it does there, it does for a conversation.
        server = await AppServer.start(
            (program.path, *FLAGS), cwd=home.path, env=home.env, reaper=reaper
        )
        await _log_in(server, home)
    except Fault as fault:
        kind = "engine-missing" if fault.reason == "spawn-failed" else "engine-crashed"
        raise CodexUnusable(
            TurnFailure(kind=kind, private=fault.private or fault.message)
        ) from fault
    except (ServerGone, ServerRefused) as refused:
        words = str(refused)
        raise CodexUnusable(TurnFailure(kind=kind_of_crash(words), private=words)) from refused
    return server


async def warm_up(server: AppServer, folder: str) -> None:
    """Have it load what it loads with a first conversation: one in its own home, without a word.

    Raises `ServerGone`.
    """
    opening = {
        "cwd": folder,
        "sandbox": "read-only",
        # Nobody has asked for anything: nothing is to be started, and nobody reached.
        "config": {
            "projects": {folder: {"trust_level": "untrusted"}},
            "features.apps": False,
            "features.shell_snapshot": False,
        },
    }
    # A version that does not know these words is as ready as it was.
    with contextlib.suppress(ServerRefused):
        opened = await server.request("thread/start", opening, within_s=START_S)
        thread_id = str(opened["thread"]["id"])
        server.forget(thread_id)
        await server.request("thread/delete", {"threadId": thread_id}, within_s=START_S)
        server.forget(thread_id)


async def _log_in(server: AppServer, home: CodexHome) -> None:
    if home.api_key:
        login = {"type": "apiKey", "apiKey": home.api_key}
        try:
            await server.request("account/login/start", login, within_s=START_S)
        except BaseException:
            await asyncio.shield(server.aclose())
            raise


def _lend_sessions(spare: str, home: str) -> None:
    """Keep what is said in the run's own folder, so that the run can be gone on with later."""
    own = os.path.join(home, "sessions")
    os.makedirs(own, mode=0o700, exist_ok=True)
    os.symlink(own, os.path.join(spare, "sessions"))
