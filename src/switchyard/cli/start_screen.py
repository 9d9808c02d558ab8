"""A start as it happens: who waits for whom, and the last line that each service has printed."""

import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from switchkit.cli.columns import fitted
from switchkit.cli.style import columns_of, safe_for_terminals
from switchyard.control.protocol import PhaseEvent
from switchyard.project.home import ProjectPlaces
from switchyard.runtime.log.hidden import hidden_patterns
from switchyard.runtime.log.lines import Sift, tail

_DRAW_S = 0.1
_LAST_BYTES = 4096
_REACHED = ("ready", "completed")


class _Row:
    """One service of the start."""

    def __init__(self, event: PhaseEvent) -> None:
        self.event = event
        self.since = time.monotonic()

    def last_line(self, places: ProjectPlaces) -> str:
        """The last thing that it has printed since."""
        log = self.event.get("log")
        # Noted before anything starts.
        hidden = hidden_patterns(places) if log else None
        if log is None or hidden is None:
            return ""
        start = self.event.get("log_start", 0)
        try:
            found = tail(Path(log), 1, Sift(redact=hidden), start=start, widest=_LAST_BYTES)
        except OSError:
            return ""
        return found[0] if found else ""


class StartScreen:
    """Lines at the end of a terminal, drawn anew in place until the start is over."""

    def __init__(self, stream: TextIO, places: ProjectPlaces) -> None:
        self._stream = stream
        self._places = places
        self._rows: dict[str, _Row] = {}
        self._drawn = 0
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw_often, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        self._over.set()
        self._thread.join()
        with self._lock:
            self._erase()
            self._stream.flush()

    def hear(self, event: PhaseEvent) -> None:
        """Take a change of phase in, and show it."""
        with self._lock:
            known = self._rows.get(event["service"])
            if known is None:
                self._rows[event["service"]] = _Row(event)
            else:
                known.event = event
            self._draw()

    def _draw_often(self) -> None:
        while not self._over.wait(_DRAW_S):
            with self._lock:
                self._draw()

    def _erase(self) -> None:
        if self._drawn:
            self._stream.write(f"\x1b[{self._drawn}F\x1b[J")
        self._drawn = 0

    def _draw(self) -> None:
        if self._over.is_set():
            return
        width = columns_of(self._stream)
        name_width = max((len(name) for name in self._rows), default=0)
        lines = [self._line(name, name_width) for name in self._rows]
        self._erase()
        for line in lines:
            self._stream.write(f"{fitted(safe_for_terminals(line), width - 1)}\n")
        self._drawn = len(lines)
        self._stream.flush()

    def _line(self, name: str, width: int) -> str:
        row = self._rows[name]
        phase = row.event["phase"]
        if phase == "waiting":
            peers = row.event["waits_for"]
            told = ", ".join(self._peer(peer) for peer in peers if not self._is_there(peer))
            return f"{name:{width}}  waits for {told or 'its turn'}"
        took = f"{time.monotonic() - row.since:.0f} s" if phase not in _REACHED else ""
        last = row.last_line(self._places)
        return f"{name:{width}}  {phase:9} {took:>5}  {'| ' if last else ''}{last}"

    def _is_there(self, peer: str) -> bool:
        row = self._rows.get(peer)
        return row is not None and row.event["phase"] in _REACHED

    def _peer(self, peer: str) -> str:
        row = self._rows.get(peer)
        return f"{peer} ({row.event['phase']})" if row else peer
