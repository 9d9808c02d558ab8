"""The control API of a daemon, for one caller of it."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import Raw, Struct
from msgspec.structs import replace

from switchboard.approvals.approver import Approver
from switchboard.control.answers import (
    Changed,
    Decision,
    EgressRows,
    EventList,
    Nothing,
    OpenedPage,
    ServicesAnswer,
    SessionList,
    StoppedCalls,
)
from switchboard.control.api import Hear
from switchboard.control.call_desk import (
    CallStatus,
    ResultAnswer,
    calls_answer,
    result_answer,
)
from switchboard.control.decisions import Decisions
from switchboard.control.messages import line_of, unexpected
from switchboard.control.past_calls import with_past
from switchboard.control.records import audit_answer
from switchboard.control.requests import (
    AnyRequest,
    ApprovalsRequest,
    AuditAfterRequest,
    AuditRequest,
    CallRequest,
    CallsRequest,
    ChildRequest,
    DecideRequest,
    DrainRequest,
    EgressRequest,
    EventsRequest,
    IntrospectRequest,
    LogsRequest,
    OfferRequest,
    OpenRequest,
    ReloadRequest,
    ReportRequest,
    ResultRequest,
    RunCancelRequest,
    RunEventsRequest,
    RunReplyRequest,
    RunsRequest,
    RunSteerRequest,
    ServicesRequest,
    SessionsRequest,
    StatusRequest,
    StopCallsRequest,
    StopRequest,
    TokenAnswerRequest,
    TokensRequest,
    VaultLockRequest,
    VaultUnlockRequest,
    VerifyRequest,
)
from switchboard.control.run_desk import run_answer
from switchboard.control.status import Stopping
from switchboard.core.audit import new_record
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.questions import Asker, Extent
from switchboard.daemon.attachment import Attachment
from switchboard.daemon.caller import Caller, open_caller
from switchboard.daemon.desk.children import change_children, log_lines
from switchboard.daemon.desk.daemon_status import (
    all_children,
    daemon_status,
    runs_under_way,
    session_statuses,
)
from switchboard.daemon.desk.recent_calls import recent_calls
from switchboard.daemon.desk.stopping import stop_calls
from switchboard.daemon.desk.token_answers import answered, offered
from switchboard.daemon.logs.stderr import write_failure
from switchboard.daemon.state import DaemonState
from switchboard.procs.limits import leave_no_core

if TYPE_CHECKING:
    from switchboard.daemon.board.guard import Guard
    from switchboard.daemon.desk.reports import CommandReports, ServedFolder
    from switchboard.daemon.page import DaemonPage
    from switchboard.receipts.book import CallBook
    from switchboard.runs.service import RunService

T = TypeVar("T")


class DaemonControl:
    """What a command, an attached client or an HTTP listener may ask."""

    def __init__(
        self,
        state: DaemonState,
        pid: int,
        attachment: Attachment | None = None,
        *,
        via: Literal["cli", "http-control", "page"] = "cli",
    ) -> None:
        """`pid` is the process that asks, 0 if that is not known.

        Without an attachment there is no board to call tools of.
        """
        self._state = state
        self._pid = pid
        self._attachment = attachment
        self._via = via

    def over_http(self) -> "DaemonControl":
        # The process that asked us to listen is not who calls.
        return DaemonControl(self._state, 0, self._attachment, via="http-control")

    def for_page(self) -> "DaemonControl":
        """The same for the page, where a yes takes a proof that a person is there."""
        return DaemonControl(self._state, 0, via="page")

    async def answer(
        self, request: AnyRequest, *, asker: Asker | None = None, hear: Hear | None = None
    ) -> bytes:
        try:
            return line_of(await self._answer(request, asker, hear))
        except Fault:
            raise
        except Exception as error:
            write_failure()
            raise unexpected() from error

    async def _answer(  # noqa: C901, PLR0911, PLR0912 - a case for each request
        self, request: AnyRequest, asker: Asker | None, hear: Hear | None
    ) -> Struct:
        match request:
            case StatusRequest():
                return await daemon_status(self._state)
            case SessionsRequest():
                return SessionList(tuple(session_statuses(self._state)))
            case EventsRequest():
                return EventList(tuple(Raw(line.encode()) for line in self.events(request.last)))
            case ChildRequest():
                return await self._whole(change_children(all_children(self._state), request))
            case LogsRequest():
                logs = self._state.shared_children.stderr_logs
                return replace(await log_lines(logs, request), since=self._state.started_at)
            case CallRequest():
                async with self._caller() as caller:
                    return await caller.call(request, asker=asker, hear=hear)
            case IntrospectRequest():
                async with self._caller() as caller:
                    return await caller.introspect(request, hear=hear)
            case TokensRequest():
                async with self._caller() as caller:
                    return await caller.tokens(request, hear=hear)
            case ApprovalsRequest():
                return await self._decisions.waiting(request)
            case DecideRequest():
                return await self._whole(self._decide(request))
            case OfferRequest() | TokenAnswerRequest():
                self._check_socket("tokens are neither given nor taken over HTTP")
                return await self._whole(self._by_token(request))
            case AuditRequest() | AuditAfterRequest() | VerifyRequest():
                return await audit_answer(self._guard.audit, request)
            case RunCancelRequest() | RunSteerRequest():
                return await self._whole(run_answer(self._runs, request))
            case RunReplyRequest():
                return await self._whole(self._reply(request))
            case RunsRequest() | RunEventsRequest():
                return await run_answer(self._runs, request)
            case VaultUnlockRequest():
                self._unlock(request)
            case VaultLockRequest():
                return self._lock()
            case EgressRequest():
                egress = self._state.shared_children.egress
                forgotten = bool(request.forget) and egress.forget(request.name, request.forget)
                return EgressRows(rows=egress.rows(request.name), forgotten=forgotten)
            case CallsRequest():
                found = await calls_answer(self._calls, self._recent_calls, request)
                return await with_past(found, self._guard.audit, request) if request.past else found
            case ResultRequest():
                return await self._result(request)
            case ReportRequest():
                return await self._reports.answer(request)
            case ServicesRequest():
                return await self._whole(self._services(request))
            case OpenRequest():
                return await self._whole(self._open_page(request))
            case ReloadRequest():
                return await self._reload()
            case StopCallsRequest():
                return await self._whole(self._stop_calls(request))
            case DrainRequest():
                self._state.drain(hands_back=request.hands_back)
                return Stopping(runs=tuple(runs_under_way(self._state)))
            case StopRequest():
                ending = Stopping(runs=tuple(runs_under_way(self._state)))
                self._state.stop()
                return ending
        return Nothing()

    async def _whole(self, work: Coroutine[Any, Any, T]) -> T:
        """Do it to the end, also when whoever asked for it leaves half-way."""
        return await asyncio.shield(self._state.unfinished.start(work))

    # The daemon

    def events(self, last: int) -> Iterator[str]:
        return self._state.recent_events.recent(last)

    def follow(self, follower: Callable[[str], None]) -> Callable[[], None]:
        return self._state.recent_events.follow(follower)

    async def _stop_calls(self, request: StopCallsRequest) -> StoppedCalls:
        return await stop_calls(
            request,
            calls=self._calls,
            runs=self._state.shared_children.open_runs,
            approvals=self._guard.approvals,
            audit=self._guard.audit,
            children=tuple(all_children(self._state)),
        )

    async def _reload(self) -> Changed:
        boards = tuple(self._state.boards)
        await asyncio.gather(*(board.reloader.reload() for board in boards))
        return Changed(len(boards))

    # Tools

    @asynccontextmanager
    async def _caller(self) -> AsyncGenerator[Caller]:
        attachment = self._attachment
        if attachment is None:
            raise Fault(
                FaultCode.FAILED_PRECONDITION,
                "no-board",
                "tools belong to a workspace, and this connection has named none",
            )
        async with open_caller(
            attachment.board.runtime,
            cwd=attachment.hello.cwd,
            via=self._via,
            pid=self._pid,
            acting=attachment.acting,
            is_pinned=attachment.hello.is_pinned,
        ) as caller:
            yield caller

    # Approvals and the audit log

    async def _decide(self, request: DecideRequest) -> Decision:
        if self._via == "page" and request.approves:
            # A code is not lost on what has been decided meanwhile.
            asked = replace(request, approves=False, extent="once", only_check=True)
            await self._decisions.decide(asked, Approver.of(0))
            with self._spent(request.proof, request.extent) as approver:
                return await self._decisions.decide(request, approver, by=self._via)
        if self._via != "cli" and request.approves:
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "presence-unproven",
                "over HTTP nobody can approve: a token does not prove that a person is there",
                hint=f"switchboard approvals approve {request.id}",
            )
        approver = Approver.of(self._pid)
        return await self._decisions.decide(request, approver, by=self._via)

    async def refuse_by(self, token: str) -> None:
        """Take a no by the token of a button; one that comes too late is none."""
        with suppress(Fault):
            await self._by_token(TokenAnswerRequest(token=token, approves=False))

    async def _by_token(self, request: OfferRequest | TokenAnswerRequest) -> Struct:
        tokens = self._state.answer_tokens
        if isinstance(request, OfferRequest):
            return await offered(request, tokens, self._guard.approvals)
        return await answered(request, tokens, self._decisions, Approver.of(self._pid))

    def _check_socket(self, message: str, hint: str = "") -> None:
        """Raise a fault for whoever does not come by the daemon's own socket."""
        if self._via != "cli":
            raise Fault(FaultCode.PERMISSION_DENIED, "presence-unproven", message, hint=hint)

    @property
    def _guard(self) -> "Guard":
        return self._state.shared_children.guard(self._state.places.home)

    @property
    def _calls(self) -> "CallBook":
        return self._state.shared_children.calls(self._state.places.home)

    async def _result(self, request: ResultRequest) -> ResultAnswer:
        self._check_socket(
            "what tools answered is not told over HTTP", f"switchboard result {request.id}"
        )
        return await result_answer(self._calls, self._recent_calls, self._guard.audit, request)

    def _recent_calls(self) -> dict[str, CallStatus]:
        return recent_calls(self._state.recent_events.events())

    @property
    def _reports(self) -> "CommandReports":
        # Only pages ask for them.
        from switchboard.daemon.desk.reports import CommandReports  # noqa: PLC0415

        state = self._state
        if state.reports is None:
            state.reports = CommandReports(state.places.home, self._folders)
        return state.reports

    def _folders(self) -> "Iterator[ServedFolder]":
        from switchboard.daemon.desk.reports import ServedFolder  # noqa: PLC0415 - as above

        for board in self._state.boards:
            yield ServedFolder(
                workspace=board.runtime.settings.workspace,
                config=board.key.config,
                environ=board.key.environ,
            )

    async def _services(self, request: ServicesRequest) -> ServicesAnswer:
        from switchboard.daemon.desk.services import STARTING, LocalServices  # noqa: PLC0415 - as above

        state = self._state
        services = state.services = state.services or LocalServices(self._folders)
        if self._via == "cli" or request.action not in STARTING:
            return await services.answer(request)
        with self._spent(request.proof):
            return await services.answer(request)

    def _spent(self, proof: str, extent: Extent = "once") -> AbstractContextManager[Approver]:
        """Use a proof up that a person is there. Raises a fault."""
        page = self._state.page
        if self._via != "page" or page is None:
            raise Fault(
                FaultCode.PERMISSION_DENIED,
                "presence-unproven",
                "a token does not prove that a person is there",
                hint="switchboard open",
            )
        return page.presence.spent(proof, is_lasting=extent != "once")

    @property
    def _runs(self) -> "RunService":
        return self._state.shared_children.runs(self._state.places.home)

    async def _reply(self, request: RunReplyRequest) -> Nothing:
        from switchboard.daemon.desk.run_replies import reply  # noqa: PLC0415 - as above

        return await reply(tuple(self._state.boards), self._runs, request)

    @property
    def _decisions(self) -> Decisions:
        return Decisions(self._guard.approvals, self._guard.audit, self._state.places.home)

    # The page

    async def _open_page(self, request: OpenRequest) -> OpenedPage:
        self._check_socket("the page is not opened over HTTP", "switchboard open")
        return await (await self.served_page()).opened(request, self._pid)

    async def served_page(self, *, only_there: bool = False) -> "DaemonPage":
        """The page, which is served from now on. Raises a fault."""
        # A daemon that serves no page loads nothing of it.
        from switchboard.daemon.page import serve_page  # noqa: PLC0415

        state = self._state
        async with state.page_lock:
            if state.page is None:
                state.page = await serve_page(
                    state.places.home,
                    self.for_page(),
                    lambda: self._guard.approvals,
                    only_there=only_there,
                )
            return state.page

    # The vault

    def _unlock(self, request: VaultUnlockRequest) -> None:
        self._check_socket("a vault is not unlocked over HTTP", "switchboard vault unlock")
        # From now on a picture of our memory would show it.
        leave_no_core()
        self._state.shared_children.unlock_vault(request.id, base64.b64decode(request.key))
        self._guard.audit.post(new_record("vault.unlocked"))

    def _lock(self) -> Changed:
        count = self._state.shared_children.lock_vault()
        self._guard.audit.post(new_record("vault.locked"))
        return Changed(count)
