"""Answers of a child that nobody can read."""

from switchboard.children.faults import fault_from_unreadable
from switchboard.wire.peer import Peer
from switchboard.wire.unreadable import answered_id


def fail_unreadable(peer: Peer, child: str, message: bytes) -> None:
    """End the request that a message answers: nobody waits for what cannot come.

    Many servers print a banner or a log line where only messages belong; that is no answer.
    """
    message_id = answered_id(message)
    if message_id in peer.pending:
        peer.pending.fail(message_id, fault_from_unreadable(child))
