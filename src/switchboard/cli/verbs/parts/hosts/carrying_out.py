"""A plan, carried out: each host only after a yes, each file only as it was shown."""

import shlex
import sys
import time
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.board import ask_board
from switchboard.cli.verbs.parts.hosts.found_servers import FoundServer
from switchboard.cli.verbs.parts.hosts.launch_lines import launch_lines
from switchboard.cli.verbs.parts.hosts.plan import (
    HostPlan,
    SetupPlan,
    first_settings,
    home_changes,
    host_roots,
)
from switchboard.cli.verbs.parts.hosts.programs import those_listing_us
from switchboard.cli.verbs.parts.hosts.reports import (
    HostLine,
    ServerLine,
    SetupReport,
    TokensSaved,
    host_line,
    processes,
    rows,
    server_line,
    told_difference,
    told_server,
)
from switchboard.cli.verbs.parts.loading import places_for, settings_for
from switchboard.cli.verbs.parts.tool_tokens import count_of
from switchboard.cli.verbs.parts.trusting.consent import check_consent
from switchboard.cli.verbs.parts.vault.input import passphrase_from
from switchboard.control.requests import TokensRequest
from switchboard.control.tools import TokensAnswer
from switchboard.core.faults import Fault
from switchboard.hosts.applying import apply
from switchboard.hosts.change import FileChange
from switchboard.hosts.leftovers import LaunchLine, leftovers, running_bytes
from switchboard.hosts.record import HostRecord
from switchboard.vault.opening import open_vault
from switchkit.cli.style import is_terminal
from switchkit.cli.typed import ask_at_terminal, says_yes
from switchkit.cli.usage import Option, UsageError

# Whoever sets up sits in front of it, and a server that is away keeps nobody waiting.
_COUNTING_S = 10.0
_ENTERS = "Change {}?"
_ALLOWS = "Have {} leave asking to Switchboard, which asks before what could do harm?"

OPTIONS = (
    Option(name="yes", short="-y", about="do it without asking about each file"),
    Option(name="dry-run", about="show what would be done, and do nothing"),
)
ENTERING = (
    *OPTIONS,
    Option(name="allow", about="have the hosts leave asking to Switchboard, too"),
)


def carry_out(
    request: CommandRequest, plan: SetupPlan, kind: type[SetupReport] = SetupReport
) -> SetupReport:
    """Do what was planned, as far as somebody agrees, and say what became of it."""
    # Files of hosts are for their user: whoever is served here sees no difference of them.
    check_consent(request)
    if request.arguments.has("dry-run"):
        return _planned(plan, kind)
    if plan_is_empty(plan):
        return _planned(plan, kind, is_dry=False)
    if not request.arguments.has("yes") and not is_terminal(sys.stdin):
        raise UsageError(
            "without a terminal nobody can be asked about each file",
            "look with `--dry-run`, then say `--yes`",
        )
    if not request.arguments.has("yes"):
        _introduce(request, plan)
    agreed = [*_agreed(request, plan)]
    servers = _moving(plan, agreed)
    # Before anything is written: a host may end its servers as soon as its file changes.
    running, memory = running_bytes(_launch_lines(servers))
    left = leftovers([*launch_lines(request)])
    # Who declines everything finds everything as it was.
    ours = _take_over(request, servers) if agreed or servers else ()
    lines = {each.host: each for each in _listed(request, agreed, _written(request, agreed))}
    hosts = tuple(
        _with_offer(lines.get(each.host.id) or host_line(each, _state_of_unwritten(each)), each)
        for each in plan.hosts
    )
    before, after = processes(servers)
    return kind(
        dry_run=False,
        servers=tuple(_server_lines(plan, servers, "taken")),
        hosts=hosts,
        projects=tuple(each.path for each in plan.projects),
        ours=ours,
        processes_before=before,
        processes_after=after,
        running=running,
        running_bytes=memory,
        left_behind=len(left),
        left_bytes=sum(each.memory for each in left),
        tokens=_tokens(request) if servers else None,
    )


def _launch_lines(servers: Sequence[FoundServer]) -> Iterator[LaunchLine]:
    for each in servers:
        if command := each.fields.get("command"):
            args = tuple(map(str, each.fields.get("args") or ()))
            yield LaunchLine(host="", server=each.name, command=str(command), args=args)


