"""Which servers the words of a command mean, and what the daemon is told of them."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Literal

from msgspec import Struct

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer
from switchboard.cli.verbs.parts.servers import entries
from switchboard.control.answers import Changed
from switchboard.control.requests import ReloadRequest
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.origins import Scope
from switchboard.settings.sections import Settings
from switchboard.settings.server_names import no_server, suite_for
from switchboard.settings.validate import shown_name

# A server of these is in one workspace alone.
_OF_A_WORKSPACE = frozenset({Scope.WORKSPACE, Scope.AGENT, Scope.SKILL})


class Switched(Struct, frozen=True, kw_only=True):
    """One server, and whether that is new."""

    name: str
    where: Literal["here", "everywhere"]
    is_new: bool


def server_names(settings: Settings, wanted: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The servers that words mean, and whether each belongs to the workspace. Raises a fault."""
    known = entries(settings)
    for word in wanted:
        found = [
            entry for entry in known if word in {entry.name, shown_name(entry, settings.suites)}
        ]
        if not found:
            raise no_server(word, [entry.name for entry in known])
        is_theirs = any(entry.origin.scope in _OF_A_WORKSPACE for entry in found)
        yield found[0].name, is_theirs


def tell_daemon(request: CommandRequest) -> None:
    """Have it look at once; by itself it looks a moment later."""
    with suppress(Fault):
        daemon_answer(request, ReloadRequest(), Changed)


def server_for(settings: Settings, wanted: str) -> str:
    """The server that a word means, which must be one that can be used. Raises a fault."""
    suite = suite_for(settings, wanted)
    return next(
        entry.name for entry in settings.servers if shown_name(entry, settings.suites) == suite
    )


def no_daemon(so: str) -> Fault:
    return Fault(
        FaultCode.UNAVAILABLE,
        "no-daemon",
        f"no daemon is running, {so}",
        hint="switchboard daemon start",
    )
