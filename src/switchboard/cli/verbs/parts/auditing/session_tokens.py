"""What the calls of a session cost, from the audit log: `switchboard tokens --session`."""

from collections.abc import Iterator

from msgspec import Struct

from switchboard.audit.filter import record_in
from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.auditing.audit_log import audit_answer_to, audit_pages
from switchboard.control.answers import AuditRows
from switchboard.control.requests import AuditRequest
from switchboard.core.audit import AuditRecord
from switchboard.core.catalog.addresses import address_of
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import COMMAND_VIAS
from switchkit.cli.columns import visible
from switchkit.cli.style import Style

# The session of a client that made the latest call; commands of Switchboard are no clients.
LAST = "last"
_FINISHED = "tool.call.finished"
# What a host asks for by itself, and no model has written.
_OF_HOSTS = frozenset(("prompts/get", "resources/read", "completion/complete"))
# Far enough back to find one quickly, as a rule.
_LOOKED_AT = 200


class ToolCost(Struct, frozen=True, kw_only=True):
    """The calls of one tool, in tokens."""

    # Empty for a tool that is in none.
    suite: str
    tool: str
    calls: int
    wrote: int
    read: int


class SessionTokensReport(Report, frozen=True, kw_only=True, tag="switchboard.session-tokens/1"):
    """What a model wrote to call tools, and what it read of their answers. Estimated."""

    session: str
    client: str = ""
    tools: tuple[ToolCost, ...] = ()
    calls: int = 0
    wrote: int = 0
    read: int = 0
    unreadable: tuple[str, ...] = ()

    def lines(self, style: Style) -> Iterator[str]:
        if not self.tools:
            return
        rows = [
            _row(visible(_shown(each)), each.calls, each.wrote, each.read) for each in self.tools
        ]
        rows.append(_row("total", self.calls, self.wrote, self.read))
        yield from columns(("TOOL", "CALLS", "WROTE", "READ"), rows, style, right=(1, 2, 3))

    def notes(self, style: Style) -> Iterator[str]:
        if self.tools:
            client = f" of {visible(self.client)}" if self.client else ""
            yield f"session {visible(self.session)}{client}; tokens are estimated"
        else:
            who = "a client" if self.session == LAST else f"session {visible(self.session)}"
            yield f"no call of {who} was counted: the audit log has them only while the gate is on"
            yield hint(style, "switchboard audit tail")
        yield from self.unreadable


def session_tokens(request: CommandRequest, session: str) -> SessionTokensReport:
    """Sum up the calls of a session; of the latest one of a client for `last`. Raises a fault."""
    if session == LAST:
        session, unreadable = _latest_of_a_client(request)
        if not session:
            return SessionTokensReport(session=LAST, unreadable=unreadable)
    costs: dict[tuple[str, str], list[int]] = {}
    told: dict[str, None] = {}
    client = ""
    is_known = False
    for page in audit_pages(request, {"session": session}):
        told.update(dict.fromkeys(page.unreadable))
        is_known = is_known or bool(page.rows)
        for record in map(record_in, page.rows):
            if record is None or not _counts(record):
                continue
            client = client or record.client
            cost = costs.setdefault((record.via, record.tool), [0, 0, 0])
            cost[0] += 1
            cost[1] += record.tokens_args or 0
            cost[2] += record.tokens_result or 0
    if not is_known and not told:
        raise Fault(
            FaultCode.NOT_FOUND,
            "no-session",
            f"the audit log has no call of a session `{session}`",
            hint=f"switchboard tokens --session {LAST}",
        )
    tools = tuple(
        ToolCost(suite=suite, tool=tool, calls=calls, wrote=wrote, read=read)
        for (suite, tool), (calls, wrote, read) in sorted(
            costs.items(), key=lambda each: -each[1][2]
        )
    )
    return SessionTokensReport(
        session=session,
        client=client,
        tools=tools,
        calls=sum(each.calls for each in tools),
        wrote=sum(each.wrote for each in tools),
        read=sum(each.read for each in tools),
        unreadable=tuple(told),
    )


def _latest_of_a_client(request: CommandRequest) -> tuple[str, tuple[str, ...]]:
    """The session whose call was counted last, or nothing; and what could not be read."""
    found = audit_answer_to(request, AuditRequest(last=_LOOKED_AT), AuditRows)
    if latest := _latest_in(found):
        return latest, found.unreadable
    if len(found.rows) < _LOOKED_AT:
        return "", found.unreadable
    # Commands alone have filled the end of the log.
    told = dict.fromkeys(found.unreadable)
    for page in audit_pages(request, {}):
        told.update(dict.fromkeys(page.unreadable))
        latest = _latest_in(page) or latest
    return latest, tuple(told)


def _latest_in(found: AuditRows) -> str:
    records = (record_in(row) for row in reversed(found.rows))
    return next((each.session_id for each in records if each and _is_clients(each)), "")


def _is_clients(record: AuditRecord) -> bool:
    return _counts(record) and record.transport not in COMMAND_VIAS


def _counts(record: AuditRecord) -> bool:
    is_models = bool(record.via) or record.tool not in _OF_HOSTS
    return is_models and record.event == _FINISHED and record.tokens_result is not None


def _shown(cost: ToolCost) -> str:
    """A subtool with its suite; an introspection as what it is."""
    if not cost.suite:
        return cost.tool
    if cost.suite == cost.tool:
        return f"{cost.suite} introspect"
    return address_of(cost.suite, cost.tool)


def _row(name: str, calls: int, wrote: int, read: int) -> tuple[str, ...]:
    return (name, f"{calls:,}", f"{wrote:,}", f"{read:,}")
