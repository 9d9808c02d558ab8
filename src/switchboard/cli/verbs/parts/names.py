"""Names that can be typed after a verb, for shells that complete them."""

import re
from collections.abc import Iterable

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.daemon_answer import daemon_answer
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.runs.asked_runs import ask_runs
from switchboard.cli.verbs.parts.servers import entries
from switchboard.control.answers import WaitingApprovals
from switchboard.control.requests import ApprovalsRequest, RunsRequest
from switchboard.control.run_desk import RunList
from switchboard.providers.table import configured

KINDS = ("agents", "approvals", "runs", "servers", "trust")
_LAST_RUNS = 50
# A shell expands what it completes, and a name may be a stranger's.
_HARMLESS = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def names_of(kind: str, request: CommandRequest) -> tuple[str, ...]:
    """The names of a kind. Those that a shell could take for something else are left out."""
    return tuple(name for name in _names(kind, request) if _HARMLESS.fullmatch(name))


def _names(kind: str, request: CommandRequest) -> Iterable[str]:
    if kind == "runs":
        return [each.id for each in ask_runs(request, RunsRequest(last=_LAST_RUNS), RunList).runs]
    if kind == "approvals":
        waiting = daemon_answer(request, ApprovalsRequest(), WaitingApprovals)
        if waiting is None:
            return ()
        calls = (each.question.id for each in waiting.calls)
        return (*calls, *(each.id for each in waiting.definitions))
    settings = settings_for(request)
    servers = [entry.name for entry in entries(settings)]
    if kind == "servers":
        return servers
    items = [item for source in configured(settings) for item in source.trust_items(settings)]
    others = [item.name for item in items]
    return [*servers, *others] if kind == "trust" else _agents(request)


def _agents(request: CommandRequest) -> list[str]:
    # The provider is large, and only its own verbs need it.
    from switchboard.providers.agents.source import SOURCE  # noqa: PLC0415

    found = SOURCE.agents(settings_for(request))
    return [*found.usable, *found.untrusted]
