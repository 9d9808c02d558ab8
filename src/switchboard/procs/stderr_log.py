"""What servers print on stderr, kept for the person who looks after them.

Bounded by lines' lengths, by bytes and by the number of logs. Known secrets are taken out before
anything is kept.
"""

import asyncio
import codecs
import time
from collections import deque
from collections.abc import Callable, Hashable

from switchboard.core.privacy.secrets import SecretBook
from switchboard.core.privacy.stream_redaction import StreamRedactor
from switchboard.core.text.log_lines import LogLine
from switchboard.procs.tail import Tail

_MOST_CHARS = 256 * 1024
_MOST_LINES = 2_000
_LONGEST_LINE = 4_000
_MOST_LOGS = 200
_CUT = " … (cut)"


class StderrLog:
    """The end of what the processes of one server have printed, one after the other."""

    def __init__(self) -> None:
        self._lines: deque[LogLine] = deque()
        self._chars = 0
        self.last = 0
        self._grown = asyncio.Event()

    def add(self, pid: int, text: str, *, workspace: str = "", is_ours: bool = False) -> None:
        if len(text) > _LONGEST_LINE:
            text = text[:_LONGEST_LINE] + _CUT
        self.last += 1
        line = LogLine(
            number=self.last,
            at=time.time(),
            pid=pid,
            text=text,
            workspace=workspace,
            is_ours=is_ours,
        )
        self._lines.append(line)
        self._chars += len(text)
        while self._chars > _MOST_CHARS or len(self._lines) > _MOST_LINES:
            self._chars -= len(self._lines.popleft().text)
        self._grown.set()
        self._grown = asyncio.Event()

    def after(self, number: int) -> tuple[LogLine, ...]:
        """The lines that came after this one, as far as they are kept."""
        return tuple(line for line in self._lines if line.number > number)

    async def grown(self, number: int, wait_s: float) -> None:
        """Wait until there is a line after this one, so long at most."""
        try:
            async with asyncio.timeout(wait_s):
                while self.last <= number:
                    await self._grown.wait()
        except TimeoutError:
            return


class StderrLogs:
    """The logs of servers, by whose they are. The one that was used longest ago goes first."""

    def __init__(self) -> None:
        self._logs: dict[Hashable, StderrLog] = {}

    def of(self, key: Hashable) -> StderrLog:
        log = self._logs.pop(key, None) or StderrLog()
        self._logs[key] = log
        while len(self._logs) > _MOST_LOGS:
            del self._logs[next(iter(self._logs))]
        return log

    def find(self, key: Hashable) -> StderrLog | None:
        return self._logs.get(key)


class LoggedTail(Tail):
    """Reads the stderr of one process into its log."""

    def __init__(
        self, log: StderrLog, book: SecretBook, works_for: Callable[[], str] = lambda: ""
    ) -> None:
        """`works_for` gives the workspace that what is printed now is about."""
        super().__init__()
        self._works_for = works_for
        self._log = log
        self._book = book
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._redactor = StreamRedactor(book.known)
        self._rest = ""
        # Known once it has started.
        self.pid = 0

    def started(self, pid: int) -> None:
        self.pid = pid
        self._log.add(pid, f"process {pid} has started", is_ours=True)

    def ended(self, status: int) -> None:
        how = f"with status {status}" if status >= 0 else f"by signal {-status}"
        self._log.add(self.pid, f"process {self.pid} has ended {how}", is_ours=True)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._keep(self._redactor.feed(self._decode(data)))

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._keep(self._redactor.feed(self._decode(b"", True)) + self._redactor.flush() + "\n")

    def _keep(self, text: str) -> None:
        *lines, self._rest = (self._rest + text).split("\n")
        if len(self._rest) > _LONGEST_LINE:
            lines, self._rest = [*lines, self._rest], ""
        for line in lines:
            if line := line.rstrip("\r"):
                # What was looked up since the process started is out, too.
                self._log.add(self.pid, self._book(line), workspace=self._works_for())