def _tokens(request: CommandRequest) -> TokensSaved | None:
    """What a model reads before and after. Every server is started for that, so somebody waits."""
    if not is_terminal(sys.stdin):
        return None
    request.talk.say("\ncounting what a model reads of these servers; Ctrl-C leaves that out")
    try:
        answer = ask_board(request, TokensRequest(patience_s=_COUNTING_S), TokensAnswer)
    except (KeyboardInterrupt, Fault, UsageError):
        # Everything is written by now, and `switchboard tokens` counts at any time.
        return None
    asked = [each for each in answer.servers if each.failure is None]
    listing = next((each.tools for each in answer.presets if each.is_in_use), None)
    if listing is None:
        listing = [tool for each in asked for tool in each.shown]
    return TokensSaved(
        servers=len(asked),
        direct=sum(count_of(tool) for each in asked for tool in each.tools),
        shown=sum(map(count_of, listing)),
        failed=tuple(each.server for each in answer.servers if each.failure is not None),
    )


def plan_is_empty(plan: SetupPlan) -> bool:
    """Whether there is nothing to do."""
    has_new = any(not each.reason and not each.is_known for each in plan.servers)
    return not has_new and not any(each.changes or each.allowing for each in plan.hosts)


def _planned(plan: SetupPlan, kind: type[SetupReport], *, is_dry: bool = True) -> SetupReport:
    moving = _moving(plan, plan.hosts)
    before, after = processes(moving)
    return kind(
        dry_run=is_dry,
        servers=tuple(_server_lines(plan, moving, "planned")),
        hosts=tuple(
            host_line(
                each,
                "planned" if each.changes else _state_of_unwritten(each),
                allows="planned" if each.allowing else "",
                difference=_difference(plan, (*each.changes, *each.allowing)),
            )
            for each in plan.hosts
        ),
        projects=tuple(each.path for each in plan.projects),
        processes_before=before if is_dry else 0,
        processes_after=after if is_dry else 0,
    )


def _server_lines(
    plan: SetupPlan, moving: Sequence[FoundServer], state: str
) -> Iterator[ServerLine]:
    coming = {each.name: each for each in moving}
    for each in plan.servers:
        if each.reason or each.is_known:
            yield server_line(each, state)
        elif each.name in coming:
            yield server_line(_told_of_others(coming[each.name], each), state)
        else:
            reason = "no file that has it is changed"
            yield server_line(replace(each, reason=reason, secrets=(), remarks=()), "left")


def _told_of_others(moved: FoundServer, found: FoundServer) -> FoundServer:
    """Say of a server that it also stays in hosts that are as they were."""
    left = dict.fromkeys(each.title for each in found.sources if each not in moved.sources)
    if not left:
        return moved
    told = f"still in {', '.join(left)}, too, which stays as it is"
    return replace(moved, remarks=(*moved.remarks, told))


def _with_offer(line: HostLine, plan: HostPlan) -> HostLine:
    """Say of a host that has us and goes on to ask that it need not."""
    still_asks = plan.allowing and not line.allows and line.state in {"written", "kept"}
    return replace(line, allows="offered") if still_asks else line


def _state_of_unwritten(plan: HostPlan) -> str:
    if plan.told is not None:
        return "told"
    if plan.changes:
        return "declined"
    if plan.found.problem:
        return "unread"
    return "failed" if plan.reason else "kept"


def _difference(plan: SetupPlan, changes: Sequence[FileChange]) -> str:
    """What becomes of each file, from its first change to its last."""
    secrets = [secret.value for each in plan.servers for secret in each.secrets]
    told: list[str] = []
    for path in dict.fromkeys(each.place.path for each in changes):
        mine = [each for each in changes if each.place.path == path]
        granted = tuple(one for each in mine for one in each.granted)
        whole = replace(mine[0], after=mine[-1].after, granted=granted)
        told.append(whole.difference(secrets, [each.place.servers for each in mine]))
    return "".join(told)


