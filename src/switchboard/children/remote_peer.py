"""A peer whose requests can fail one by one, because each of them travels on its own."""

from switchboard.wire.messages import MessageId
from switchboard.wire.peer import Peer


class RemotePeer(Peer):
    """The other side of HTTP."""

    def awaits(self, message_id: MessageId) -> bool:
        """Whether a request still has no answer."""
        return message_id in self._waiting

    def fail(self, message_id: MessageId, error: Exception) -> None:
        """Let a request end with an error of our own: no answer to it can come any more."""
        future = self._waiting.pop(message_id, None)
        if future is not None and not future.done():
            future.set_exception(error)
