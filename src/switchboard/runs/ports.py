"""The seams of runs: where they are kept, what makes them last, and what does the work."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from switchboard.runs.run import Run, RunEvent, RunSpec


class RunStore(Protocol):
    """Where runs and their transcripts are kept."""

    async def add(self, run: Run, /) -> Run:
        """Keep a new run; it is on disk when this returns.

        Gives the run that is there already where one with the same request key was not delivered,
        or one with the same repeat key whose client has left or whose process is gone; it belongs
        to the new owner then.
        """
        ...

    async def update(self, run_id: str, /, **changes: Any) -> Run:
        """Change a run. One that has ended changes no more, but for its delivery."""
        ...

    async def get(self, run_id: str, /) -> Run | None:
        """A run by its id."""
        ...

    async def left(self, owner: str, /) -> None:
        """A client is gone: its undelivered runs are for who comes with the same repeat key."""
        ...

    async def listed(self, *, workspace: str = "", last: int = 50) -> list[Run]:
        """The latest runs, newest first."""
        ...

    async def unfinished(self, *, workspace: str = "") -> list[Run]:
        """Every run that has not ended."""
        ...

    async def last_of_thread(self, workspace: str, thread_id: str, /) -> Run | None:
        """The latest run of the conversation that its engine calls so."""
        ...

    async def conversations(self) -> set[str]:
        """The conversations of all runs that are kept, by the runs that they began with.

        There may be others among them: each run is named, and the one that it replies to.
        """
        ...

    async def claim(self, run_id: str, /, *, alone: bool) -> Run | None:
        """Take a run that waits in this process to work; one more attempt is counted.

        Nothing when it does not wait any more, or waits elsewhere. With `alone`, nothing either
        while another run that may write works in the same workspace, in whichever process.
        """
        ...

    async def abandoned(self) -> list[Run]:
        """Runs that have not ended, though the process that was to execute them has."""
        ...

    async def adopt(self, run_id: str, /, **changes: Any) -> Run | None:
        """Change an abandoned run, which from now on is this process's own.

        Nothing when it is not abandoned any more: of several processes one adopts a run.
        """
        ...

    async def want_end(self, run_id: str, /) -> bool:
        """Note for the process that executes a run that it should end. False if it has."""
        ...

    async def unwanted(self) -> list[str]:
        """The runs of this process that should end."""
        ...

    async def append(self, run_id: str, data: str, /) -> RunEvent:
        """Add a line to the transcript. What is too much of it is cut, and marked."""
        ...

    async def transcript(self, run_id: str, /, *, after: int = 0) -> list[RunEvent]:
        """The lines after a number."""
        ...

    async def sweep(self, before: float, /) -> int:
        """Forget runs that ended before a time. Says how many."""
        ...

    async def aclose(self) -> None:
        """Finish what is under way, and let go of every file."""
        ...


class RunEngine(Protocol):
    """Makes runs last: what was submitted is executed, once, whatever becomes of the process."""

    async def submit(self, run: Run, /) -> None:
        """Have a run executed when its turn comes. It is on disk when this returns."""
        ...

    async def cancel(self, run_id: str, /) -> None:
        """End a run, or see that it never starts."""
        ...

    async def aclose(self) -> None:
        """Stop executing. What was under way is for the next process to decide on."""
        ...


# Makes an attempt at a run, to its end. Called by a `RunEngine` when it is the run's turn.
Execute = Callable[[str], Awaitable[None]]


# Entered with the id of an approval while a person is asked: the run's time stands still.
Asking = Callable[[str], AbstractContextManager[None]]


class Worker(Protocol):
    """Does the work of the runs of one workspace: it knows the agents there."""

    @property
    def workspace(self) -> str:
        """The workspace, as `RunSpec.workspace` names it."""
        ...

    def takes(self, spec: RunSpec, /) -> bool:
        """Whether the run is one of its own, and still what it was when it was started."""
        ...

    def work(self, run: Run, asking: "Asking", /) -> "Work":
        """Prepare to work on a run."""
        ...


class Work(Protocol):
    """The work on one run, in one process."""

    @property
    def pid(self) -> int:
        """The process that the work is done by and below; 0 while there is none."""
        ...

    def events(self) -> AsyncIterator[str]:
        """Do the task. Each event is JSON; the last one is a `turn-ended` of `engines.events`."""
        ...

    async def steer(self, text: str, /) -> None:
        """More input while it works."""
        ...

    async def cancel(self) -> None:
        """Interrupt it."""
        ...

    async def aclose(self) -> None:
        """End everything that was started for it."""
        ...


class Runs(Protocol):
    """Every run of a home, as those see them who start, watch and end runs."""

    async def start(self, spec: RunSpec, /) -> Run:
        """Start a run; it is on disk when this returns, whatever becomes of us.

        Gives the run that is there already if the same request was sent again.
        """
        ...

    async def get(self, run_id: str, /) -> Run:
        """A run by its id, or a `not_found` fault."""
        ...

    async def wait(
        self, run_id: str, /, *, within_s: float, tell: Callable[[Run], None] | None = None
    ) -> Run:
        """The run once it has ended, or as it is when the time is up. `tell` hears each change."""
        ...

    async def listed(self, *, workspace: str = "", last: int = 50) -> list[Run]:
        """The latest runs, newest first."""
        ...

    async def unfinished(self, *, workspace: str = "") -> list[Run]:
        """Every run that has not ended."""
        ...

    async def last_of_thread(self, workspace: str, thread_id: str, /) -> Run | None:
        """The latest run of the conversation that its engine calls so."""
        ...

    async def conversations(self) -> set[str]:
        """The conversations of all runs that are kept, by the runs that they began with.

        There may be others among them: each run is named, and the one that it replies to.
        """
        ...

    async def transcript(self, run_id: str, /, *, after: int = 0) -> list[RunEvent]:
        """The lines of its transcript after a number."""
        ...

    async def cancel(self, run_id: str, /) -> Run:
        """End a run and everything that it started."""
        ...

    async def steer(self, run_id: str, text: str, /) -> Run:
        """More input for a run that works. Raises a fault for one that does not."""
        ...

    async def delivered(self, run_id: str, /) -> None:
        """The end of the run reached whoever called."""
        ...

    async def left(self, owner: str, /) -> None:
        """A client is gone. Whoever of its name sends its request again gets the run it missed."""
        ...

    def follow(self, run_id: str, tell: Callable[[Run], None], /) -> Callable[[], None]:
        """Hear of each change of a run; an empty id means all. What is returned ends it."""
        ...

    def attach(self, worker: Worker, /) -> Callable[[], None]:
        """Let a worker take runs, those too that a process before us left. Returned: detach."""
        ...