def _introduce(request: CommandRequest, plan: SetupPlan) -> None:
    """Say what would be done, and that it can be undone, before anybody is asked."""
    style = request.talk.style
    for line in _server_lines(plan, _moving(plan, plan.hosts), "planned"):
        for text in told_server(line, style):
            request.talk.say(text)
    hosts = ", ".join(each.host.title for each in plan.hosts if each.changes)
    if not hosts:
        return
    if plan.servers:
        home = style.paths(places_for(request).home)
        request.talk.say(f"\nServers that are taken over go into {home}.")
    entered = f"One entry for Switchboard goes into {hosts}; you are asked about each."
    for text in rows(entered, style):
        request.talk.say(text)
    request.talk.say("Nothing is written before the last answer. `switchboard revert` undoes it.")


def _agreed(request: CommandRequest, plan: SetupPlan) -> Iterator[HostPlan]:
    """The hosts that somebody who sees the difference wants changed, with what of it."""
    for each in plan.hosts:
        changes = each.changes
        if changes and not _wants(request, plan, each, changes, _ENTERS):
            continue
        allowing = each.allowing
        if allowing and not request.arguments.has("allow"):
            is_asked = not request.arguments.has("yes")
            allowing = (
                allowing if is_asked and _wants(request, plan, each, allowing, _ALLOWS) else ()
            )
        if changes or allowing:
            yield replace(each, allowing=allowing)


def _wants(
    request: CommandRequest,
    plan: SetupPlan,
    host: HostPlan,
    changes: Sequence[FileChange],
    question: str,
) -> bool:
    if request.arguments.has("yes"):
        return True
    style = request.talk.style
    path = style.paths(changes[0].place.path)
    request.talk.say(f"\n{style.bold(host.host.title)}: {path}")
    for line in told_difference(_difference(plan, changes), style):
        request.talk.say(line)
    ask_at_terminal(f"\n{question.format(host.host.title)} [y/N] ")
    return says_yes()


def _moving(plan: SetupPlan, agreed: Sequence[HostPlan]) -> list[FoundServer]:
    """The servers that come in: those of files that change, and all where no file is to change."""
    new = [each for each in plan.servers if not each.reason and not each.is_known]
    if not plan.hosts:
        return new
    files = {each.file for each in agreed if each.changes}
    moving = (
        replace(each, sources=tuple(source for source in each.sources if source.file in files))
        for each in new
    )
    return [each for each in moving if each.sources]


def _take_over(request: CommandRequest, servers: Sequence[FoundServer]) -> tuple[str, ...]:
    """Our own side first: no host loses a server that we do not have yet. Gives our files."""
    places = places_for(request)
    begun = _write_ours(request, first_settings(places))
    settings = settings_for(request)
    secrets = [secret for each in servers for secret in each.secrets]
    if secrets:
        ask = passphrase_from(request)
        vault = open_vault(settings.home, settings.vault, request.environ, ask=ask)
        for secret in secrets:
            vault.put(secret.place, secret.value)
    return tuple(dict.fromkeys((*begun, *_write_ours(request, home_changes(servers, places)))))


def _write_ours(request: CommandRequest, changes: Iterable[FileChange]) -> list[str]:
    with HostRecord(places_for(request).home) as record:
        results = [*apply([*changes], record, time.time())]
    if failed := next((each.reason for each in results if each.reason), ""):
        raise UsageError(f"your own servers could not be written: {failed}")
    return [each.path for each in results]


def _written(request: CommandRequest, plans: Sequence[HostPlan]) -> Iterator[HostLine]:
    for plan in plans:
        with HostRecord(places_for(request).home) as record:
            results = [*apply((*plan.changes, *plan.allowing), record, time.time())]
        if failed := next((each.reason for each in results if each.reason), ""):
            yield host_line(plan, "failed", reason=failed)
            continue
        state = "written" if plan.changes else "kept"
        yield host_line(plan, state, allows="written" if plan.allowing else "")


def _listed(
    request: CommandRequest, plans: Sequence[HostPlan], lines: Iterable[HostLine]
) -> Iterator[HostLine]:
    """The same lines, with what those hosts that are written say of themselves."""
    told = {each.host: each for each in lines}
    files = [each.found for each in plans if told[each.host.id].state != "failed"]
    lists = {each.host.id: shlex.join(each.host.lists) for each in plans}
    asked = those_listing_us(files, host_roots(request, places_for(request)), request.talk)
    for each in told.values():
        is_listed = asked.get(each.host)
        # Asked in vain: it failed, or took too long.
        unanswered = lists[each.host] if each.host in asked and is_listed is None else ""
        yield replace(each, is_listed=is_listed, unanswered=unanswered)
