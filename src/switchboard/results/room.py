"""How long an answer may be before a host cuts it, so that none is ever sent that it would cut.

What hosts do was tried with the real ones: tests/e2e/test_big_introspections.py.
"""

from functools import cache

import msgspec
from msgspec import Struct
from msgspec.json import encode

from switchboard.core.sessions import Session
from switchboard.core.text.tokens import estimated_tokens
from switchkit.patterns import pattern

# With schemas an answer is worth this much of a context window; `introspection.mode` of `auto`.
AUTO_TOKENS = 4_000
# By so much an estimate may be too low.
_MARGIN = 1.2


class Room(Struct, frozen=True):
    """What an answer has to fit into; `None` sets no bound."""

    # Bytes of the answer as JSON writes it into a message.
    letters: int | None = None
    tokens: int | None = None

    def holds(self, text: str) -> bool:
        """Whether a text fits."""
        if self.letters is not None and len(encode(text)) > self.letters:
            return False
        return self.tokens is None or estimated_tokens(text) * _MARGIN <= self.tokens


UNBOUNDED = Room()
# Whoever we know nothing of: what the hosts below show of a model that they know.
UNKNOWN = Room(letters=40_000, tokens=10_000)
# Claude Code puts what is longer than 50,000 characters, or 25,000 tokens, into a file, and shows
# 2,000 characters of it.
_CLAUDE_CODE = Room(letters=40_000, tokens=20_000)
# Codex takes the middle out: of 12,000 bytes and more for a model that it does not know, of 48,000
# for those that it gives 10,000 tokens. Each request tells which model reads it.
_CODEX = Room(letters=10_000)
_CODEX_KNOWN_MODEL = Room(letters=40_000)
_KNOWN_MODEL = pattern(r"gpt-(5\.[1-9]|[6-9]|\d\d)")

_HOSTS = {"claude-code": _CLAUDE_CODE, "codex-mcp-client": _CODEX}


class _Turn(Struct, frozen=True):
    model: str = ""


class _CodexMeta(Struct):
    turn: _Turn = msgspec.field(name="x-codex-turn-metadata", default=_Turn())


def room_of(session: Session, meta: bytes) -> Room:
    """What the host of a session shows its model whole. `meta` is that of its request."""
    room = _HOSTS.get(session.client.partition(" ")[0], UNKNOWN)
    if room is _CODEX and _KNOWN_MODEL.match(_model_in(meta)):
        return _CODEX_KNOWN_MODEL
    return room


@cache
def within(room: Room, tokens: int) -> Room:
    """The room, and no more than so many tokens of it."""
    return Room(letters=room.letters, tokens=min(tokens, room.tokens or tokens))


@cache
def half(room: Room) -> Room:
    """Half of it in each direction."""
    letters, tokens = room.letters, room.tokens
    return Room(letters=letters and letters // 2, tokens=tokens and tokens // 2)


def _model_in(meta: bytes) -> str:
    try:
        return msgspec.json.decode(b"{%b}" % meta.rstrip(b","), type=_CodexMeta).turn.model
    except msgspec.MsgspecError:
        return ""
