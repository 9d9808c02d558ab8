"""A child that runs elsewhere and is reached over HTTP."""

from collections.abc import Mapping

import httpx2

from switchboard.children.hiding import Hiding, hiding
from switchboard.children.remote_client import RemoteClient
from switchboard.children.remote_sse import SsePipe
from switchboard.children.remote_streamable import StreamablePipe
from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.secrets import SecretBook
from switchboard.wire.peer import OnLost, OnNotification, OnRequest, Peer


class RemoteLink:
    """A way to a server that is not a process of ours."""

    pid = 0

    def __init__(self, pipe: StreamablePipe | SsePipe, peer: Peer, hidden: Hiding) -> None:
        self._pipe = pipe
        self.peer = peer
        self.hidden = hidden

    async def diagnosis(self) -> tuple[str, str]:
        return self._pipe.ended, ""

    def denial(self) -> Fault | None:
        return None

    def appeared(self) -> tuple[str, ...]:
        return ()

    async def aclose(self) -> None:
        await self.peer.aclose()
        await self._pipe.aclose()


async def open_remote(
    entry: ServerEntry,
    *,
    environ: Mapping[str, str],
    book: SecretBook,
    timeout_s: float,
    on_request: OnRequest,
    on_notification: OnNotification,
    on_lost: OnLost,
) -> RemoteLink:
    """Get ready to talk to a server over HTTP. Raises a fault."""
    try:
        client = RemoteClient(entry, timeout_s=timeout_s, environ=environ)
    except (httpx2.InvalidURL, ValueError):
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "remote-entry-invalid",
            f"the `url` or a header of `{entry.name}` is none that HTTP can carry",
        ) from None
    pipe = StreamablePipe(client) if entry.transport == "http" else SsePipe(client, entry.name)
    peer = Peer(
        pipe,
        on_request=on_request,
        on_notification=on_notification,
        on_lost=on_lost,
        on_junk=lambda _: None,
    )
    pipe.attach(peer)
    link = RemoteLink(pipe, peer, _hidden(entry, client, book))
    if isinstance(pipe, SsePipe):
        try:
            await pipe.open(timeout_s)
        except BaseException:
            await link.aclose()
            raise
    return link


def _hidden(entry: ServerEntry, client: RemoteClient, book: SecretBook) -> Hiding:
    """Header values, with and without the scheme of an `Authorization`, and a URL's password."""
    values = {word for value in entry.headers.values() for word in (value, value.split(" ")[-1])}
    return hiding(values | {client.url.password}, book)
