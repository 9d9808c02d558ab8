"""What is slow: servers that take long to start, and tools that take long to answer."""

import os
import shlex
from collections.abc import Iterator, Mapping

from switchboard.audit.usage.count import UsageCount
from switchboard.children.schema import ServerEntry
from switchboard.cli.moments import took
from switchboard.providers.source import Finding
from switchboard.settings.sections import Settings
from switchkit.cli.columns import visible

_SLOW_START_S = 5.0
_SLOW_CALL_MS = 20_000
_DAYS = 7
# Fewer calls say nothing of the next one.
_ENOUGH_CALLS = 5
_NEARLY_ALL = 0.95
# Programs that look for a package whenever they start, and what installs it for good.
_INSTALLS = {"npx": "npm install --global PACKAGE", "uvx": "uv tool install PACKAGE"}


def about_starts(settings: Settings, seconds: Mapping[str, float]) -> Iterator[Finding]:
    """Servers that were started and took long, by name."""
    for entry in settings.servers:
        if seconds.get(entry.name, 0.0) >= _SLOW_START_S:
            yield Finding(
                severity="note",
                subject="slow",
                message=f"`{entry.name}` takes {took(seconds[entry.name])} to start, and the"
                " first call waits for it",
                hint=_quicker(entry),
            )


def _quicker(entry: ServerEntry) -> str:
    install = _INSTALLS.get(os.path.basename(entry.command))
    if install is not None:
        return f"{install}, then name its program as the `command`"
    return f"see what it does meanwhile: switchboard logs {shlex.quote(entry.name)}"


def about_calls(settings: Settings) -> Iterator[Finding]:
    """Tools that nearly always take long, as the audit log has it."""
    try:
        used = UsageCount(settings.home).last_days(_DAYS)
    except OSError:
        # What keeps the home from being used is told by somebody else.
        return
    for tool, use in used.items():
        if use.calls >= _ENOUGH_CALLS and use.took_ms(0.5) >= _SLOW_CALL_MS:
            name = ".".join(filter(None, (tool.server or tool.suite, tool.tool)))
            longest = took(use.took_ms(_NEARLY_ALL) / 1000)
            yield Finding(
                severity="note",
                subject="slow",
                message=f"half of the calls of `{visible(name)}` take"
                f" {took(use.took_ms(0.5) / 1000)} and more, and some {longest}",
                hint=f"switchboard calls --tool {shlex.quote(visible(tool.suite or tool.tool))}",
            )
