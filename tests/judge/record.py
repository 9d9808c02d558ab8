"""What clients saw, what was done to the team meanwhile, and where both are counted."""

import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Deed:
    """One thing that a client asked for, from its first request to its last answer."""

    name: str
    kind: str
    era: str
    began: float
    ended: float = 0.0
    # What came back: what was asked for, or the words of a failure.
    answer: str = ""
    is_done: bool = False
    words: str = ""
    # Which gateways answered on the way, and how often its session had to be begun anew.
    gateways: set[str] = field(default_factory=set[str])
    anew: int = 0


@dataclass
class Trouble:
    """Something that was done to a part, from when until it had happened."""

    what: str
    part: str
    at: float
    until: float = float("inf")

    def hit(self, deed: Deed) -> bool:
        """Whether it happened while a deed was under way."""
        return deed.began <= self.until and deed.ended >= self.at


class Record:
    """All of it, as it happens."""

    def __init__(self, ledger: Path, workspace: Path) -> None:
        self._ledger = ledger
        self.workspace = str(workspace)
        self.deeds: list[Deed] = []
        self.troubles: list[Trouble] = []

    def trouble(self, what: str, part: str) -> Trouble:
        made = Trouble(what, part, time.time())
        self.troubles.append(made)
        return made

    def written(self) -> Counter[str]:
        """How often each deed was really done, by the ledger of the tools."""
        text = self._ledger.read_text("utf-8") if self._ledger.exists() else ""
        return Counter(line.split()[0] for line in text.splitlines())

    def of(self, *kinds: str) -> list[Deed]:
        return [deed for deed in self.deeds if deed.kind in kinds]

    def hurt_by(self, deed: Deed) -> list[Trouble]:
        return [each for each in self.troubles if each.hit(deed)]
