"""A client's streams, read into a ledger and written from it. See `ipc.ledger`."""

import asyncio
import os
from collections.abc import Callable, Iterable

from switchboard.ipc.ledger import Ledger
from switchboard.wire.pipes import StreamPipe
from switchkit.platform import Unknown
from switchkit.platform.streams import unread_bytes, widen_pipe

# How often it is looked whether a client has read on that has much to read.
_LOOK_AGAIN_S = 0.005
_LOW_WATER = 4


class KeptStreams:
    """Both streams of a client, and the ledger of them."""

    def __init__(
        self,
        pipe: StreamPipe,
        ledger: Ledger,
        reading: int,
        writing: int,
        checkpoint: Callable[[], bytes],
    ) -> None:
        """The streams and the ledger are closed with it."""
        self._pipe = pipe
        self._ledger = ledger
        self._checkpoint = checkpoint
        self._outlet = _Outlet(pipe, ledger, writing)
        self._inlet = _Inlet(pipe, ledger, reading, self._turned)
        self._writing = writing
        self._looking: asyncio.TimerHandle | None = None

    def open(self, begin: Callable[[], None]) -> None:
        """Let it begin, with what was read and not heard yet, and read on."""
        heard = self._ledger.heard()
        self._outlet.open()
        begin()
        self._inlet.open()
        if heard:
            self._pipe.data_received(heard)

    def detach(self) -> None:
        """Leave both streams as they are to whoever comes next."""
        self._pipe.flush()
        self._pipe.intake.close(is_trusted=True)
        self._outlet.abort()
        self._inlet.close()

    def close(self) -> None:
        """Close what is still open."""
        if self._looking is not None:
            self._looking.cancel()
        self._outlet.abort()
        self._inlet.close()
        self._ledger.close()

    def _turned(self) -> bool:
        """Begin the ledger anew if that is due; whether there is room in it."""
        # What was answered is in the ledger, so that what is open is known.
        self._pipe.flush()
        is_read = not self._ledger.unsent and _is_read(self._writing)
        if self._ledger.has_room and not is_read:
            self._ledger.put_off()
            return True
        self._ledger.turn(self._checkpoint(), self._pipe.held(), is_read=is_read)
        if self._ledger.has_room:
            return True
        # It asks and does not read. When it has read all, there is room again.
        self._inlet.hold()
        self._looking = asyncio.get_running_loop().call_later(_LOOK_AGAIN_S, self._look)
        return False

    def _look(self) -> None:
        self._looking = None
        if not self._inlet.is_closing() and self._turned():
            self._inlet.release()


class _Inlet:
    """The reading side, as a pipe knows it."""

    def __init__(
        self, pipe: StreamPipe, ledger: Ledger, number: int, turned: Callable[[], bool]
    ) -> None:
        self._pipe = pipe
        self._number = number
        self._ledger = ledger
        self._turned = turned
        self._loop = asyncio.get_running_loop()
        self._is_closed = False
        self._is_paused = self._is_held = False

    def open(self) -> None:
        os.set_blocking(self._number, False)
        self._pipe.connection_made(self)  # type: ignore[arg-type]
        self._loop.add_reader(self._number, self._read)

    def _read(self) -> None:
        if self._ledger.is_due and not self._turned():
            return
        try:
            data = self._ledger.read(self._number)
        except BlockingIOError:
            return
        except OSError as error:
            self._end(error)
            return
        if data:
            self._pipe.data_received(data)
        else:
            self._loop.remove_reader(self._number)
            self._pipe.eof_received()

    def hold(self) -> None:
        self._is_held = True
        self._loop.remove_reader(self._number)

    def release(self) -> None:
        self._is_held = False
        self._watch()

    def pause_reading(self) -> None:
        self._is_paused = True
        if not self._is_closed:
            self._loop.remove_reader(self._number)

    def resume_reading(self) -> None:
        self._is_paused = False
        self._watch()

    def _watch(self) -> None:
        if not (self._is_closed or self._is_paused or self._is_held):
            self._loop.add_reader(self._number, self._read)

    def is_closing(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        self._end(None)

    def _end(self, error: OSError | None) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._loop.remove_reader(self._number)
        os.close(self._number)
        self._loop.call_soon(self._pipe.connection_lost, error)


class _Outlet:
    """The writing side, as a pipe knows it."""

    def __init__(self, pipe: StreamPipe, ledger: Ledger, number: int) -> None:
        self._pipe = pipe
        self._ledger = ledger
        self._number = number
        self._loop = asyncio.get_running_loop()
        self._high = 0
        self._is_closing = self._is_closed = False
        self._is_waiting = self._is_pressed = False

    def open(self) -> None:
        os.set_blocking(self._number, False)
        # Each message takes a place in the pipe, however small it is.
        widen_pipe(self._number)
        self._pipe.write_to(self)  # type: ignore[arg-type]
        self._pipe.goes_out_by(self._number)

    def set_write_buffer_limits(self, high: int) -> None:
        self._high = high

    def get_write_buffer_size(self) -> int:
        return self._ledger.unsent

    def write(self, data: bytes) -> None:
        self.writelines((data,))

    def writelines(self, parts: "Iterable[bytes | memoryview]") -> None:
        if self._is_closing:
            return
        self._ledger.add(parts)
        if not self._is_waiting:
            self._send()
        elif not self._is_pressed and self._ledger.unsent > self._high:
            self._is_pressed = True
            self._pipe.pause_writing()

    def _send(self) -> None:
        ledger = self._ledger
        try:
            if not ledger.send(self._number) and not self._is_waiting:
                return
        except BlockingIOError:
            pass
        except OSError as error:
            self._end(error)
            return
        self._look(ledger)

    def _look(self, ledger: Ledger) -> None:
        """Wait until the stream takes more, for as long as there is more."""
        if ledger.unsent:
            if not self._is_waiting:
                self._is_waiting = True
                self._loop.add_writer(self._number, self._send)
        elif self._is_waiting:
            self._is_waiting = False
            self._loop.remove_writer(self._number)
        if not self._is_pressed and ledger.unsent > self._high:
            self._is_pressed = True
            self._pipe.pause_writing()
        elif self._is_pressed and ledger.unsent <= self._high // _LOW_WATER:
            self._is_pressed = False
            self._pipe.resume_writing()
        if self._is_closing and not ledger.unsent:
            self._end(None)

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        """Close when all has left."""
        self._is_closing = True
        if not self._ledger.unsent:
            self._end(None)

    def abort(self) -> None:
        self._end(None)

    def _end(self, error: OSError | None) -> None:
        if self._is_closed:
            return
        self._pipe.intake.close()
        self._is_closing = self._is_closed = True
        if self._is_waiting:
            self._loop.remove_writer(self._number)
        os.close(self._number)
        self._loop.call_soon(self._pipe.connection_lost, error)


def _is_read(number: int) -> bool:
    try:
        return unread_bytes(number) == 0
    except Unknown:
        # Nothing is sent by reference there.
        return True
