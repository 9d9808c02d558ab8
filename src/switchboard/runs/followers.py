"""Who watches runs, and hears of each change."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable

from switchboard.runs.run import Run

Tell = Callable[[Run], None]
Follow = Callable[[str, Tell], Callable[[], None]]


class Followers:
    """Those who watch one run, and those who watch all of them."""

    def __init__(self) -> None:
        self._of: dict[str, list[Tell]] = {}

    def add(self, run_id: str, tell: Tell) -> Callable[[], None]:
        """Let somebody hear of a run; an empty id means all. What is returned ends it."""
        followers = self._of.setdefault(run_id, [])
        followers.append(tell)

        def forget() -> None:
            with contextlib.suppress(ValueError):
                followers.remove(tell)
            if not followers and self._of.get(run_id) is followers:
                del self._of[run_id]

        return forget

    def followed(self) -> frozenset[str]:
        """The runs that somebody watches; an empty id where somebody watches all."""
        return frozenset(self._of)

    def tell(self, run: Run) -> None:
        """Tell everybody who watches this run."""
        for tell in (*self._of.get(run.id, ()), *self._of.get("", ())):
            # Whoever watches must not end what is watched.
            with contextlib.suppress(Exception):
                tell(run)


async def until_ended(
    run_id: str,
    *,
    follow: Follow,
    look: Callable[[str], Awaitable[Run]],
    look_s: Callable[[], float],
    within_s: float,
    tell: Tell | None = None,
) -> Run:
    """The run, once it has ended or the time is up; `tell` hears of each change meanwhile.

    Whoever hears nothing of it for `look_s` seconds looks. Raises what `look` raises.
    """
    news: asyncio.Queue[Run] = asyncio.Queue()
    forget = follow(run_id, news.put_nowait)
    until = time.monotonic() + within_s
    try:
        run = await look(run_id)
        while not run.has_ended and (left := until - time.monotonic()) > 0:
            try:
                async with asyncio.timeout(min(left, look_s())):
                    changed = await news.get()
            except TimeoutError:
                changed = await look(run_id)
            if tell is not None and changed != run:
                tell(changed)
            run = changed
    finally:
        forget()
    return run
