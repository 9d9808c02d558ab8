"""What a daemon holds: its socket, its boards and children, who is attached, how it ends."""

import asyncio
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from switchboard.core.bus import EventBus, Subscriber
from switchboard.core.loop.tasks import TaskSet
from switchboard.daemon.attachment import Attachment
from switchboard.daemon.board.registry import BoardRegistry
from switchboard.daemon.board.sharing.shared_children import SharedChildren
from switchboard.daemon.daemon_socket import DaemonSocket
from switchboard.daemon.desk.home_notices import HomeNotices
from switchboard.daemon.logs.log import Log
from switchboard.daemon.logs.recent_events import RecentEvents
from switchboard.ipc.paths import DaemonPlaces
from switchboard.pocket.answer_tokens import AnswerTokens
from switchboard.runs.limits import RunLimits

if TYPE_CHECKING:
    from switchboard.daemon.desk.reports import CommandReports
    from switchboard.daemon.desk.services import LocalServices
    from switchboard.daemon.page import DaemonPage


class DaemonState:
    """Shared by the server, which changes it, and by the control API, which shows it."""

    def __init__(
        self,
        places: DaemonPlaces,
        *,
        log: Log,
        idle_s: float,
        more: Sequence[Subscriber] = (),
        run_limits: RunLimits | None = None,
        notices: HomeNotices | None = None,
    ) -> None:
        """Raises a fault when another daemon listens already."""
        self.places = places
        self.log = log
        self.idle_s = idle_s
        self.started_at = time.time()
        self.recent_events = RecentEvents()
        # By which a question is answered from elsewhere, and who tells a person of it there.
        self.answer_tokens = AnswerTokens()
        self.notices = notices
        if notices is not None:
            more = (*more, notices)
            notices.begin(self)
        self.shared_children = SharedChildren(
            EventBus(log, self.recent_events.subscriber(""), *more), run_limits or RunLimits()
        )
        self.boards = BoardRegistry(self.recent_events, self.shared_children, *more)
        self.attachments: set[Attachment] = set()
        self.shared_children.egress.clients = lambda: [
            session.client_pid for each in self.attachments for session in each.sessions()
        ]
        # Of every board: sessions also use servers of worktrees that they did not start in.
        self.shared_children.egress.workspaces = lambda: {
            board.runtime.settings.workspace for board in self.boards
        }
        # What is done to the end, whoever asked for it is there or not.
        self.unfinished = TaskSet()
        # The page, where it is served.
        self.page: DaemonPage | None = None
        self.page_lock = asyncio.Lock()
        self.reports: CommandReports | None = None
        self.services: LocalServices | None = None
        self.is_draining = False
        # By the monotonic clock; 0 as long as it does not drain.
        self.drains_since = 0.0
        self.stopping: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.socket = DaemonSocket(places)

    def drain(self, *, hands_back: bool = False) -> None:
        """Take no client any more; those who are here finish in peace, and commands are heard.

        With `hands_back` those who have nothing open are left to another daemon.
        """
        self.is_draining = True
        self.drains_since = self.drains_since or time.monotonic()
        self.socket.step_aside()
        if self.page is not None:
            # The next one serves it, on the same port.
            self.unfinished.start(self.close_page(is_last=False))
        if hands_back:
            for attachment in tuple(self.attachments):
                attachment.hand_back()

    async def close_page(self, *, is_last: bool) -> None:
        """Serve the page no more."""
        page, self.page = self.page, None
        if page is not None:
            await page.aclose(is_last=is_last)

    def stop(self) -> None:
        """End every session and then the daemon."""
        if not self.stopping.done():
            self.stopping.set_result(None)
