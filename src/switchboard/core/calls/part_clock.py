"""The clock of one call among several that a client has made with one request."""

from switchboard.core.calls.clock import Clock


class PartClock(Clock, eq=False, kw_only=True):
    """While a person is asked about one of them, the whole waits for a person too."""

    whole: Clock

    def pause(self) -> None:
        super().pause()
        self.whole.pause()

    def resume(self) -> None:
        super().resume()
        self.whole.resume()
