"""`switchboard approvals rules`: what the user has said for good, shown and taken back."""

import asyncio
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from switchboard.approvals.approver import Approver
from switchboard.approvals.lasting.allowed_names import AllowedName
from switchboard.approvals.lasting.ruled_tool import RuledTool
from switchboard.approvals.wording.names import named, of_server
from switchboard.cli.moments import local_time
from switchboard.cli.render import columns, hint, warning
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.approving.team_state import opened_approvals, opened_audit
from switchboard.cli.verbs.parts.board import ask_board
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.control.requests import IntrospectRequest
from switchboard.control.tools import IntrospectAnswer, Subtool
from switchboard.core.audit import AuditApproval, new_record
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.origins import THE_USERS
from switchboard.core.privacy.cleaning import written_out
from switchboard.core.stores import ApprovalStore, AuditStore, LastingRule
from switchboard.core.text.stamps import stamped
from switchboard.settings.sections import Settings
from switchboard.settings.validate import shown_name
from switchkit.cli.columns import visible
from switchkit.cli.style import Style

_FILE = "config.toml"


class ListedRule(Struct, frozen=True, kw_only=True):
    """One rule: of one tool as it was, or of the names that the configuration has."""

    # Empty for what the configuration says, which is changed there.
    id: str = ""
    server: str
    tool: str
    # Both, as the configuration or a question has them: a dot in either name is no dot between.
    name: str
    runs: str = ""
    # When it was answered, and through what; `config.toml` for the configuration.
    made: str = ""
    made_by: str
    # The servers here that names of the configuration stand for, and those that they cannot.
    covers: tuple[str, ...] = ()
    cannot_cover: tuple[str, ...] = ()
    # Servers with a dot in their name, which it may have been meant for and does not stand for.
    lacks_quotes: tuple[str, ...] = ()
    # What it means for each tool of those servers, where they were asked; and why one could not be.
    tools: tuple[RuledTool, ...] = ()
    failures: dict[str, str] = {}

    def wrongs(self) -> Iterator[str]:
        """Why it does not do what it was written for."""
        if not self.id and not self.covers:
            yield _covers_nothing(self)
        for server in self.lacks_quotes:
            yield _without_quotes(self, server)


class RulesReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals-rules/1"):
    """Tools that need no further yes, because the user said so for good."""

    rules: tuple[ListedRule, ...]
    # The one that was taken back.
    removed: str = ""

    def lines(self, style: Style) -> Iterator[str]:
        if not self.rules:
            return
        heads = ("ID", "TOOL", "FROM", "MADE", "RUNS")
        rows = [
            (
                each.id or "-",
                each.name,
                each.made_by,
                local_time(each.made) or "-",
                each.runs or "-",
            )
            for each in self.rules
        ]
        yield from columns(heads, rows, style, elastic=(1, 4), spare=(4, 3, 2))
        for each in self.rules:
            yield from _told_tools(each)

    def notes(self, style: Style) -> Iterator[str]:
        if self.removed:
            yield f"the rule {self.removed} is gone: the tool asks again"
        for each in self.rules:
            yield from (warning(style, wrong) for wrong in each.wrongs())
        ids = [each.id for each in self.rules if each.id]
        if ids:
            yield hint(style, f"switchboard approvals rules {ids[0]} --remove")
        elif not self.rules:
            yield "no tool has a lasting answer"
        if any(each.covers and not each.tools and not each.failures for each in self.rules):
            yield hint(style, "switchboard approvals rules --tools")


def ruled(request: CommandRequest, removed: str) -> Report:
    """Take a rule back if one is named, and show those that stand. Raises a fault."""
    settings = settings_for(request)
    rules = asyncio.run(_rules(request, removed))
    by_name = tuple(rule_by_name(each, settings) for each in settings.approvals.allow)
    listed = [
        *(_asked(request, by_name, settings) if request.arguments.has("tools") else by_name),
        *(
            ListedRule(
                id=rule.id,
                server=written_out(rule.key.server),
                tool=written_out(rule.key.tool),
                name=of_server(rule.key.server, rule.key.tool),
                runs=written_out(rule.runs),
                made=stamped(rule.made_at),
                made_by=rule.made_by,
            )
            for rule in rules
        ),
    ]
    return RulesReport(rules=tuple(listed), removed=removed)


