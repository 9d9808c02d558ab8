"""What a typical session would cost with a listing: a model of it, with its assumptions.

Every turn reads the whole context again, so a listing counts in each turn, and a trip that only
discovers a tool costs a turn.
"""

from msgspec import Struct

from switchkit.cli.columns import counted

TURNS = 20
_TOOLS, _SERVERS = 4, 3
_BEGINS_WITH, _GROWS_BY = 12_000, 700
# What a search answers with, in the mean.
SEARCH = 160


class Needs(Struct, frozen=True):
    """What a session uses of what there is: of few, all."""

    tools: int
    servers: int

    @classmethod
    def of(cls, tools: int, servers: int) -> "Needs":
        """Where there are so many tools of so many servers."""
        return cls(min(_TOOLS, tools), min(_SERVERS, servers))

    @property
    def assumptions(self) -> str:
        """What is assumed of the session, in words."""
        used = f"{counted(self.tools, 'tool')} of {counted(self.servers, 'server')}"
        return (
            f"a session of {TURNS} turns that uses {used}; its context begins"
            f" with {_BEGINS_WITH:,} tokens beside the listing and grows by {_GROWS_BY} a turn;"
            f" discovering a tool is a trip of its own: {SEARCH} tokens for a search, and all"
            " schemas of a server for an introspection"
        )


class Discovery(Struct, frozen=True):
    """The trips that a session makes to learn how its tools are called, and what they add."""

    trips: float = 0.0
    tokens: float = 0.0


def session_tokens_of(listing: int, discovery: Discovery) -> int:
    """All that the model reads from the first turn to the last."""
    grown = sum(_BEGINS_WITH + _GROWS_BY * turn for turn in range(TURNS))
    extra = discovery.trips * (_BEGINS_WITH + listing + discovery.tokens / 2)
    return round(grown + TURNS * (listing + discovery.tokens) + extra)
