"""The way to a server that another gateway of the team runs.

To whoever calls it is a process like any other: when the way breaks, it has ended, and the next
call finds out who runs it now. Nothing is sent twice.
"""

import hashlib
from collections.abc import Callable

from msgspec import UNSET
from msgspec.structs import replace

from switchboard.children.http.client import RemoteClient
from switchboard.children.http.outgoing import Outgoing
from switchboard.children.http.remote import RemoteLink
from switchboard.children.http.streamable_pipe import StreamablePipe
from switchboard.children.link import MakePeer
from switchboard.children.reaching.interruption import Interruption
from switchboard.children.redaction import Redaction
from switchboard.children.schema import Protocol, ServerEntry
from switchboard.children.secrets.lookup import EnvironmentSecrets, LookedUp
from switchboard.children.sharing.singletons import Forward
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.secrets import SecretBook
from switchboard.wire.messages import MessageId, RpcError
from switchboard.wire.pipes import Loss

# For whom a request is, in a word that tells nothing else. Whom a server may ask depends on it.
HOLDER = "x-switchboard-holder"
# The status by which a gateway says that it does not run the server.
NOT_HERE = 421
_LOST = "the gateway that runs it was lost"


class ForwardedLink(RemoteLink):
    """The way to another gateway."""

    # Gateways speak so with each other, whatever the server speaks.
    protocol: Protocol = "modern"


class _ForwardedPipe(StreamablePipe):
    def __init__(
        self, client: RemoteClient, name: str, holder_of: Callable[[MessageId], str]
    ) -> None:
        super().__init__(client)
        self._name = name
        self._holder_of = holder_of

    def _with_session(self, message: Outgoing | None) -> dict[str, str]:
        headers = super()._with_session(message)
        holder = ""
        if message is not None and message.id is not UNSET:
            holder = self._holder_of(message.id)
        if holder:
            headers[HOLDER] = hashlib.blake2s(holder.encode(), digest_size=8).hexdigest()
        return headers

    async def _listen(self, message: Outgoing, body: bytes) -> None:
        await self._exchange(message, body)
        raise self._client.interrupted("ended a stream", may_have_run=False)

    def _fail(self, message: Outgoing, error: Exception) -> None:
        is_lost = isinstance(error, Interruption)
        if isinstance(error, Interruption):
            error = self._in_words(error, message)
        elif isinstance(error, RpcError) and str(NOT_HERE) in error.message:
            is_lost = True
            error = self._in_words(Interruption("", "", may_have_run=False), message)
        super()._fail(message, error)
        if is_lost and self._peer is not None:
            self._peer.lose(Loss(reason="stopped", message=_LOST))

    def _in_words(self, lost: Interruption, message: Outgoing) -> Fault:
        if lost.may_have_run and message.method == "tools/call":
            return Fault(
                FaultCode.UNAVAILABLE,
                "call-interrupted",
                f"the gateway that runs `{self._name}` was lost while `{message.params.name}` was"
                " under way: it may or may not have run, and was not repeated",
                hint="see whether it took effect before you call it again",
                details={"may_have_run": True},
                private=lost.private,
            )
        return Fault(
            FaultCode.UNAVAILABLE,
            "child-stopped",
            f"the gateway that runs `{self._name}` is not reached, and nothing was done",
            hint="call again: another gateway runs it once that one is taken for gone",
            private=lost.private,
        )


async def open_forwarded(
    entry: ServerEntry,
    make_peer: MakePeer,
    forward: Forward,
    *,
    book: SecretBook,
    # For whom a request is that waits for its answer.
    holder_of: Callable[[MessageId], str],
    timeout_s: float,
) -> ForwardedLink:
    """Get ready to talk to the gateway that runs it."""
    there = replace(
        entry,
        transport="http",
        url=forward.url,
        headers=forward.headers,
        env={},
        secret_env={},
        auth=None,
        templates=(),
    )
    hidden = Redaction(forward.headers.values(), book)
    client = RemoteClient(
        there,
        hide=hidden,
        timeout_s=timeout_s,
        # Gateways reach each other without a proxy.
        environ={},
        secrets=LookedUp(there, {}, EnvironmentSecrets({}), lambda _: None),
    )
    pipe = _ForwardedPipe(client, entry.name, holder_of)
    peer = make_peer(pipe)
    pipe.attach(peer)
    return ForwardedLink(pipe, peer, hidden)