def rule_by_name(pattern: str, settings: Settings) -> ListedRule:
    """A name of the configuration, with the servers that it means."""
    name = AllowedName.of(pattern)
    left_out = (each.entry for each in settings.omitted)
    known = (*settings.servers, *settings.untrusted, *left_out)
    found = [each for each in known if name.is_server(each.name)]
    return ListedRule(
        server=name.server,
        tool=name.tool,
        name=pattern,
        made_by=_FILE,
        covers=tuple(each.name for each in found if each.origin.scope in THE_USERS),
        cannot_cover=tuple(each.name for each in found if each.origin.scope not in THE_USERS),
        lacks_quotes=tuple(
            each.name for each in known if "." in each.name and pattern.startswith(f"{each.name}.")
        ),
    )


def _asked(
    request: CommandRequest, rules: Sequence[ListedRule], settings: Settings
) -> Iterator[ListedRule]:
    """The same with what each means for the tools of its servers, which are started for it."""
    # It loads what servers need, and most commands about approvals start none.
    from switchboard.daemon.desk.ruled_tools import ruled_tools  # noqa: PLC0415

    entries = {each.name: each for each in settings.servers}
    tools: dict[str, tuple[Subtool, ...]] = {}
    failures: dict[str, str] = {}
    for server in dict.fromkeys(name for each in rules for name in each.covers):
        if server not in entries:
            failures[server] = "it is not in use here"
            continue
        try:
            tools[server] = _tools_of(request, shown_name(entries[server], settings.suites))
        except Fault as fault:
            failures[server] = fault.message
    for rule in rules:
        name = AllowedName.of(rule.name)
        yield replace(
            rule,
            tools=tuple(
                tool
                for server in rule.covers
                if server in tools
                for tool in ruled_tools(name, entries[server], tools[server])
            ),
            failures={each: failures[each] for each in rule.covers if each in failures},
        )


def _tools_of(request: CommandRequest, suite: str) -> tuple[Subtool, ...]:
    """Every tool of a server with all that it says of itself. Raises a fault."""
    (found,) = ask_board(request, IntrospectRequest(name=suite), IntrospectAnswer).suites
    if found.failure is not None:
        raise found.failure.fault()
    names = [each.name for each in found.tools]
    if not names:
        return ()
    # What a tool is annotated with is told of those that are asked for by their names.
    wanted = IntrospectRequest(name=suite, subtool=",".join(names), full=True)
    (whole,) = ask_board(request, wanted, IntrospectAnswer).suites
    if whole.failure is not None:
        raise whole.failure.fault()
    return whole.tools


def _told_tools(rule: ListedRule) -> Iterator[str]:
    if not rule.tools and not rule.failures:
        return
    yield ""
    yield f"{rule.name}:"
    states = {"covered": "needs no question now", "free": "needs no rule, it says that it reads"}
    for each in rule.tools:
        says = states.get(each.state) or f"still asks: {each.why}"
        yield f"  {of_server(each.server, each.tool)}: {says}"
    for server, why in rule.failures.items():
        yield f"  {named(server)}: its tools are not known: {why}"
    if rule.tools and not any(each.state == "covered" for each in rule.tools):
        yield "  so the rule answers for none of them"


def _covers_nothing(rule: ListedRule) -> str:
    says = f"`{rule.name}` covers nothing here: no server of your own files is named so"
    if not rule.cannot_cover:
        return says
    others = ", ".join(f"`{visible(each)}`" for each in rule.cannot_cover)
    return (
        f"{says}; {others} of this workspace can only be answered for good when a question is asked"
    )


def _without_quotes(rule: ListedRule, server: str) -> str:
    tool = rule.name.removeprefix(f"{server}.")
    return (
        f"`{rule.name}` stands for the tool `{rule.tool}` of a server `{rule.server}`;"
        f""" for the server `{visible(server)}` write '"{visible(server)}".{tool}'"""
    )


async def _rules(request: CommandRequest, removed: str) -> list[LastingRule]:
    store, log = opened_approvals(request), opened_audit(request)
    try:
        if removed:
            await _remove(store, log, removed)
        return await store.rules()
    finally:
        await store.aclose()
        await log.aclose()


async def _remove(store: ApprovalStore, log: AuditStore, wanted: str) -> None:
    for rule in await store.rules():
        if rule.id == wanted:
            approval = AuditApproval(
                decision="denied",
                id=rule.id,
                mode="always",
                channel="cli",
                chain=str(Approver.of_this_process()),
            )
            # What cannot be written down is not acted on.
            await log.append(
                new_record(
                    "approval.rule_removed",
                    tool=rule.key.tool,
                    server=rule.key.server,
                    approval=approval,
                )
            )
            await store.drop_rule(wanted)
            return
    raise Fault(
        FaultCode.NOT_FOUND,
        "unknown-rule",
        f"there is no rule with the id `{wanted}`",
        hint="switchboard approvals rules",
    )
