"""One process from its start to its end: fed, read, and ended with everything it started.

It does not know what the process is for, nor who is told of it.
"""

import asyncio
from typing import cast

from msgspec import Struct
from msgspec.structs import replace

from switchboard.core.faults import Fault
from switchboard.core.privacy.secrets import KnownSecrets
from switchboard.procs.output import Output, Tell
from switchboard.procs.spawn import Running, SpawnSpec, spawn
from switchboard.procs.stop import stop
from switchkit.reaper_client import Reaper

# Its streams end with it; a moment is enough for what is still in them.
_LAST_WORDS_S = 1.0


class ProcessEnd(Struct, frozen=True, kw_only=True):
    """How a process ended, and what can be told of what it said."""

    # Nothing while it is not known.
    status: int | None
    stdout: str
    stderr: str
    bytes_stdout: int
    bytes_stderr: int
    # How many known secrets were taken out.
    redactions: int
    # Protected files that are there since it began.
    appeared: tuple[str, ...]
    # What its sandbox denied it, if that is why it ended.
    denial: Fault | None = None


class ProcessRun:
    """A process that runs once. Its output is bounded, and told without known secrets."""

    def __init__(
        self,
        spec: SpawnSpec,
        secrets: KnownSecrets,
        *,
        stdin: bytes = b"",
        # Told of each stream while it runs.
        stdout: Tell | None = None,
        stderr: Tell | None = None,
    ) -> None:
        self._spec = spec
        self._stdout = Output(secrets, stdout)
        self._stderr = Output(secrets, stderr)
        self._input = _Input(stdin)
        self._running: Running | None = None
        self._appeared: tuple[str, ...] = ()

    async def to_end(self, *, reaper: Reaper, start_s: float) -> ProcessEnd:
        """Run it. Raises a fault when it cannot start.

        Whoever cancels this ends the process; what came of it until then is in `so_far`.
        """
        running = await spawn(self._spec, reaper=reaper, timeout_s=start_s, errors=self._stderr)
        self._running = running
        try:
            await self._connect_whole(running)
            await asyncio.shield(running.exited)
            await running.kill_rest()
            await self._last_words()
        except BaseException:
            await self._end(running)
            raise
        finally:
            self._stdout.finish()
            self._stderr.finish()
            self._input.close()
            self._appeared = running.appeared()
        return replace(self.so_far(), denial=running.denial())

    def so_far(self) -> ProcessEnd:
        """What is known of it now. Of one whose walls have fallen no word is told."""
        stdout, hidden = self._stdout.kept()
        stderr, more = self._stderr.kept()
        running = self._running
        if running is not None and not running.stands():
            stdout = stderr = ""
        has_ended = running is not None and running.exited.done()
        return ProcessEnd(
            status=running.exited.result() if running is not None and has_ended else None,
            stdout=stdout,
            stderr=stderr,
            bytes_stdout=self._stdout.seen_bytes,
            bytes_stderr=self._stderr.seen_bytes,
            redactions=hidden + more,
            appeared=self._appeared,
        )

    async def _connect_whole(self, running: Running) -> None:
        """Connect whatever happens: a process whose pipes are closed cannot say goodbye."""
        connecting = asyncio.ensure_future(self._connect(running))
        try:
            await asyncio.shield(connecting)
        except asyncio.CancelledError:
            await connecting
            raise

    async def _connect(self, running: Running) -> None:
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(lambda: self._stdout, running.stdout)
        await loop.connect_write_pipe(lambda: self._input, running.stdin)

    async def _last_words(self) -> None:
        await asyncio.wait({self._stdout.ended, self._stderr.ended}, timeout=_LAST_WORDS_S)

    async def _end(self, running: Running) -> None:
        """Ask it to end, then make it; what it prints meanwhile is read."""
        self._stdout.release()
        self._stderr.release()
        # Its input was closed long ago, so there is nothing to wait for before it is asked.
        await stop(running, close_input=self._input.close, close_grace_s=0)
        await self._last_words()


class _Input(asyncio.BaseProtocol):
    """Writes what the process is given and ends the stream; who does not read it need not."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._transport.write(self._data)
        # Not at once: the loop is about to watch this pipe. It would remember the number of a
        # descriptor that is closed by then, and be deaf to the next one that gets it.
        asyncio.get_running_loop().call_soon(self._transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._transport = None

    def close(self) -> None:
        """Give up on what was not read."""
        if self._transport is not None:
            self._transport.abort()
