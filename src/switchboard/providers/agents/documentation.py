"""Writes the tables of the page about agents from the code, or checks them.

`python -m switchboard.providers.agents.documentation [--check] docs/agents.md`
"""

import sys
from collections.abc import Iterator

from switchboard.config.page_part import PagePart, table
from switchboard.engines.acp.mapping import TABLE as ACP
from switchboard.engines.claude.mapping import TABLE as CLAUDE
from switchboard.engines.codex.mapping import RULES as CODEX
from switchboard.providers.agents.maps.engine_choice import DEFAULT, MODELS, PROVIDERS
from switchboard.providers.agents.maps.model_map import BUILT_IN, BUILT_IN_PROVIDERS
from switchboard.providers.agents.maps.tool_map import TOOL_MAP

_FORMATS = {"codex": "`*.toml`", "anthropic": "Claude Code", "vscode": "VS Code"}


def tables() -> str:
    """Every table, each below its title."""
    return "\n".join(
        (
            "### What engines make of `[run]`\n",
            table(("field", "Codex", "Claude Code", "ACP"), _fields()),
            "### What the names of tools mean\n",
            table(("format", "names", "mean"), _tools()),
            "### What the names of models mean\n",
            table(("names", "model", "provider"), _models()),
            table(("other names", "provider"), _providers()),
            "### Which engine runs a model\n",
            table(("model or provider", "engine"), _engines()),
        )
    )


def _fields() -> Iterator[tuple[str, ...]]:
    claude = {row.field: row.means for row in CLAUDE}
    for rule in CODEX:
        known = rule.argument or rule.key
        place, said = (f"`{known}`", rule.note) if known else ("nothing", rule.note or rule.lacks)
        yield (
            f"`{rule.field}`",
            f"{place}: {said}" if said else place,
            claude.get(rule.field, "nothing"),
            ACP.get(rule.field) or "nothing",
        )


def _tools() -> Iterator[tuple[str, ...]]:
    for kind, names in TOOL_MAP.items():
        meanings = {meaning.words(): meaning for meaning in names.values()}
        for words in meanings:
            those = [f"`{name}`" for name, each in names.items() if each.words() == words]
            yield _FORMATS[kind], ", ".join(those), words


def _models() -> Iterator[tuple[str, ...]]:
    for target in dict.fromkeys(BUILT_IN.values()):
        names = [f"`{name}`" for name, each in BUILT_IN.items() if each == target]
        yield ", ".join(names), f"`{target.model}`", f"`{target.provider}`"


def _providers() -> Iterator[tuple[str, ...]]:
    for provider in dict.fromkeys(BUILT_IN_PROVIDERS.values()):
        names = [f"`{name}`" for name, each in BUILT_IN_PROVIDERS.items() if each == provider]
        yield ", ".join(names), f"`{provider}`"


def _engines() -> Iterator[tuple[str, ...]]:
    yield from ((f"the provider `{name}`", f"`{engine}`") for name, engine in PROVIDERS.items())
    yield from ((f"a model named `{name}…`", f"`{engine}`") for name, engine in MODELS.items())
    yield "anything else, and no model", f"`{DEFAULT}`"


PAGE = PagePart(name="tables", write=tables)


if __name__ == "__main__":
    sys.exit(PAGE.main(sys.argv[1:]))
