"""What `switchboard approvals` reports."""

import time
from collections.abc import Iterator
from datetime import datetime
from typing import ClassVar, Literal

from msgspec import Struct

from switchboard.cli.moments import time_of_day
from switchboard.cli.render import columns, hint
from switchboard.cli.report import Report
from switchboard.cli.verbs.parts.dated import DatedAnswer, DatedHeld, DatedQuestion
from switchboard.cli.verbs.parts.questions import about_host, change_lines, question_lines
from switchboard.core.questions import Extent
from switchkit.cli.style import Style

_WAITING = frozenset({"pending", "held"})


class ListedApproval(Struct, frozen=True, kw_only=True):
    """One line of the list."""

    id: str
    kind: Literal["call", "definition"]
    state: str
    tool: str
    # The suite or the server that it belongs to.
    of: str
    # Both in words; for an agent, what it is to do or wants to.
    what: str = ""
    risk: str = ""
    client: str = ""
    session: str = ""
    workspace: str = ""
    asked_at: str
    expires_at: str = ""
    decided_by: str = ""


class ApprovalsReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals/1"):
    """What waits for a person, oldest first."""

    approvals: tuple[ListedApproval, ...]

    def lines(self, style: Style) -> Iterator[str]:
        if not self.approvals:
            return
        heads = ("ID", "ASKED", "STATE", "LEFT", "RISK", "WHAT", "CLIENT")
        rows = [
            (
                each.id,
                time_of_day(datetime.fromisoformat(each.asked_at).timestamp()),
                each.state,
                _left(each),
                each.risk or "-",
                each.what,
                each.client or "-",
            )
            for each in self.approvals
        ]
        # What waits has little time left; of what is decided it is told when it was asked.
        spare = (1,) if all(each.state in _WAITING for each in self.approvals) else (3,)
        yield from columns(heads, rows, style, elastic=(5, 6), spare=spare)

    def notes(self, style: Style) -> Iterator[str]:
        waiting = [each.id for each in self.approvals if each.state in _WAITING]
        if not waiting:
            yield "nothing waits for an answer"
        else:
            yield hint(style, f"switchboard approvals show {waiting[0]}")


class QuestionReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals-question/1"):
    """One question with everything that is known of it."""

    state: str
    question: DatedQuestion
    answer: DatedAnswer | None = None

    def lines(self, style: Style) -> Iterator[str]:
        yield from question_lines(self.question, style)
        if self.answer is not None:
            yield ""
            yield f"{self.state}, by {self.answer.by}: {self.answer.chain or 'no process noted'}"

    def notes(self, style: Style) -> Iterator[str]:
        if self.state == "pending":
            yield hint(style, f"switchboard approvals approve {self.question.id}")


class DefinitionReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals-definition/1"):
    """A tool that its server has changed, before and after."""

    definition: DatedHeld
    # What was changed, as lines with `+` and `-`.
    changes: tuple[str, ...]

    def lines(self, style: Style) -> Iterator[str]:
        yield from change_lines(self.definition, self.changes, style)

    def notes(self, style: Style) -> Iterator[str]:
        yield hint(style, f"switchboard approvals approve {self.definition.id}")


class DecidedReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals-decided/1"):
    """What was decided."""

    id: str
    kind: Literal["call", "definition"]
    verdict: Literal["approved", "denied"]
    extent: Extent
    tool: str
    # The host that the tool may reach, or may not, where it was about one.
    host: str = ""

    def lines(self, style: Style) -> Iterator[str]:
        del style
        if self.host:
            yield f"{self.tool} {about_host(self.verdict, self.extent).format(self.host)}"
            return
        what = "the changed tool" if self.kind == "definition" else "the call of"
        more = " and every other call of it in this session" if self.extent == "session" else ""
        more += " for good" if self.extent == "always" else ""
        yield f"{self.verdict}: {what} {self.tool}{more}"

    def notes(self, style: Style) -> Iterator[str]:
        del style
        if self.host:
            yield f"switchboard egress {self.tool}"
        elif self.verdict == "approved" and self.kind == "call":
            yield "it runs now if its client is still waiting; otherwise make the same call again"


class WatchedReport(Report, frozen=True, kw_only=True, tag="switchboard.approvals-watched/1"):
    """A question when it is asked."""

    one_of_many: ClassVar[bool] = True
    question: DatedQuestion

    def lines(self, style: Style) -> Iterator[str]:
        yield from question_lines(self.question, style)
        yield ""


class WatchedDefinitionReport(
    Report, frozen=True, kw_only=True, tag="switchboard.approvals-watched-definition/1"
):
    """A tool when it turns out that its server has changed it."""

    one_of_many: ClassVar[bool] = True
    definition: DatedHeld
    changes: tuple[str, ...]

    def lines(self, style: Style) -> Iterator[str]:
        yield from change_lines(self.definition, self.changes, style)
        yield ""


def _left(each: ListedApproval) -> str:
    if each.state != "pending":
        return "-"
    left = datetime.fromisoformat(each.expires_at).timestamp() - time.time()
    return f"{max(left, 0):.0f} s"
