"""Who turns sentences into calls, for each server whose owner wants that."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from switchboard.children.environment import base_environment
from switchboard.models.engine_model import EngineModel
from switchboard.models.late_model import LateModel
from switchboard.models.variables import variable_names
from switchboard.providers.suites.natural.instructions import Instructions
from switchboard.providers.suites.natural.interpreter import Interpreter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from switchboard.children.schema import ServerEntry
    from switchboard.engines.engine import AgentEngine
    from switchboard.models.model import LanguageModel
    from switchboard.providers.context import Context


def build_model(
    context: Context, *, engine: str, model: str, timeout_s: float, max_tokens: int
) -> LanguageModel:
    """The model that the settings choose. Nothing is loaded, or reached, before it is asked."""

    def make() -> LanguageModel:
        if engine == "anthropic":
            # The client of HTTP takes a while to load, and so do engines.
            from switchboard.models.http.messages import MessagesModel  # noqa: PLC0415

            return MessagesModel(
                context.environ, model=model, timeout_s=timeout_s, max_tokens=max_tokens
            )
        names = variable_names(engine)
        own = {name: value for name, value in context.environ.items() if name in names}
        return EngineModel(
            _engine(engine, context),
            env={**base_environment(context.environ), **own},
            reaper=context.reaper,
            folder=os.path.join(context.settings.home, "questions"),
            model=model,
            timeout_s=timeout_s,
        )

    return LateModel(make)


def _engine(key: str, context: Context) -> AgentEngine:
    if key == "codex":
        from switchboard.engines.codex.engine import CodexEngine  # noqa: PLC0415 - as above

        return CodexEngine(reaper=context.reaper)
    from switchboard.engines.claude.engine import ClaudeEngine  # noqa: PLC0415 - as above

    return ClaudeEngine()


def build_interpreters(
    entries: Iterable[ServerEntry],
    model: LanguageModel,
    *,
    home: str,
    is_trusted: Callable[[ServerEntry], bool],
) -> dict[str, Interpreter]:
    """One for each server that takes sentences, by its name."""
    return {
        entry.name: Interpreter(
            entry.name,
            model,
            Instructions(
                entry.instructions or _in_home(home, entry.name),
                server=entry.name,
                is_trusted=partial(is_trusted, entry),
            ),
        )
        for entry in entries
        if entry.natural_language
    }


def _in_home(home: str, name: str) -> str:
    """Where a server without a folder of its own has its instructions: none but its user's own."""
    if name in {"", ".", ".."} or os.sep in name or "\0" in name:
        return ""
    return os.path.join(home, "mcps", name, "CLAUDE.md")
