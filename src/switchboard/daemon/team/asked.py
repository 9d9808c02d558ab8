"""Who asks a process of a team to stop, and who asks again."""

import asyncio
import signal


class Asked:
    """Signals that ask us to stop: the first one in order, the second at once."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        # With the number of the signal.
        self.to_stop: asyncio.Future[int] = loop.create_future()
        self.to_hurry: asyncio.Future[int] = loop.create_future()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._hear, number)

    def _hear(self, number: int) -> None:
        waiting = [each for each in (self.to_stop, self.to_hurry) if not each.done()]
        if waiting:
            waiting[0].set_result(number)
