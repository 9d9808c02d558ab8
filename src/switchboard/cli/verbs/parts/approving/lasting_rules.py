"""`switchboard approvals rules`: what the user has said for good, shown and taken back."""

import asyncio
from collections.abc import Iterator

from msgspec import Struct

from switchboard.approvals.approver import Approver
from switchboard.approvals.store.sqlite import SqliteApprovals
from switchboard.audit.store import SqliteAudit
from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.core.audit import AuditApproval, new_record, stamped
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.cleaning import written_out
from switchboard.core.stores import LastingRule
from switchboard.ipc.paths import places_from
from switchkit.cli.style import Style

_FILE = "config.toml"


class ListedRule(Struct, frozen=True, kw_only=True):
    """One rule: of one tool as it was, or of the names that the configuration has."""

    # Empty for what the configuration says, which is changed there.
    id: str = ""
    server: str
    tool: str
    runs: str = ""
    # When it was answered, and through what; `config.toml` for the configuration.
    made: str = ""
    made_by: str


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
                f"{each.server}.{each.tool}",
                each.made_by,
                each.made or "-",
                each.runs or "-",
            )
            for each in self.rules
        ]
        yield from columns(heads, rows, style, elastic=(1, 4))

    def notes(self, style: Style) -> Iterator[str]:
        if self.removed:
            yield f"the rule {self.removed} is gone: the tool asks again"
        ids = [each.id for each in self.rules if each.id]
        if ids:
            yield hint(style, f"switchboard approvals rules {ids[0]} --remove")
        elif not self.rules:
            yield "no tool has a lasting answer"


def ruled(request: CommandRequest, wanted: str, *, removes: bool) -> Report:
    """Take a rule back if one is named, and show those that stand. Raises a fault."""
    named = settings_for(request).approvals.allow
    rules = asyncio.run(_rules(request, wanted if removes else ""))
    listed = [
        *(_by_name(each) for each in named),
        *(
            ListedRule(
                id=rule.id,
                server=written_out(rule.key.server),
                tool=written_out(rule.key.tool),
                runs=written_out(rule.runs),
                made=stamped(rule.made_at),
                made_by=rule.made_by,
            )
            for rule in rules
        ),
    ]
    return RulesReport(rules=tuple(listed), removed=wanted if removes else "")


def _by_name(pattern: str) -> ListedRule:
    server, _, tool = pattern.partition(".")
    return ListedRule(server=server, tool=tool, made_by=_FILE)


async def _rules(request: CommandRequest, removed: str) -> list[LastingRule]:
    home = places_from(dict(request.environ)).home
    store, log = SqliteApprovals(home), SqliteAudit(home)
    try:
        if removed:
            await _remove(store, log, removed)
        return await store.rules()
    finally:
        await store.aclose()
        await log.aclose()


async def _remove(store: SqliteApprovals, log: SqliteAudit, wanted: str) -> None:
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
