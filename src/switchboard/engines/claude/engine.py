"""Claude Code as an engine, through its control protocol."""

import os
from collections.abc import Mapping

import msgspec

from switchboard.engines.claude.conversation import PROGRAM, ClaudeConversation
from switchboard.engines.claude.mapping import unsupported
from switchboard.engines.engine import EngineConversation, Readiness
from switchboard.engines.login_files import texts_in
from switchboard.engines.profile import AgentProfile, EngineSpec
from switchboard.engines.programs import ask_program, find_program, version_in
from switchkit.reaper_client import Reaper

# The first version whose control protocol is known to do all that is asked of it.
OLDEST = (2, 1, 100)
# Any of these is a login of its own.
_LOGINS = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
    *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY"),
)


class ClaudeEngine:
    """Claude Code, in a process for each conversation."""

    def __init__(self, program: str = PROGRAM) -> None:
        self._program = program

    @property
    def key(self) -> str:
        return "claude"

    async def ready(self, env: Mapping[str, str]) -> Readiness:
        program = await find_program(self._program, env)
        if not program:
            return Readiness(
                problem=f"Claude Code was not found (`{self._program}`)",
                hint="install it with `npm install -g @anthropic-ai/claude-code`",
            )
        told = await ask_program((program, "--version"), env)
        version = version_in(told.stdout)
        if told.status != 0 or version is None:
            return Readiness(
                program=program,
                problem="Claude Code did not say which version it is",
                hint=f"run `{program} --version` and mend what it complains about",
            )
        name = ".".join(map(str, version))
        if version < OLDEST:
            return Readiness(
                program=program,
                version=name,
                problem=f"Claude Code {name} is too old",
                hint=f"update it to {'.'.join(map(str, OLDEST))} or newer with `claude update`",
            )
        login = await _login(program, env)
        if not login:
            return Readiness(
                program=program,
                version=name,
                problem="nobody is logged in to Claude Code",
                hint="run `claude auth login`, or set ANTHROPIC_API_KEY",
            )
        return Readiness(program=program, version=name, login=login)

    def credentials(self, env: Mapping[str, str]) -> frozenset[str]:
        home = env.get("HOME") or "/"
        folder = env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
        return texts_in(os.path.join(folder, ".credentials.json"))

    def converse(self, spec: EngineSpec, *, reaper: Reaper) -> EngineConversation:
        if not spec.program:
            spec = msgspec.structs.replace(spec, program=self._program)
        return ClaudeConversation(spec, reaper)

    def unsupported(self, profile: AgentProfile) -> tuple[str, ...]:
        return unsupported(profile)


async def _login(program: str, env: Mapping[str, str]) -> str:
    """What it logs in with, in words; empty where nobody is logged in."""
    named = next((name for name in _LOGINS if env.get(name)), "")
    if named:
        return f"`{named}`"
    # Logins lie in a file here and in a keychain there; only the program knows.
    told = await ask_program((program, "auth", "status"), env)
    return "its own login" if told.status == 0 else ""
