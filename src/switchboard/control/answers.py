"""What a daemon answers about itself, about approvals and about the audit log."""

from typing import Literal

from msgspec import Raw, Struct

from switchboard.control.status import SessionStatus
from switchboard.core.audit import AuditRow
from switchboard.core.network.egress import EgressRow
from switchboard.core.questions import Extent, Question
from switchboard.core.stores import Held, Posted
from switchboard.core.text.log_lines import LogLine


class Nothing(Struct, frozen=True):
    """It was done."""


class SessionList(Struct, frozen=True):
    """Who is connected."""

    sessions: tuple[SessionStatus, ...]


class EventList(Struct, frozen=True):
    """The latest events, oldest first."""

    events: tuple[Raw, ...]


# The reason by which a daemon says that it has no such server.
UNKNOWN_CHILD = "unknown-child"


class Changed(Struct, frozen=True):
    """How many it was done to."""

    count: int


class ServerLogLines(Struct, frozen=True, kw_only=True):
    """What a server printed on stderr, oldest first, and the number to ask on after."""

    lines: tuple[LogLine, ...] = ()
    last: int = 0
    # Whether the daemon has ever started it.
    is_known: bool = True
    # How many lines are, or may be, about other workspaces that use the same process.
    withheld: int = 0
    # Since when the daemon runs: what was printed before is not with it.
    since: float = 0.0


class ChangedTool(Held, frozen=True, kw_only=True):
    """A definition that waits, with the lines that a person reads of the change everywhere."""

    changes: tuple[str, ...] = ()


class WaitingApprovals(Struct, frozen=True, kw_only=True):
    """Calls that wait for a person or did, and tools that their servers have changed."""

    calls: tuple[Posted, ...] = ()
    definitions: tuple[ChangedTool, ...] = ()


class Decision(Struct, frozen=True, kw_only=True):
    """What was decided, and of what."""

    id: str
    kind: Literal["call", "definition"]
    verdict: Literal["approved", "denied"]
    extent: Extent
    tool: str
    # The host that the tool may reach, or may not, where it was about one.
    host: str = ""


class OfferedAnswer(Struct, frozen=True, kw_only=True):
    """A question, and the tokens by which it can be answered."""

    question: Question
    # Whether it still waits; the rest of the state is nobody's business who has a token alone.
    is_waiting: bool = True
    # The answer that the token is for, where one was asked about.
    verdict: Literal["", "approved", "denied"] = ""
    yes: str = ""
    no: str = ""


class OfferedAnswers(Struct, frozen=True, kw_only=True):
    """What can be answered by tokens."""

    offers: tuple[OfferedAnswer, ...] = ()
    # What the person has approved lately, to compare with.
    approved: tuple[Posted, ...] = ()


class OpenedPage(Struct, frozen=True, kw_only=True):
    """Where the page is, and how a person gets in."""

    url: str
    # Logs in once, and soon.
    link: str = ""
    # Proves once that a person is there, when they say yes on the page.
    code: str = ""


class ReportAnswer(Struct, frozen=True, kw_only=True):
    """The report of a command, which says its own schema."""

    report: Raw


class ServicesAnswer(Struct, frozen=True, kw_only=True):
    """What the local runtime answered, and the folders of clients that have a file for it."""

    report: Raw
    roots: tuple[str, ...] = ()


class StoppedCalls(Struct, frozen=True, kw_only=True):
    """How much was ended."""

    calls: int
    runs: int
    questions: int
    servers: int


class EgressRows(Struct, frozen=True, kw_only=True):
    """What servers reached and were refused, the latest last."""

    rows: tuple[EgressRow, ...] = ()
    # Whether there was a no, of a short while ago, that holds no more.
    forgotten: bool = False


class AuditRows(Struct, frozen=True, kw_only=True):
    """Records, oldest first, and in words what could not be read."""

    rows: tuple[AuditRow, ...] = ()
    unreadable: tuple[str, ...] = ()
    # The number of the newest record that was looked at, wanted or not.
    end: int = 0
