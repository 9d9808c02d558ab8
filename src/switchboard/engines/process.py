"""The process of an engine: lines of JSON in both directions, and an end that leaves nothing."""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any, cast

import msgspec

from switchboard.core.faults import Fault, FaultCode
from switchboard.engines.surroundings import DEPTH
from switchboard.procs.kept import kept
from switchboard.procs.spawn import Running, SpawnSpec, spawn
from switchboard.procs.stop import stop
from switchkit.reaper_client import Reaper

# Engines put whole outputs of commands into one line.
LONGEST_LINE = 16 * 1024 * 1024
_START_S = 30.0
# How long an engine may take to clean up by itself.
_GRACE_S = 3.0
_NOTHING: Mapping[str, str] = {}


class EngineProcess:
    """One process that speaks JSON, a value a line. It does not know what the values mean."""

    def __init__(self, running: Running, reader: asyncio.StreamReader) -> None:
        self._running = running
        self._reader = reader
        self._writer: asyncio.StreamWriter | None = None
        # Should somebody kill its keeper, the engine ends as well.
        self._ending = asyncio.ensure_future(self._end_with_keeper())

    async def _end_with_keeper(self) -> None:
        await asyncio.shield(self._running.exited)
        await self._running.kill_rest()

    @classmethod
    async def start(
        cls,
        argv: tuple[str, ...],
        *,
        cwd: str,
        env: Mapping[str, str],
        reaper: Reaper,
        handed: Mapping[str, str] = _NOTHING,
    ) -> "EngineProcess":
        """Start it. Raises a fault.

        What is `handed` it reads from open files, of which these variables give the numbers.
        """
        # If its keeper is killed, the mark still leads to what it started.
        name, value = reaper.mark
        wrap = partial(kept, shown=(DEPTH, name), handed=handed, silence_s=reaper.silence_s)
        spec = SpawnSpec(argv=argv, cwd=cwd, env={**env, name: value}, wrap=wrap)
        running = await spawn(spec, reaper=reaper, timeout_s=_START_S)
        try:
            loop = asyncio.get_running_loop()
            reader = asyncio.StreamReader(limit=LONGEST_LINE)
            protocol = asyncio.StreamReaderProtocol(reader)
            await loop.connect_read_pipe(lambda: protocol, running.stdout)
            engine = cls(running, reader)
            transport, flow = await loop.connect_write_pipe(
                asyncio.streams.FlowControlMixin, running.stdin
            )
            engine._writer = asyncio.StreamWriter(transport, flow, None, loop)
        except BaseException:
            await running.kill()
            await running.kill_rest()
            raise
        return engine

    @property
    def pid(self) -> int:
        """The process that everything else of the engine came of."""
        return self._running.pid

    @property
    def last_words(self) -> str:
        """The end of its stderr, for the log."""
        return self._running.errors.text()

    async def send(self, value: Any) -> None:
        """Write a line. One that the process does not read any more is lost, as its answer says."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(msgspec.json.encode(value) + b"\n")
            try:
                await self._writer.drain()
            except ConnectionError:
                return

    async def receive(self) -> dict[str, Any] | None:
        """The next line that is a JSON object; nothing when there are no more."""
        while True:
            try:
                line = await self._reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as rest:
                line = rest.partial
                if not line:
                    return None
            except asyncio.LimitOverrunError:
                raise Fault(
                    FaultCode.INTERNAL,
                    "engine-line-too-long",
                    "the engine wrote a line that is too long to be read",
                ) from None
            try:
                value = msgspec.json.decode(line)
            except msgspec.DecodeError:
                # Programs print what they like; what is no JSON was not meant for us.
                continue
            if isinstance(value, dict):
                return cast("dict[str, Any]", value)

    async def end(self, *, first: int = 0) -> int:
        """End it with everything it started, politely first. Gives its status.

        `first` is the signal that makes this engine clean up; without one its input is closed.
        """
        if first:
            await self._running.signal(first)
        return await stop(
            self._running,
            close_input=(lambda: None) if self._writer is None else self._writer.close,
            close_grace_s=_GRACE_S,
        )
