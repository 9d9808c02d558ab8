"""`switchboard sweep`: end the MCP servers that hosts have left behind."""

import shlex
import sys
from collections.abc import Iterator, Sequence

from msgspec import Struct

from switchboard.cli.moments import took
from switchboard.cli.render import columns, hint
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.hosts.carrying_out import OPTIONS
from switchboard.cli.verbs.parts.hosts.launch_lines import launch_lines
from switchboard.cli.verbs.parts.hosts.left_containers import (
    LeftContainer,
    left_containers,
    remove,
)
from switchboard.cli.verbs.parts.trusting.consent import check_consent
from switchboard.core.privacy.redaction import redacted_words
from switchboard.hosts.leftovers import Leftover, end, leftovers
from switchkit.cli.columns import counted
from switchkit.cli.style import Style, is_terminal
from switchkit.cli.typed import ask_at_terminal, says_yes
from switchkit.cli.usage import Usage, UsageError

_MB = 1 << 20
# Of a container's number, as engines show it.
_SHORT = 12
_FEW = 2

USAGE = Usage(
    verb="sweep",
    summary="End the MCP servers that hosts have left behind on this machine.",
    options=OPTIONS,
    details=(
        "Finds processes that do what a server in a file of a host does, whose parent has ended "
        "and to whom nobody can speak any more, and containers (Docker, Podman) of such servers "
        "whose client has ended. What is found is shown first, and ended only after a yes: by its "
        "number and its beginning, never by its name. Whatever a running host has started stays."
    ),
    examples=("switchboard sweep --dry-run", "switchboard sweep"),
)


class SweptServer(Struct, frozen=True, kw_only=True):
    """One server, and what became of it."""

    # Nothing for a container, which has a number of its own.
    pid: int
    container: str = ""
    host: str
    server: str
    command: str
    age_seconds: float | None
    memory_bytes: int
    processes: int
    # Files, folders and ports that it has.
    holds: tuple[str, ...] = ()
    # `found`, `ended`, or `kept` where it could not be ended.
    state: str


class SweepReport(Report, frozen=True, kw_only=True, tag="switchboard.sweep/1"):
    """What was left behind."""

    dry_run: bool
    found: tuple[SweptServer, ...]

    def exit_code(self) -> int:
        return FAILED if any(each.state == "kept" for each in self.found) else DONE

    def lines(self, style: Style) -> Iterator[str]:
        if self.found:
            yield from _table(self.found, style)

    def notes(self, style: Style) -> Iterator[str]:
        if not self.found:
            yield "no host has left a server behind"
            return
        memory = sum(each.memory_bytes for each in self.found) // _MB
        number = counted(len(self.found), "server")
        if self.dry_run:
            yield f"{number} left behind, {memory} MB in all"
            yield hint(style, "to end them: switchboard sweep")
        else:
            yield f"{number} ended, {memory} MB in all"


def _table(found: Sequence[SweptServer], style: Style) -> Iterator[str]:
    rows = [
        (
            each.container[:_SHORT] or str(each.pid),
            each.host,
            each.server,
            "" if each.age_seconds is None else took(each.age_seconds),
            f"{each.memory_bytes // _MB} MB",
            _few(each.holds),
            each.command,
        )
        for each in found
    ]
    heads = ("PID", "HOST", "SERVER", "AGE", "MEMORY", "HOLDS", "RUNS")
    return columns(heads, rows, style, elastic=(5, 6))


def _few(held: Sequence[str]) -> str:
    more = f", {len(held) - _FEW} more" if len(held) > _FEW else ""
    return ", ".join(held[:_FEW]) + more


def run(request: CommandRequest) -> Report:
    lines = [*launch_lines(request)]
    processes = leftovers(lines)
    containers = left_containers(lines, request.environ, (each.pid for each in processes))
    found: list[Leftover | LeftContainer] = [*processes, *containers]
    is_dry = request.arguments.has("dry-run")
    if is_dry or not found:
        return SweepReport(dry_run=is_dry, found=tuple(_told(each, "found") for each in found))
    check_consent(request)
    if not request.arguments.has("yes"):
        _ask(request, found)
    return SweepReport(
        dry_run=False,
        found=tuple(_told(each, "ended" if _end(each, request) else "kept") for each in found),
    )


def _end(found: Leftover | LeftContainer, request: CommandRequest) -> bool:
    return end(found) if isinstance(found, Leftover) else remove(found, request.environ)


def _told(found: Leftover | LeftContainer, state: str) -> SweptServer:
    is_container = isinstance(found, LeftContainer)
    return SweptServer(
        pid=0 if is_container else found.pid,
        container=found.id if is_container else "",
        host=found.host,
        server=found.server,
        command=shlex.join(redacted_words(found.command)),
        age_seconds=found.age_s,
        memory_bytes=found.memory,
        processes=1 if is_container else 1 + len(found.below),
        holds=found.holds,
        state=state,
    )


def _ask(request: CommandRequest, found: Sequence[Leftover | LeftContainer]) -> None:
    if not is_terminal(sys.stdin):
        raise UsageError(
            "without a terminal nobody can be asked", "look with `--dry-run`, then say `--yes`"
        )
    for line in _table([_told(each, "found") for each in found], request.talk.style):
        request.talk.say(line)
    ask_at_terminal(f"\nEnd {counted(len(found), 'server')}? [y/N] ")
    if not says_yes():
        raise UsageError("nothing was ended")
