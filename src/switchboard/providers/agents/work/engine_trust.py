"""Which settings of a workspace engines may follow: those that its owner has trusted, as they are.

`.codex`, `.claude` and their likes name hooks, servers and plugins, so an engine leaves them alone
until `switchboard trust` was given for exactly their bytes, and those of the files that they name.
"""

import os
from collections.abc import Iterator

from msgspec import Struct

from switchboard.core.origins import Origin, Scope
from switchboard.engines.acp.agents import KNOWN
from switchboard.providers.agents.found_agents import FoundAgents
from switchboard.providers.agents.work.engine_health import engines_of
from switchboard.providers.agents.work.settings_print import (
    Followed,
    SettingsUnbound,
    print_of,
    words_of,
)
from switchboard.providers.source import Item
from switchboard.settings.consent.trust_record import read_trust
from switchboard.settings.sections import Settings

_NAMES = {"codex": "Codex", "claude": "Claude Code"}
_FOLLOWED = {
    # It is told of every folder whether it is trusted.
    "codex": Followed(signs=(".codex",), parts=(".codex",), looks_above=False),
    # Agents and commands lie there, too, and are no reason to ask by themselves.
    "claude": Followed(
        signs=(".claude/settings.json", ".claude/settings.local.json"), parts=(".claude",)
    ),
    **{
        f"acp:{agent.name}": Followed(signs=agent.follows, parts=agent.follows)
        for agent in KNOWN.values()
        if agent.follows
    },
}


class TrustedSettings(Struct, frozen=True, kw_only=True):
    """What an engine may follow in one folder, and what is to be told of it."""

    # The folder whose settings count; empty where none do.
    folder: str = ""
    # What people call them.
    name: str = ""
    notices: tuple[str, ...] = ()

    def added_to(self, runs: str) -> str:
        """What runs, in words, with these settings named: whoever agrees to it agrees to them."""
        return f"{runs}; with `{self.name}` of the workspace" if self.folder else runs


class EngineTrust:
    """Knows what its owner has trusted engines with, in one workspace."""

    def __init__(self, settings: Settings | None, found: FoundAgents) -> None:
        """Without settings nothing is trusted."""
        self._settings = settings
        self._found = found

    def of(self, engine: str, cwd: str) -> TrustedSettings:
        """What an engine that works there may follow. Blocks: files are read."""
        followed, settings = _FOLLOWED.get(engine), self._settings
        if followed is None or settings is None or not _is_within(cwd, settings.workspace):
            return TrustedSettings()
        if not followed.is_in(settings.workspace):
            return TrustedSettings()
        name = followed.parts[0]
        who = _NAMES.get(engine) or engine.removeprefix("acp:")
        if followed.is_around(cwd, settings.workspace, self._found.user_home):
            why = f"another folder has its own `{name}` there, so {who} follows none of them"
            return TrustedSettings(notices=(why,))
        if not self._is_trusted(followed, settings):
            why = (
                f"`{name}` of the workspace is not trusted, so {who} does not follow it; look at"
                f" it, then: switchboard trust {name}"
            )
            return TrustedSettings(notices=(why,))
        told = f"{who} follows `{name}` of the workspace, which is trusted"
        return TrustedSettings(folder=settings.workspace, name=name, notices=(told,))

    def items(self) -> Iterator[Item]:
        """What waits for trust, or has it, as people see it. Blocks: files are read."""
        settings = self._settings
        if settings is None:
            return
        for engine in self._engines():
            followed = _FOLLOWED.get(engine)
            if followed is None or not followed.is_in(settings.workspace):
                continue
            name = followed.parts[0]
            who = _NAMES.get(engine) or engine.removeprefix("acp:")
            try:
                print_ = print_of(followed, settings.workspace)
                runs, left_out = words_of(followed, settings.workspace), ""
            except SettingsUnbound as why:
                print_, runs, left_out = "", "", str(why)
            yield Item(
                name=name,
                kind="project",
                trust="trusted" if self._is_trusted(followed, settings) else "waiting",
                fingerprint=print_,
                runs=runs or left_out,
                left_out=left_out,
                description=f"settings of {who} that count for its runs in this workspace",
                origin=Origin(scope=Scope.WORKSPACE, path=os.path.join(settings.workspace, name)),
            )

    def _engines(self) -> list[str]:
        """Those that agents run on, also agents that wait for trust themselves."""
        found = self._found
        used = [found.plan(agent).engine for agent in found.untrusted.values()]
        return list(dict.fromkeys((*engines_of(found), *used)))

    def _is_trusted(self, followed: Followed, settings: Settings) -> bool:
        if self._found.trusts_workspace:
            return True
        try:
            print_ = print_of(followed, settings.workspace)
        except SettingsUnbound:
            return False
        return read_trust(settings.home, []).holds(settings.workspace, print_)


NO_TRUST = EngineTrust(None, FoundAgents())


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)
