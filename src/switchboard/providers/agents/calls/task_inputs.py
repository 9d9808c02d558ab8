"""What runs ask of clients that were handed a task in place of an answer."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping

from msgspec import Raw

from switchboard.core.channels.channel import Input


class TaskInputs:
    """The open questions of each run. Whoever asks waits; the client finds them in its task."""

    def __init__(self) -> None:
        self._open: dict[str, dict[str, tuple[Input, asyncio.Future[Raw]]]] = {}
        # How often each key was used in a run: in one task no two questions have the same.
        self._used: dict[str, dict[str, int]] = {}
        self._followers: dict[str, list[Callable[[], None]]] = {}

    async def ask(self, run_id: str, wanted: Mapping[str, Input]) -> Mapping[str, Raw]:
        """Wait until the client has answered all of it."""
        loop = asyncio.get_running_loop()
        asked = {self._unused(run_id, key): key for key in wanted}
        futures = {key: loop.create_future() for key in asked}
        questions = self._open.setdefault(run_id, {})
        for key, own in asked.items():
            questions[key] = (wanted[own], futures[key])
        self._tell(run_id)
        try:
            await asyncio.gather(*futures.values())
            return {own: futures[key].result() for key, own in asked.items()}
        finally:
            for key in asked:
                questions.pop(key, None)
            self._tell(run_id)

    def open(self, run_id: str) -> dict[str, Input]:
        """What still needs an answer."""
        questions = self._open.get(run_id, {})
        return {key: each for key, (each, future) in questions.items() if not future.done()}

    def answer(self, run_id: str, responses: Mapping[str, Raw]) -> None:
        """Hand over what the client says. What nobody asks for, or any more, is ignored."""
        questions = self._open.get(run_id, {})
        for key, response in responses.items():
            _, future = questions.get(key, (None, None))
            if future is not None and not future.done():
                future.set_result(response)
        self._tell(run_id)

    def follow(self, run_id: str, tell: Callable[[], None]) -> Callable[[], None]:
        """Tell when a question of a run comes or goes. What is returned ends it."""
        followers = self._followers.setdefault(run_id, [])
        followers.append(tell)

        def forget() -> None:
            with contextlib.suppress(ValueError):
                followers.remove(tell)
            if not followers and self._followers.get(run_id) is followers:
                del self._followers[run_id]

        return forget

    def forget(self, run_id: str) -> None:
        """The run has ended."""
        self._open.pop(run_id, None)
        self._used.pop(run_id, None)

    def _unused(self, run_id: str, key: str) -> str:
        used = self._used.setdefault(run_id, {})
        used[key] = used.get(key, 0) + 1
        return key if used[key] == 1 else f"{key}:{used[key]}"

    def _tell(self, run_id: str) -> None:
        for tell in tuple(self._followers.get(run_id, ())):
            tell()
