"""What is known of one client: its session, its era, and what it can be told and asked."""

from msgspec import Raw
from msgspec.structs import replace

from switchboard.core.calls.trace_context import with_trace
from switchboard.core.channels.channel import Ask
from switchboard.core.people import Person, key_of
from switchboard.core.sessions import ChosenAccount, Session
from switchboard.surface.channel import PATIENCE_S, ClientChannel, declared_by
from switchboard.surface.params import (
    SESSION_KEY,
    Initialize,
    Meta,
    Params,
    capabilities_from,
    introduced,
    overrides_from,
)
from switchboard.surface.sink import Sink
from switchboard.wire.eras import (
    CLIENT_CAPABILITIES_KEY,
    MODERN_VERSIONS,
    PROTOCOL_VERSION_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
    negotiated,
)
from switchboard.wire.messages import INVALID_PARAMS, INVALID_REQUEST, MessageId, RpcError


class KnownClient:
    """Learns from the client's first request which era it is in, and from the others the rest."""

    def __init__(
        self,
        session: Session,
        *,
        # How long the client may take to answer a question.
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.session = session
        # Nothing until the first request has come.
        self.is_modern: bool | None = None
        # From which level on a client of the handshake era wants log messages.
        self.log_level = ""
        self._patience_s = patience_s
        self._declared = b"{}"
        # How the last request of the modern era introduced itself.
        self._introduced: tuple[Raw, Raw] | None = None

    def is_of(self, person: Person | None) -> bool:
        """Whether the client is that person's, whose groups may be others than before."""
        known = self.session.person
        if key_of(known) != key_of(person):
            return False
        if known != person:
            self.session = replace(self.session, person=person)
        return True

    def shake_hands(self, asked: Initialize) -> str:
        """Begin in the handshake era; gives the version that is spoken. Raises RpcError."""
        if self.is_modern:
            supported = {"supported": MODERN_VERSIONS, "requested": asked.protocol_version}
            message = "this connection has begun without a handshake"
            raise RpcError(UNSUPPORTED_PROTOCOL_VERSION, message, supported)
        self.is_modern = False
        version = negotiated(asked.protocol_version)
        wanted = (asked.meta or {}).get(SESSION_KEY)
        declared = capabilities_from(asked.capabilities)
        self._declared = declared_by(declared)
        self.session = replace(
            self.session,
            protocol=version,
            client=str(asked.client_info),
            capabilities=declared,
            overrides=self.session.overrides if wanted is None else overrides_from(wanted),
        )
        return version

    def hear(self, meta: Meta) -> Session:
        """The session as a request sees it; in the modern era each one introduces itself.

        Raises RpcError.
        """
        claims_modern = meta.version is not None
        if self.is_modern is None and claims_modern:
            self.is_modern = True
        if not self.is_modern:
            if claims_modern:
                message = "this connection has begun with the handshake of an earlier protocol"
                raise RpcError(INVALID_REQUEST, message)
            return self.session
        if meta.version is None or meta.capabilities is None:
            message = f"`_meta` needs `{PROTOCOL_VERSION_KEY}` and `{CLIENT_CAPABILITIES_KEY}`"
            raise RpcError(INVALID_PARAMS, message)
        if (meta.version, meta.capabilities) != self._introduced:
            self.session = introduced(self.session, meta)
            self._introduced = (meta.version, meta.capabilities)
            self._declared = declared_by(self.session.capabilities)
        return self.session

    def told(self, meta: Meta) -> Session:
        """The session, with what one request wants otherwise. Raises RpcError."""
        wishes, session = meta.wishes, self.session
        if wishes is None:
            return session
        if wishes.session is not None:
            session = replace(session, overrides=overrides_from(wishes.session))
        if wishes.account:
            session = replace(session, account=ChosenAccount(wishes.account))
        if wishes.worktree:
            session = replace(session, worktree=wishes.worktree)
        return session

    def may_be_asked(self, params: Params) -> bool:
        """Whether a request of the modern era may come to a question, or comes from one."""
        return bool(self.is_modern) and (self._declared != b"{}" or bool(params.request_state))

    def channel(
        self, meta: Meta, sink: Sink, ask: Ask | None = None, request_id: MessageId = None
    ) -> ClientChannel:
        """The way back to the client of one request."""
        # Of a response over HTTP, whose request had headers.
        trace: bytes = getattr(sink, "trace", b"")
        return ClientChannel(
            self.session,
            sink,
            ask=ask,
            token=meta.token,
            meta=with_trace(meta.foreign, trace) if trace else meta.foreign,
            log_level=meta.log_level or self.log_level,
            declared=self._declared,
            patience_s=self._patience_s,
            timeout_s=meta.timeout_s,
            request_id=request_id,
        )
