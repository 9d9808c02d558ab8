"""How far the start of a server has come, for whoever waits for it."""

import time

from switchboard.children.schema import ServerEntry
from switchboard.children.starting.runners import fetches_packages, name_of


class StartStage:
    """Nothing while no start is under way."""

    def __init__(self, entry: ServerEntry) -> None:
        self._entry = entry
        self._began = 0.0
        # What is waited for.
        self._doing = ""

    def open(self) -> None:
        """It is about to be started, or reached."""
        self._began = self._began or time.monotonic()
        self._doing = "starting" if self._entry.transport == "stdio" else "connecting"

    def greet(self) -> None:
        """It is there, and was greeted. A package runner first gets what it is to run."""
        command = self._entry.command
        fetches = self._entry.transport == "stdio" and fetches_packages(command)
        self._doing = (
            f"started; {name_of(command)} downloads what is missing"
            if fetches
            else "started; it has not answered the greeting yet"
        )

    def over(self) -> None:
        self._began, self._doing = 0.0, ""

    def words(self) -> tuple[str, float] | None:
        """What goes on, and for how many seconds the start has been going on."""
        if not self._doing:
            return None
        return f"{self._entry.name}: {self._doing}", time.monotonic() - self._began
