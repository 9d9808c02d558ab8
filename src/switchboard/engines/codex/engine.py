"""Codex as an engine."""

import asyncio
from collections.abc import Mapping

from msgspec.structs import replace

from switchboard.engines.codex.conversation import CodexConversation
from switchboard.engines.codex.home import UserCodex, user_codex
from switchboard.engines.codex.launch import CodexLaunch
from switchboard.engines.codex.mapping import lacking
from switchboard.engines.codex.program import (
    NEWEST_TESTED,
    OLDEST,
    ask_version,
    find_program,
    parts,
    program_state,
)
from switchboard.engines.codex.spare import Spares
from switchboard.engines.codex.template import HomeTemplates
from switchboard.engines.engine import EngineConversation, Readiness
from switchboard.engines.login_files import texts_in
from switchboard.engines.profile import AgentProfile, EngineSpec
from switchkit.reaper_client import Reaper

_INSTALL = (
    "install it with `npm install -g @openai/codex`, or name its path under `agents.programs`"
)


class CodexEngine:
    """Codex, through its app-server."""

    def __init__(
        self,
        *,
        reaper: Reaper,
        program: str = "",
        spares: Spares | None = None,
        templates: HomeTemplates | None = None,
    ) -> None:
        """Take the program that the user named, if any, and what makes starts faster."""
        self._reaper = reaper
        self._program = program
        self._spares = spares
        self._templates = templates
        # What a program said of its version, until the program is another.
        self._versions: dict[tuple[str, int, int, int], str] = {}

    @property
    def key(self) -> str:
        return "codex"

    async def ready(self, env: Mapping[str, str]) -> Readiness:
        program = await asyncio.to_thread(find_program, self._program, env)
        if program is None:
            return Readiness(problem="the program `codex` was not found", hint=_INSTALL)
        state = await asyncio.to_thread(program_state, program)
        version = self._versions.get(state)
        if version is None:
            version = await ask_version(program, env, self._reaper)
            if version:
                self._versions[state] = version
        known = Readiness(program=program.path, version=version)
        problem, hint = _judged(version)
        if not problem:
            user = await asyncio.to_thread(user_codex, env)
            problem, hint = _judged_user(user) or ("", hint)
            known = replace(known, login="" if problem else _login(user))
        return replace(known, problem=problem, hint=hint)

    def credentials(self, env: Mapping[str, str]) -> frozenset[str]:
        user = user_codex(env)
        return frozenset((*user.env.values(), *texts_in(user.login)))

    def converse(self, spec: EngineSpec, *, reaper: Reaper) -> EngineConversation:
        if self._program and not spec.program:
            spec = replace(spec, program=self._program)
        launch = CodexLaunch(spec, reaper=reaper, spares=self._spares, templates=self._templates)
        return CodexConversation(launch)

    def unsupported(self, profile: AgentProfile) -> tuple[str, ...]:
        return lacking(profile)


def _login(user: UserCodex) -> str:
    if user.config.get("model_provider", "openai") != "openai":
        return f"the model provider `{user.config['model_provider']}`"
    return "its own login" if user.login else "a key of the environment"


def _judged(version: str) -> tuple[str, str]:
    """What is wrong with a version, and what to do; or only something to know of it."""
    if not version:
        return "Codex does not tell its version", _INSTALL
    if parts(version) < OLDEST:
        oldest = ".".join(map(str, OLDEST))
        problem = f"Codex {version} is too old: {oldest} is the oldest that works"
        return problem, "update it with `npm install -g @openai/codex`"
    if parts(version) > NEWEST_TESTED:
        newest = ".".join(map(str, NEWEST_TESTED))
        return "", f"Codex {version} is newer than {newest}, the last one that was tested"
    return "", ""


def _judged_user(user: UserCodex) -> tuple[str, str] | None:
    """What is missing in the user's own Codex, and what to do about it."""
    if user.problem:
        return user.problem, "correct the file, or move it away"
    if not user.has_login and user.is_in_keyring:
        return (
            "Codex keeps its login in the keyring, where only your own Codex finds it",
            'set `cli_auth_credentials_store = "file"` in its config.toml and log in again',
        )
    if not user.has_login:
        return (
            "Codex has no login",
            "log in with `codex login`, or name a model provider in its config.toml",
        )
    return None
