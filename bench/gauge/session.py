"""One run of the bench: its folder, its programs, what it says while it works."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path

from .gateway import Gateway
from .link import Json
from .processes import Programs
from .row import Row


class Session:
    """Hands out gateways; a row that fails is named, with the reason, and left out."""

    def __init__(self, folder: Path, programs: Programs) -> None:
        self.failures: dict[str, str] = {}
        self._folder = folder
        self._programs = programs
        self._began = time.perf_counter()

    def say(self, text: str) -> None:
        seconds = time.perf_counter() - self._began
        print(f"{seconds:6.1f} s  {text}", file=sys.stderr, flush=True)

    def gateway(self, row: Row, children: Mapping[str, Json], phase: str) -> Gateway:
        """A gateway that is not started yet. At most as many children as the row can have."""
        few = dict(list(children.items())[: row.most_children])
        folder = self._folder / phase / row.name.replace(" ", "-").replace("/", "-")
        return Gateway(row, few, folder=folder, programs=self._programs)

    def failed(self, row: Row, phase: str, why: object) -> None:
        self.failures.setdefault(f"{row.name}, {phase}", str(why))
        self.say(f"{row.name} fails in {phase}: {why}")
