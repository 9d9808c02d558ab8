"""What is to stay as it is while a server starts."""

from typing import Protocol


class WatchedStart(Protocol):
    """Begun before the last look at what a server is made of."""

    def moved(self) -> bool:
        """Whether something was exchanged since, also if it was put back."""
        ...

    def close(self) -> None:
        """Watch no longer."""
        ...
