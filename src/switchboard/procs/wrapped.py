"""A command line that starts a program inside another one, and what that start needs."""

from collections.abc import Callable, Mapping
from io import FileIO
from typing import Protocol

from msgspec import Struct

from switchboard.core.faults import Fault
from switchkit.platform.limits import lower_limit


class Vigil(Protocol):
    """Watches over the walls of a process that runs. Closed with its end."""

    @property
    def handle(self) -> int | None:
        """Can be read until somebody looks; without one somebody has to look now and then."""
        ...

    @property
    def bell(self) -> int | None:
        """Can be read too, where there is one, but by the first who tries and never again.

        Also listening anew is trying: whoever listens has to do so from the start to the end.
        """
        ...

    def look(self) -> Fault | None:
        """Why the process cannot go on, if it cannot."""
        ...

    def close(self) -> None: ...


class StartGate(Protocol):
    """Where a process waits, once its walls stand, to be let go."""

    def pass_on(self) -> Vigil | None:
        """Look at the walls, and let the process go on. Raises a fault or OSError."""
        ...

    def close(self) -> None: ...


class Group(Protocol):
    """What a process is counted in, with everything that comes of it."""

    def join(self, pid: int) -> None:
        """Put a process in that has not begun. Raises a fault."""
        ...

    def remove(self) -> None:
        """End whoever is left in it. Blocks for a moment; the second time nothing happens."""
        ...


class Wrapped(Struct, frozen=True, kw_only=True):
    """How one process is really started. Its files serve that start alone, which closes them."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: str
    # What the process inherits, under the numbers that they have here.
    inherits: tuple[FileIO, ...] = ()
    # The process reads this to its end before it does anything, so limits set until then hold.
    orders: bytes = b""
    orders_to: FileIO | None = None
    # What the process and everything it starts may have at most, by the number of the resource.
    limits: Mapping[int, int] = {}
    # In which they are counted together, if they are.
    group: Group | None = None
    # The process and its only child are the walls of what they run, and fall when they are asked
    # to end. A polite request goes past them.
    is_walled: bool = False
    # Where it waits before it runs anything, if it does.
    gate: StartGate | None = None
    # Says whether the walls stopped a program that ended with this status and these last words.
    explain: Callable[[int, str], Fault | None] | None = None

    # Says, once it has ended, which files are there since that would run something outside later.
    appeared: Callable[[], tuple[str, ...]] | None = None
    # Held open by us alone. The process, a keeper, ends all that came of it once this is closed.
    lifeline: FileIO | None = None

    def release(self, pid: int) -> Vigil | None:
        """Limit the process that was started, and let it begin. Raises a fault or OSError."""
        if self.group is not None:
            self.group.join(pid)
        for kind, most in self.limits.items():
            lower_limit(pid, kind, most)
        for file in self.inherits:
            # With a reader of our own a process that died would keep us writing for ever.
            file.close()
        if self.orders_to is not None:
            left = memoryview(self.orders)
            while left:
                left = left[self.orders_to.write(left) or 0 :]
            self.orders_to.close()
        return None if self.gate is None else self.gate.pass_on()

    def let_go(self) -> None:
        """Have the keeper, if it is one, end."""
        if self.lifeline is not None:
            self.lifeline.close()

    def remove_group(self) -> None:
        """End whoever is left of it, once it has ended, where they are counted. Blocks."""
        if self.group is not None:
            self.group.remove()

    def close(self) -> None:
        """Close what only the start needed."""
        for file in (*self.inherits, *(() if self.orders_to is None else (self.orders_to,))):
            file.close()
        if self.gate is not None:
            self.gate.close()
