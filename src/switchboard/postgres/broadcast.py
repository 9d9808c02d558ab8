"""Telling every process of a team that something is not what it was.

What is told is small words, and telling one twice does no harm. So many of them become few
notices, and where something may have been missed, everything is taken for changed.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from switchboard.postgres.address import DatabaseAddress
from switchboard.postgres.database import NO_TABLES, PostgresDatabase
from switchboard.postgres.notices import Notices

# What one is about, and the rest as the kind of it wants.
News = tuple[str, ...]

# A notice of PostgreSQL has less than 8,000 bytes.
_MOST_BYTES = 7_900
# What comes within this time after a notice goes into the next.
_TOGETHER_S = 0.1
# More than that is everything.
_MOST_WAITING = 1_000
_RETRY_S = 0.5
_GOODBYE_S = 2.0


class _Notice(Struct, frozen=True, array_like=True):
    sender: str
    # Nothing: everything.
    news: list[News]


_read = msgspec.json.Decoder(_Notice).decode
_encode = msgspec.json.Encoder().encode


class Broadcast:
    """One process among those who tell each other. It never hears what it told itself."""

    def __init__(
        self,
        address: DatabaseAddress,
        channel: str,
        sender: str,
        hear: Callable[[Sequence[News] | None], None],
        *,
        failure: Callable[[str], Exception],
    ) -> None:
        """Hear from now on. Raises what `failure` makes of the words of an error.

        `hear` is called on a thread; with nothing when anything may have changed.
        """
        self._address = address
        self._channel = channel
        self._sender = sender
        self._hear = hear
        self._failure = failure
        # In the order of their coming.
        self._waiting: dict[News, None] = {}
        self._is_everything = False
        self._is_closing = False
        self._turn = threading.Condition()
        self._notices = Notices(address, channel, self._take, failure=failure)
        self._thread = threading.Thread(target=self._run, name=f"tell-{channel}", daemon=True)
        self._thread.start()

    def tell(self, news: News) -> None:
        """Have it told to all others, soon, and as soon as the database is there."""
        with self._turn:
            self._waiting[news] = None
            if len(self._waiting) > _MOST_WAITING:
                self._is_everything = True
                self._waiting.clear()
            self._turn.notify()

    def close(self) -> None:
        """Tell what is left, if that is a matter of a moment, and hear nothing more."""
        with self._turn:
            self._is_closing = True
            self._turn.notify()
        self._thread.join(_GOODBYE_S)
        self._notices.close()

    def _take(self, payload: str) -> None:
        try:
            notice = _read(payload)
        except msgspec.MsgspecError:
            # A connection was lost, or somebody says what we do not know.
            self._hear(None)
            return
        if notice.sender != self._sender:
            self._hear(notice.news or None)

    def _run(self) -> None:
        database: PostgresDatabase | None = None
        while True:
            with self._turn:
                self._turn.wait_for(
                    lambda: self._waiting or self._is_everything or self._is_closing
                )
                is_last = self._is_closing
                waiting, self._waiting = self._waiting, {}
                is_everything, self._is_everything = self._is_everything, False
            pause_s = _TOGETHER_S
            try:
                if waiting or is_everything:
                    if database is None:
                        database = PostgresDatabase(self._address, NO_TABLES, failure=self._failure)
                    self._send(database, [] if is_everything else list(waiting))
            except Exception:  # noqa: BLE001 - whatever `failure` makes; it is tried again
                pause_s = _RETRY_S
                with self._turn:
                    self._waiting = {**waiting, **self._waiting}
                    self._is_everything = self._is_everything or is_everything
            if is_last:
                break
            with self._turn:
                self._turn.wait_for(lambda: self._is_closing, pause_s)
        if database is not None:
            with contextlib.suppress(Exception):
                database.close()

    def _send(self, database: PostgresDatabase, news: list[News]) -> None:
        with database.transaction():
            for notice in _notices(self._sender, news):
                database.rows("SELECT pg_notify(?, ?)", self._channel, notice)


def _notices(sender: str, news: list[News]) -> list[str]:
    """The fewest notices that say it, or one that says everything."""
    everything = _encode(_Notice(sender, [])).decode()
    room = _MOST_BYTES - len(everything)
    found: list[str] = []
    some: list[News] = []
    used = 0
    for each in news:
        size = len(_encode(each)) + 1
        if size > room:
            return [everything]
        if used + size > room:
            found.append(_encode(_Notice(sender, some)).decode())
            some, used = [], 0
        some.append(each)
        used += size
    return [*found, _encode(_Notice(sender, some)).decode()] if some else found or [everything]
