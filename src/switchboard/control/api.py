"""The control API: one object that the daemon's socket and its HTTP routes both speak."""

from collections.abc import Callable, Iterator
from typing import Protocol

from msgspec import Struct

from switchboard.control.answers import AuditRows, Decision, WaitingApprovals
from switchboard.control.requests import (
    AnyRequest,
    ApprovalsRequest,
    AuditRequest,
    CallRequest,
    ChildRequest,
    DecideRequest,
    DrainRequest,
    EventsRequest,
    IntrospectRequest,
    ReloadRequest,
    SessionsRequest,
    StatusRequest,
    StopRequest,
    TokensRequest,
)
from switchboard.control.status import DaemonStatus, SessionStatus
from switchboard.control.tools import CallAnswer, IntrospectAnswer, TokensAnswer
from switchboard.core.events import ApprovalAsked
from switchboard.core.questions import Asker

# Told of each question that a call waits for and that its caller cannot be asked.
Hear = Callable[[ApprovalAsked], None]


class Nothing(Struct, frozen=True):
    """It was done."""


class SessionList(Struct, frozen=True):
    """Who is connected."""

    sessions: tuple[SessionStatus, ...]


class Changed(Struct, frozen=True):
    """How many it was done to."""

    count: int


class Control(Protocol):
    """What one caller may ask of a daemon. Every method may raise a fault."""

    async def status(self) -> DaemonStatus:
        """The daemon and everything in it."""
        ...

    def sessions(self) -> SessionList:
        """Who is connected."""
        ...

    def events(self, last: int) -> Iterator[str]:
        """The latest events as JSON lines, oldest first."""
        ...

    def follow(self, follower: Callable[[str], None]) -> Callable[[], None]:
        """Hear every event from now on as a JSON line, until the returned function is called."""
        ...

    async def child(self, request: ChildRequest) -> Changed:
        """Start, stop or restart the children of one server."""
        ...

    async def call(
        self, request: CallRequest, *, asker: Asker | None = None, hear: Hear | None = None
    ) -> CallAnswer:
        """Call a tool of the caller's board; `asker` puts questions to the caller's user."""
        ...

    async def introspect(self, request: IntrospectRequest) -> IntrospectAnswer:
        """The tools of one suite of the caller's board, or of all."""
        ...

    async def tokens(self) -> TokensAnswer:
        """What a model reads of each server, with suites and without."""
        ...

    async def approvals(self, request: ApprovalsRequest) -> WaitingApprovals:
        """What waits for a person."""
        ...

    async def decide(self, request: DecideRequest) -> Decision:
        """Take the answer of the caller's user. The client that asked cannot agree."""
        ...

    async def audit(self, request: AuditRequest) -> AuditRows:
        """Records of the audit log."""
        ...

    def over_http(self) -> "Control":
        """The same for callers over HTTP, of whom nobody knows whether they are persons."""
        ...

    async def reload(self) -> Changed:
        """Read the configuration of every board again."""
        ...

    def drain(self) -> None:
        """Take no client any more, and end with the last one."""
        ...

    def stop(self) -> None:
        """End every session, and then the daemon."""
        ...


async def answer(  # noqa: C901, PLR0911, PLR0912 - a case for each method
    control: Control, request: AnyRequest
) -> Struct:
    """What the control answers to a request. Events beyond the latest are followed elsewhere."""
    match request:
        case StatusRequest():
            return await control.status()
        case SessionsRequest():
            return control.sessions()
        case ChildRequest():
            return await control.child(request)
        case CallRequest():
            return await control.call(request)
        case IntrospectRequest():
            return await control.introspect(request)
        case TokensRequest():
            return await control.tokens()
        case ApprovalsRequest():
            return await control.approvals(request)
        case DecideRequest():
            return await control.decide(request)
        case AuditRequest():
            return await control.audit(request)
        case ReloadRequest():
            return await control.reload()
        case DrainRequest():
            control.drain()
        case StopRequest():
            control.stop()
        case EventsRequest():
            pass
    return Nothing()
