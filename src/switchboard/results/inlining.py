"""How much of a result a model is given at once, and what hosts do about longer ones themselves."""

from collections.abc import Mapping

from msgspec import Struct

from switchboard.core.calls.call import Call
from switchboard.core.sessions import Session
from switchboard.core.text.tokens import estimated_tokens
from switchboard.results.room import UNBOUNDED, UNKNOWN, Room, room_of

# The tool that reads what is kept.
READ_RESULT = "read_result"
# What has no model behind it gets whole results: a command, and a program of the control API.
_FOR_PEOPLE = frozenset({"cli", "http-control", "page"})
# Hosts that put long results into files of their own, which their models read and search with the
# tools of the host; by how their name begins. Tried with the real ones: tests/e2e.
_KEEPING_HOSTS = ("claude-code",)
# What such a host is asked to leave in an answer, and by which word; it takes no higher number.
MOST_LETTERS_KEY = "anthropic/maxResultSizeChars"
_LETTERS_A_TOKEN = 4
_MOST_LETTERS = 500_000
# An introspection has to stay whole also where the host counts otherwise.
_SAFELY = 0.8


class Share(Struct, frozen=True):
    """What an answer has to fit into."""

    tokens: int
    room: Room = UNBOUNDED

    def holds(self, text: str) -> bool:
        """Whether a text fits."""
        return estimated_tokens(text) <= self.tokens and self.room.holds(text)

    def surely_holds(self, size: int) -> bool:
        """Whether so many bytes fit, whatever they are."""
        # A digit is the most that one byte counts.
        return size * 0.6 <= self.tokens and (self.room is UNBOUNDED or size <= _least(self.room))


class Inlining(Struct, frozen=True):
    """What is configured; 0 is off."""

    tokens: int
    servers: Mapping[str, int] = {}
    # Also for hosts that keep long results themselves.
    is_for_all: bool = False

    def share_of(self, call: Call) -> Share | None:
        """What the result of a call has to fit into; nothing where it may be as long as it is."""
        launch, session = call.launch, call.session
        if launch is None or not call.tool.is_tool or session.via in _FOR_PEOPLE:
            return None
        if not launch.is_foreign and call.tool.output_schema is not None:
            # What we say that a tool of ours answers, it answers.
            return None
        tokens = self.servers.get(launch.server, self.tokens)
        if not tokens or not self.serves(session):
            return None
        return share_of(tokens, session, call.channel.meta if call.channel is not None else b"")

    def serves(self, session: Session) -> bool:
        """Whether handles are for the client of this session."""
        return self.is_for_all or not keeps_results(session)


def share_of(tokens: int, session: Session, meta: bytes) -> Share:
    """So many tokens, and no more than the host is known to show."""
    room = room_of(session, meta)
    return Share(tokens, UNBOUNDED if room is UNKNOWN else room)


def keeps_results(session: Session) -> bool:
    """Whether the host of a session puts long results into files itself."""
    return session.client.startswith(_KEEPING_HOSTS)


def letters_left(tokens: int) -> int:
    """How many letters a host that keeps results is asked to leave in an answer."""
    return min(tokens * _LETTERS_A_TOKEN, _MOST_LETTERS)


def room_beside(room: Room, tokens: int) -> Room:
    """The room of an introspection where the host was asked to leave no more than this."""
    letters = int(letters_left(tokens) * _SAFELY)
    return Room(letters=min(room.letters or letters, letters), tokens=room.tokens)


def _least(room: Room) -> float:
    # A control character takes six bytes once it is written as JSON.
    letters = float("inf") if room.letters is None else room.letters / 6
    tokens = float("inf") if room.tokens is None else room.tokens
    return min(letters, tokens)
