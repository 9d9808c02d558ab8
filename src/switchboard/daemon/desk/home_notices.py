"""Telling a person of what waits for them, as their home says now. No workspace has a say in it.

Light: of what carries messages over nothing is loaded before there is one to carry.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from switchboard.core.events import ApprovalAsked, ApprovalDecided, DefinitionHeld, Event
from switchboard.core.faults import Fault
from switchboard.core.loop.tasks import TaskSet
from switchboard.daemon.logs.stderr import write_failure

if TYPE_CHECKING:
    from switchboard.control.status import NoticeStatus
    from switchboard.daemon.state import DaemonState
    from switchboard.pocket.notices.notifier import Notifier
    from switchboard.settings.sections import LastingAnswers, Settings

_HEARD = frozenset({ApprovalAsked, ApprovalDecided, DefinitionHeld})
# A tool that changes all the time is told of once in so long.
_AGAIN_S = 600.0
Signature = tuple[tuple[str, int, int], ...]


class HomeNotices:
    """Hears of questions on every board of one daemon."""

    def __init__(
        self,
        home: str,
        environ: Mapping[str, str],
        settings: "Settings | None",
        load: "Callable[[], Settings | None]",
    ) -> None:
        """`load` reads the settings of the home anew."""
        self._home = home
        self._environ = environ
        self._settings = settings
        self._load = load
        self._seen = _signature(home, settings)
        self._state: DaemonState | None = None
        self._options: LastingAnswers | None = None
        self._notifier: Notifier | None = None
        self._lock = asyncio.Lock()
        self._tasks = TaskSet()
        # Changed tools that somebody was told of, and when: each call of one tells of it again.
        self._told: dict[tuple[str, str], tuple[str, float]] = {}

    def begin(self, state: "DaemonState") -> None:
        """Tell of the questions of this daemon."""
        self._state = state

    @property
    def statuses(self) -> "tuple[NoticeStatus, ...]":
        """How it goes, way by way, as far as there was something to tell."""
        return () if self._notifier is None else self._notifier.statuses

    def hears(self, kind: type[Event]) -> bool:
        return kind in _HEARD

    def __call__(self, event: Event, /) -> None:
        if isinstance(event, ApprovalAsked):
            self._tasks.start(self._tell(event))
        elif isinstance(event, DefinitionHeld):
            if self._is_new(event):
                self._tasks.start(self._tell(event))
        elif isinstance(event, ApprovalDecided) and self._notifier is not None:
            self._notifier.withdraw(event.approval_id)

    async def aclose(self) -> None:
        """Tell nothing more."""
        await self._tasks.aclose()
        if self._notifier is not None:
            await self._notifier.aclose()

    def _is_new(self, event: DefinitionHeld) -> bool:
        now = time.monotonic()
        told, at = self._told.get((event.server, event.tool), ("", -_AGAIN_S))
        if event.approval_id == told or now - at < _AGAIN_S:
            return False
        self._told[event.server, event.tool] = (event.approval_id, now)
        return True

    async def _tell(self, event: ApprovalAsked | DefinitionHeld) -> None:
        state = self._state
        if state is None:
            return
        wanted = event.approval_id
        try:
            async with self._lock:
                notifier = await self._current(state)
            if notifier is None:
                return
            approvals = state.shared_children.guard(state.places.home).approvals
            if isinstance(event, DefinitionHeld):
                held = [each for each in await approvals.held() if each.id == wanted]
                for each in held:
                    notifier.tell_change(each)
            elif (posted := await approvals.find(wanted)) and posted.state == "pending":
                notifier.tell(posted.question)
        except Fault:
            # Who asked is told of it, too.
            write_failure()

    async def _current(self, state: "DaemonState") -> "Notifier | None":
        """What tells of questions by the settings as they are now."""
        if await asyncio.to_thread(_signature, self._home, self._settings) != self._seen:
            settings = await asyncio.to_thread(self._load)
            # What cannot be read leaves the ways as they were.
            self._settings = settings or self._settings
            self._seen = await asyncio.to_thread(_signature, self._home, self._settings)
        options = None if self._settings is None else self._settings.approvals
        if options == self._options:
            return self._notifier
        self._options = options
        if self._notifier is not None:
            await self._notifier.aclose()
        self._notifier = None if options is None else self._made(state, options)
        return self._notifier

    def _made(self, state: "DaemonState", options: "LastingAnswers") -> "Notifier | None":
        if not options.notify:
            return None
        # Few homes name a way, and it takes HTTP.
        from switchboard.pocket.notices.courier import Courier  # noqa: PLC0415
        from switchboard.pocket.notices.notifier import Notifier  # noqa: PLC0415
        from switchboard.pocket.notices.senders import sender_for  # noqa: PLC0415
        from switchboard.pocket.notices.ways import Way, read_way  # noqa: PLC0415
        from switchboard.pocket.serving_note import url_for_phones  # noqa: PLC0415

        shared = state.shared_children

        async def refuse(token: str) -> None:
            # It may have been decided meanwhile, and there is nobody to be told.
            from switchboard.daemon.control import DaemonControl  # noqa: PLC0415

            await DaemonControl(state, 0).refuse_by(token)

        def courier(way: Way) -> Courier:
            sender = sender_for(way, self._environ, shared.reaper, refuse)
            return Courier(way, sender, shared.events.emit)

        return Notifier(
            [read_way(each, number) for number, each in enumerate(options.notify, 1)],
            courier,
            state.answer_tokens,
            lambda: url_for_phones(state.places.home),
            with_detail=options.detail,
        )


def _signature(home: str, settings: "Settings | None") -> Signature:
    """What tells the files of the home from what they were."""
    found: list[tuple[str, int, int]] = []
    for path in settings.watched if settings is not None else (f"{home}/config.toml",):
        try:
            seen = os.stat(path)
        except OSError:
            continue
        found.append((path, seen.st_mtime_ns, seen.st_size))
    return tuple(found)
