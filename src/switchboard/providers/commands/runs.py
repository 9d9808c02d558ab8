"""One process for one call: started, fed, read, and ended with everything it started."""

import asyncio
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct

from switchboard.core.calls import Call, Figures, Interrupted
from switchboard.core.events import ProtectedFilesAppeared
from switchboard.core.excerpts import client_excerpt
from switchboard.core.faults import Fault
from switchboard.core.ports import Events
from switchboard.core.redaction import redacted_text
from switchboard.core.secrets import KnownSecrets
from switchboard.procs.spawn import Running, SpawnSpec, Wrap, spawn
from switchboard.procs.stop import stop
from switchboard.providers.commands.outputs import Output
from switchboard.providers.commands.plans import Plan
from switchboard.providers.commands.telling import End, Teller
from switchkit.reaper_client import Reaper

# Its streams end with it; a moment is enough for what is still in them.
_LAST_WORDS_S = 1.0


class Ended(Struct, frozen=True, kw_only=True):
    """How a process ended, and what it said."""

    status: int
    stdout: str
    stderr: str
    figures: Figures


class Run:
    """The process of one call."""

    def __init__(self, plan: Plan, call: Call, workspace: str, events: Events) -> None:
        self._plan = plan
        self._call = call
        self._workspace = workspace
        self._events = events
        self._appeared: tuple[str, ...] = ()
        self._secrets = KnownSecrets(plan.secrets)
        self._teller = None
        if call.channel is not None:
            self._teller = Teller(call.channel, tool=call.tool.name, call_id=call.id)
        streams = self._teller if plan.entry.streaming else None
        self._stdout = Output(self._secrets, None if streams is None else streams.stdout)
        self._stderr = Output(self._secrets, None if streams is None else streams.stderr)
        self._input = _Input(plan.stdin)

    async def to_end(self, *, wrap: Wrap, reaper: Reaper, start_s: float) -> Ended:
        """Run it. Raises a fault when it cannot start or its sandbox stopped it."""
        plan = self._plan
        spec = SpawnSpec(argv=plan.argv, cwd=plan.place.cwd, env=plan.place.env, wrap=wrap)
        try:
            running = await spawn(spec, reaper=reaper, timeout_s=start_s, errors=self._stderr)
        except Fault as fault:
            raise self._told(fault) from None
        try:
            await self._connected(running)
            status = await asyncio.shield(running.exited)
            await running.kill_rest()
            await self._last_words()
            self._look_back(running)
        except asyncio.CancelledError:
            await self._end(running)
            raise Interrupted(self._so_far(running)) from None
        except BaseException:
            await self._end(running)
            raise
        finally:
            self._close()
        denied = running.denial()
        self._tell_end("completed", status)
        ended = self._ended(status)
        if denied is not None:
            raise self._told(denied, ended.figures)
        return ended

    async def _connected(self, running: Running) -> None:
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
        self._look_back(running)

    def _look_back(self, running: Running) -> None:
        self._appeared = running.appeared()
        if self._appeared:
            self._events.emit(
                ProtectedFilesAppeared(
                    source=self._plan.entry.name, names=self._appeared, call_id=self._call.id
                )
            )

    def _so_far(self, running: Running) -> Mapping[str, Any]:
        """What can be told of a process that was ended."""
        self._stdout.finish()
        self._stderr.finish()
        status = running.exited.result() if running.exited.done() else None
        self._tell_end("timed-out" if self._call.clock.has_rung else "cancelled", status)
        said = {"stdout": self._stdout.kept()[0], "stderr": self._stderr.kept()[0]}
        return {
            **{name: self._excerpt(text) for name, text in said.items() if text.strip()},
            "bytes_stdout": self._stdout.seen_bytes,
            "bytes_stderr": self._stderr.seen_bytes,
            **self._left(),
        }

    def _tell_end(self, how: End, status: int | None) -> None:
        self._stdout.finish()
        self._stderr.finish()
        # A call that is cancelled gets no answer, so this is the only word of it.
        if self._teller is not None and (self._plan.entry.streaming or how == "cancelled"):
            self._teller.end(how, status)

    def _ended(self, status: int) -> Ended:
        stdout, hidden = self._stdout.kept()
        stderr, more = self._stderr.kept()
        figures = Figures(
            exit_status=status,
            bytes_stdout=self._stdout.seen_bytes,
            bytes_stderr=self._stderr.seen_bytes,
            redactions=hidden + more,
            appeared=self._appeared,
        )
        return Ended(status=status, stdout=stdout, stderr=stderr, figures=figures)

    def _told(self, fault: Fault, figures: Figures | None = None) -> Fault:
        """A fault with what the process said, and without secrets and paths."""
        details: dict[str, Any] = dict(fault.details)
        if figures is not None:
            details |= {
                "exit_status": figures.exit_status,
                "bytes_stdout": figures.bytes_stdout,
                "bytes_stderr": figures.bytes_stderr,
            }
        details |= self._left()
        if said := self._excerpt(self._stderr.kept()[0]):
            details["stderr"] = said
        return Fault(
            fault.code,
            fault.reason,
            f"`{self._call.tool.name}`: {self._secrets(fault.message)}",
            hint=fault.hint,
            details=details,
            private=redacted_text(self._secrets(fault.private)),
        )

    def _left(self) -> dict[str, Any]:
        return {"appeared": list(self._appeared)} if self._appeared else {}

    def _excerpt(self, text: str) -> str:
        return client_excerpt(text.strip(), self._secrets, workspace=self._workspace)

    def _close(self) -> None:
        self._stdout.finish()
        self._stderr.finish()
        self._input.close()


class _Input(asyncio.BaseProtocol):
    """Writes the arguments and ends the stream; who does not read them need not."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.WriteTransport", transport)
        self._transport.write(self._data)
        self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self._transport = None

    def close(self) -> None:
        """Give up on what was not read."""
        if self._transport is not None:
            self._transport.abort()
