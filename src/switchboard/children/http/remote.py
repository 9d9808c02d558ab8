"""A child that runs elsewhere and is reached over HTTP."""

from collections.abc import Callable, Mapping

import httpx2

from switchboard.children.authorization import Authorization
from switchboard.children.http.client import RemoteClient, without_secrets
from switchboard.children.http.pipe import HttpPipe
from switchboard.children.http.sse_pipe import SsePipe
from switchboard.children.http.streamable_pipe import StreamablePipe
from switchboard.children.link import MakePeer
from switchboard.children.redaction import Redaction
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.lookup import LookedUp
from switchboard.core.channels.channel import Channel
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.secrets import SecretBook
from switchboard.wire.peer import Peer


class RemoteLink:
    """A way to a server that is not a process of ours."""

    pid = 0
    # Each request brings them along anew.
    secrets = None

    def __init__(self, pipe: HttpPipe, peer: Peer, hidden: Redaction) -> None:
        self._pipe = pipe
        self.peer = peer
        self.hidden = hidden

    @property
    def trouble(self) -> str:
        return self._pipe.trouble

    @property
    def answered_at(self) -> float:
        return self._pipe.answered_at

    def attend(self, channel: Callable[[], Channel | None]) -> None:
        """Its network is not ours."""

    async def doubt(self) -> Fault | None:
        return None

    async def diagnosis(self) -> tuple[str, str]:
        return self._pipe.ended, ""

    def denial(self) -> Fault | None:
        return None

    def appeared(self) -> tuple[str, ...]:
        return ()

    async def aclose(self) -> None:
        try:
            await self._pipe.finish()
        finally:
            # Also where nobody waits for last answers any more.
            await self.peer.aclose()
            await self._pipe.aclose()


async def open_remote(
    entry: ServerEntry,
    make_peer: MakePeer,
    *,
    environ: Mapping[str, str],
    secrets: LookedUp,
    book: SecretBook,
    timeout_s: float,
    authorization: Authorization | None = None,
) -> RemoteLink:
    """Get ready to talk to a server over HTTP. Raises a fault."""
    # A secret that is missing is told before anything is sent.
    await secrets.values()
    try:
        hidden = _hidden(entry, book)
        client = RemoteClient(
            entry,
            hide=hidden,
            timeout_s=timeout_s,
            environ=environ,
            secrets=secrets,
            authorization=authorization,
        )
    except (httpx2.InvalidURL, ValueError):
        if authorization is not None:
            authorization.close()
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "remote-entry-invalid",
            f"the `url` or a header of `{entry.name}` is not valid in HTTP",
        ) from None
    pipe = StreamablePipe(client) if entry.transport == "http" else SsePipe(client, entry.name)
    peer = make_peer(pipe)
    pipe.attach(peer)
    link = RemoteLink(pipe, peer, hidden)
    if isinstance(pipe, SsePipe):
        try:
            await pipe.open(timeout_s)
        except BaseException:
            await link.aclose()
            raise
    return link


def _hidden(entry: ServerEntry, book: SecretBook) -> Redaction:
    """Header values, with and without the scheme of an `Authorization`, and a URL's password."""
    written = without_secrets(entry).values()
    values = {word for value in written for word in (value, value.split(" ")[-1])}
    return Redaction(values | {httpx2.URL(entry.url).password}, book)
