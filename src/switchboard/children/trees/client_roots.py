"""Where clients say that they work: their roots, asked for when somebody has to know."""

import asyncio
from typing import Any, cast

import msgspec
from msgspec import Raw

from switchboard.children.trees.path_arguments import path_from_url
from switchboard.core.channels.channel import Channel, Input
from switchboard.core.faults import Fault
from switchboard.core.sessions import Era, Session

Folders = tuple[str, ...]

_KEY = "roots"
_METHOD = "roots/list"
_NO_PARAMS = Raw(b"{}")
# A client answers this by itself. One that does not is taken to have said nothing.
_PATIENCE_S = 10.0
# Clients that come without a session are never seen to leave.
_MOST_KNOWN = 1_024
_MOST_ROOTS = 256


class _Root(msgspec.Struct):
    uri: str = ""


class _Roots(msgspec.Struct):
    roots: list[_Root] = []


_read_roots = msgspec.json.Decoder(_Roots).decode


class ClientRoots:
    """The roots of every client of a board, as far as they were asked for."""

    def __init__(self) -> None:
        self._known: dict[str, Folders] = {}
        # Those that are worth asking again only once they have said that something changed.
        self._settled: set[str] = set()
        # Those that have said so since they were last asked.
        self._moved: set[str] = set()

    def has_to_ask(self, session: Session) -> bool:
        """Whether what is known may be out of date."""
        return _can_be_asked(session) and session.holder not in self._settled

    def known(self, session: Session) -> Folders:
        """What the client said last; nothing if it never did."""
        return self._known.get(session.holder, ())

    async def ask(self, session: Session, channel: Channel | None) -> Folders:
        """The folders that the client works in. Nothing if it does not say."""
        if channel is None or not self.has_to_ask(session):
            return self.known(session)
        holder = session.holder
        self._make_room()
        self._moved.discard(holder)
        try:
            # In the modern era it answers with a request of its own, whenever that comes.
            async with asyncio.timeout(None if session.era is Era.MODERN else _PATIENCE_S):
                told = await channel.ask({_KEY: Input(_METHOD, _NO_PARAMS)})
        except (Fault, TimeoutError):
            self._settled.add(holder)
            return self.known(session)
        found = self._known[holder] = _folders(told.get(_KEY, _NO_PARAMS))
        if says_changes(session) and holder not in self._moved:
            self._settled.add(holder)
        return found

    def changed(self, session: Session) -> None:
        """The client says that its roots are others now."""
        self._settled.discard(session.holder)
        self._moved.add(session.holder)

    def leave(self, holder: str) -> None:
        """The client is gone."""
        self._known.pop(holder, None)
        self._settled.discard(holder)
        self._moved.discard(holder)

    def _make_room(self) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self.leave(next(iter(self._known)))
        if len(self._settled) >= _MOST_KNOWN:
            self._settled.clear()


def _can_be_asked(session: Session) -> bool:
    return isinstance(session.capabilities.get("roots"), dict)


def says_changes(session: Session) -> bool:
    """Whether it tells of changes. In the modern era nobody can."""
    declared: Any = session.capabilities.get("roots")
    told = isinstance(declared, dict) and cast("dict[str, Any]", declared).get("listChanged")
    return bool(told) and session.era is not Era.MODERN


def _folders(raw: Raw) -> Folders:
    try:
        roots = _read_roots(raw).roots[:_MOST_ROOTS]
    except msgspec.MsgspecError:
        return ()
    return tuple(path for path in (path_from_url(each.uri) for each in roots) if path)
