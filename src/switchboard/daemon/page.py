"""The page of a daemon: where it listens, who may open it, and when it is served again."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

from switchboard.approvals.approver import Approver
from switchboard.approvals.presence import PresenceCodes, shown_code
from switchboard.control.answers import OpenedPage
from switchboard.control.api import Control
from switchboard.control.requests import OpenRequest
from switchboard.control.served_clients import clients_of, served_now
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.loop.tasks import TaskSet
from switchboard.core.stores import ApprovalStore
from switchboard.daemon.ancestors import runs_above
from switchboard.daemon.logs.stderr import write_failure
from switchboard.daemon.page_note import PageNote, noted_page, write_page_note
from switchboard.surface.http.listener import bind
from switchboard.surface.http.server import served
from switchboard.surface.http.token import kept_token
from switchboard.web.site import PageSite
from switchboard.web.visits import Visits

_LOOPBACK = "127.0.0.1"
# What visits are known again by, after a new daemon has begun.
_SECRET = "page-secret"  # noqa: S105 - the name of a file
_QUEUE_CHANGED = '{"event":"QueueChanged"}'
_NEVER_S = 86_400.0
# The daemon before this one lets go of the port when it makes way.
_RETRY_S, _TRIES = 0.1, 50

Follow = Callable[[Callable[[str], None]], Callable[[], None]]


class DaemonPage:
    """A page that is served. Made by `serve_page`."""

    def __init__(
        self, home: str, site: PageSite, visits: Visits, port: int, tasks: TaskSet
    ) -> None:
        self.presence = PresenceCodes()
        self._home = home
        self._site = site
        self._visits = visits
        self._port = port
        self._tasks = tasks
        self._over = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://{_LOOPBACK}:{self._port}/"

    @property
    def is_watched(self) -> bool:
        """Whether somebody looks at it."""
        return self._site.stream.readers > 0

    async def serve(self, listening: socket.socket) -> None:
        """Begin to serve on the socket."""
        up = asyncio.Event()
        self._tasks.start(self._serve(listening, up))
        await up.wait()
        await asyncio.to_thread(write_page_note, self._home, PageNote(port=self._port))

    async def aclose(self, *, is_last: bool) -> None:
        """Serve it no more; if it is the last, the next daemon does not serve it by itself."""
        self._over.set()
        await self._tasks.wait()
        if is_last:
            note = PageNote(port=self._port, is_open=False)
            await asyncio.to_thread(write_page_note, self._home, note)

    async def opened(self, request: OpenRequest, pid: int) -> OpenedPage:
        """What a person types to see the page, and to say yes there. Raises a fault."""
        approver = Approver.of(pid)
        await asyncio.to_thread(_check_person, approver, self._home, pid)
        link = "" if request.only_code else f"{self.url}#login={self._visits.link()}"
        code = ""
        if request.wants_code:
            code = shown_code(self.presence.issue(approver, is_lasting=request.is_lasting))
        return OpenedPage(url=self.url, link=link, code=code)

    async def _serve(self, listening: socket.socket, up: asyncio.Event) -> None:
        try:
            async with served(self._site, listening):
                up.set()
                await self._over.wait()
        except Exception:  # noqa: BLE001 - whatever becomes of the page, the daemon goes on
            write_failure()
        finally:
            up.set()
            listening.close()


async def serve_page(
    home: str,
    control: Control,
    approvals: Callable[[], ApprovalStore],
    *,
    only_there: bool = False,
) -> DaemonPage:
    """Serve the page on the port where it was, or on another; `only_there` on no other.

    Raises a fault.
    """
    listening = await _listening(await asyncio.to_thread(noted_page, home), only_there=only_there)
    port = listening.getsockname()[1]
    visits = Visits(
        await asyncio.to_thread(kept_token, home, _SECRET), f"http://{_LOOPBACK}:{port}"
    )
    tasks = TaskSet()
    follow = _with_queue(control.follow, approvals, tasks)
    page = DaemonPage(home, PageSite(control, visits, follow, port), visits, port, tasks)
    await page.serve(listening)
    return page


async def _listening(note: PageNote, *, only_there: bool) -> socket.socket:
    for _ in range(_TRIES if only_there else 1):
        try:
            return bind(_LOOPBACK, note.port, allow_remote=False)
        except Fault as fault:
            if fault.reason != "port-in-use":
                raise
        if only_there:
            await asyncio.sleep(_RETRY_S)
    if only_there:
        raise Fault(
            FaultCode.UNAVAILABLE,
            "port-in-use",
            f"port {note.port} is used by somebody else",
            hint="switchboard open",
        )
    return bind(_LOOPBACK, 0, allow_remote=False)


def _with_queue(follow: Follow, approvals: Callable[[], ApprovalStore], tasks: TaskSet) -> Follow:
    """Events, and that the queue has changed: questions also come from other processes."""

    async def watch(tell: Callable[[str], None]) -> None:
        with approvals().subscribe() as news:
            while True:
                if await news.changed(_NEVER_S):
                    tell(_QUEUE_CHANGED)

    def both(tell: Callable[[str], None]) -> Callable[[], None]:
        watching = tasks.start(_told(watch(tell)))
        forget = follow(tell)

        def end() -> None:
            watching.cancel()
            forget()

        return end

    return both


async def _told(work: Coroutine[Any, Any, None]) -> None:
    try:
        await work
    except Fault:
        write_failure()


def _check_person(approver: Approver, home: str, pid: int) -> None:
    """Raise a fault when a client, or an agent, may be the one who asks.

    The page tells what others called, and a code is as good as a yes.
    """
    if not approver.is_known:
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "approver-unknown",
            "this system cannot tell who started this command: it may be a client of Switchboard",
            hint="switchboard approvals",
        )
    if runs_above(pid):
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "own-consent",
            "this command was started by an agent of Switchboard, and the page is for persons",
            hint="type it in a terminal of your own",
        )
    approver.check_no_client(clients_of(served_now(home)))
