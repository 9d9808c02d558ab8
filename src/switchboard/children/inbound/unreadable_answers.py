"""Answers of a child that nobody can read, or that answer nothing."""

import asyncio
from collections.abc import Callable

from switchboard.children.faults import fault_from_stray, fault_from_unreadable
from switchboard.children.schema import ServerEntry
from switchboard.core.events import ChildTalkedNonsense
from switchboard.core.faults import Fault
from switchboard.core.ports import Events
from switchboard.wire.messages import MessageId
from switchboard.wire.peer import Peer
from switchboard.wire.unreadable import answered_id, looks_like_answer

# Some servers say a word too many before the true one.
_TRUE_ANSWER_S = 0.5


class Nonsense:
    """What one process says that is no message, or an answer to nothing that it was asked.

    A request that such a message answers ends: nobody waits for what cannot come. Where it does not
    show which, it is the only one that waits, if there is one alone and a moment brings no true
    answer; it would otherwise wait for its whole time. Many servers print a banner or a log line
    where only messages belong; that is no answer. Of all of it the first is told of.
    """

    def __init__(
        self,
        entry: ServerEntry,
        events: Events,
        # Before it is ready, a server may refuse words that it does not know in any way.
        is_ready: Callable[[Peer], bool],
        # Told of an answer that nobody waits for any more.
        on_late: Callable[[MessageId], None],
    ) -> None:
        self._entry = entry
        self._events = events
        self._is_ready = is_ready
        self._on_late = on_late
        self._is_told = False

    def junk(self, peer: Peer, message: bytes, keep: Callable[[bytes], None]) -> None:
        """Take in what is no message."""
        keep(message)
        self._note("a line that is no message")
        message_id = answered_id(message)
        fault = fault_from_unreadable(self._entry.name)
        if message_id in peer.pending:
            peer.pending.fail(message_id, fault)
        elif looks_like_answer(message):
            self._fail_only(peer, fault)

    def late(self, peer: Peer, message_id: MessageId) -> None:
        """Take in an answer that nobody waits for, or ever did."""
        if type(message_id) is int and 0 < message_id < peer.pending.next_id:
            self._on_late(message_id)
            return
        self._note("an answer to nothing that it was asked")
        self._fail_only(peer, fault_from_stray(self._entry.name))

    def _fail_only(self, peer: Peer, fault: Fault) -> None:
        waiting = peer.pending.only()
        if waiting is not None and self._is_ready(peer):
            loop = asyncio.get_running_loop()
            loop.call_later(_TRUE_ANSWER_S, peer.pending.fail, waiting, fault)

    def _note(self, what: str) -> None:
        if not self._is_told:
            self._is_told = True
            self._events.emit(ChildTalkedNonsense(child=self._entry.label, what=what))
