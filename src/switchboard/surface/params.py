"""The parameters of a request, read as far as an endpoint needs them."""

from functools import lru_cache
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from switchboard.core.calls.call import EMPTY_OBJECT
from switchboard.core.calls.contents import GivenName
from switchboard.core.sessions import Era, Overrides, Session
from switchboard.core.text.decoded_size import MOST_TEXTS, SURELY_LITTLE, has_many_texts
from switchboard.wire.eras import (
    CLIENT_CAPABILITIES_KEY,
    CLIENT_INFO_KEY,
    LOG_LEVEL_KEY,
    MODERN_VERSIONS,
    PROTOCOL_VERSION_KEY,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from switchboard.wire.messages import ABSENT, INVALID_PARAMS, RpcError

_NULL = Raw(b"null")
_TOKEN_KEY = "progressToken"  # noqa: S105 - no secret
_OURS = "switchboard/"
SESSION_KEY = "switchboard/session"
ACCOUNT_KEY = "switchboard/account"
WORKTREE_KEY = "switchboard/worktree"
TIMEOUT_KEY = "switchboard/timeout_ms"
# What a client can do is kept as long as it is there.
MOST_CAPABILITY_BYTES = 64 * 1024
# So is what it calls itself, and it is shown.
_ShortName = Annotated[str, msgspec.Meta(max_length=1024)]


class Implementation(Struct, frozen=True):
    """What a client calls itself."""

    name: _ShortName = ""
    version: _ShortName = ""

    def __str__(self) -> str:
        return f"{self.name} {self.version}".strip()


class Initialize(Struct, rename="camel"):
    """The first words of the handshake era."""

    protocol_version: str
    capabilities: Raw = EMPTY_OBJECT
    client_info: Implementation = Implementation()
    meta: dict[str, Raw] | None = msgspec.field(name="_meta", default=None)


class Params(Struct, rename="camel"):
    """What the methods that we offer may be given."""

    meta: dict[str, Raw] | None = msgspec.field(name="_meta", default=None)
    name: str | UnsetType = UNSET
    uri: GivenName | UnsetType = UNSET
    task_id: str | UnsetType = UNSET
    arguments: Raw = EMPTY_OBJECT
    cursor: str | None = None
    level: str = ""
    input_responses: dict[str, Raw] | None = None
    request_state: str | None = None


class Wishes(Struct, frozen=True):
    """What one request wants otherwise than its session. Few do."""

    # Where the session wants tools to run otherwise.
    session: Raw | None = None
    # Whose login at a server is to be used.
    account: str = ""
    # The worktree that it is about.
    worktree: str = ""


class Meta(Struct, frozen=True):
    """What a request says of itself. Everything stays raw that few requests need."""

    version: Raw | None = None
    client: Raw | None = None
    capabilities: Raw | None = None
    token: Raw | None = None
    log_level: str = ""
    # What only the two ends understand: each member with a comma behind it.
    foreign: bytes = b""
    wishes: Wishes | None = None
    # How long the client waits, if it says so.
    timeout_s: float | None = None


class _Overrides(Struct):
    cwd_override: str | None = None
    env_overrides: dict[str, str] = {}


_NO_PARAMS = Params()
_NO_META = Meta()
_read_params = msgspec.json.Decoder(Params).decode
_read_initialize = msgspec.json.Decoder(Initialize).decode
_read_capabilities = msgspec.json.Decoder(dict[str, Any]).decode
_read_overrides = msgspec.json.Decoder(_Overrides).decode
_read_text = msgspec.json.Decoder(str).decode
_read_name = msgspec.json.Decoder(Annotated[str, msgspec.Meta(min_length=1)]).decode
_read_timeout = msgspec.json.Decoder(Annotated[int, msgspec.Meta(ge=1)]).decode


def params_from(raw: Raw) -> Params:
    """The parameters. Raises RpcError."""
    # Some clients write `null` for parameters that they do not have.
    if raw in (ABSENT, _NULL):
        return _NO_PARAMS
    if len(memoryview(raw)) > SURELY_LITTLE:
        _refuse_many(raw)
    try:
        return _read_params(raw)
    except msgspec.MsgspecError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None


def _refuse_many(raw: Raw) -> None:
    if has_many_texts(bytes(raw)):
        raise RpcError(
            INVALID_PARAMS,
            f"the parameters hold more than {MOST_TEXTS:,} members or texts: "
            "make several requests, or send them as one text",
        )


def capabilities_from(raw: Raw) -> dict[str, Any]:
    """What a client can do. Raises RpcError."""
    if len(memoryview(raw)) > MOST_CAPABILITY_BYTES:
        raise RpcError(
            INVALID_PARAMS, f"the capabilities have more than {MOST_CAPABILITY_BYTES:,} bytes"
        )
    try:
        return _read_capabilities(raw)
    except msgspec.MsgspecError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None


def initialize_from(raw: Raw) -> Initialize:
    """The first words of a client of the handshake era. Raises RpcError."""
    _refuse_many(raw)
    try:
        return _read_initialize(raw or b"{}")
    except msgspec.MsgspecError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None


def meta_from(members: dict[str, Raw] | None) -> Meta:
    """What a request says of itself. Raises RpcError."""
    if not members:
        return _NO_META
    known = (
        members.pop(PROTOCOL_VERSION_KEY, None),
        members.pop(CLIENT_INFO_KEY, None),
        members.pop(CLIENT_CAPABILITIES_KEY, None),
        members.pop(_TOKEN_KEY, None),
    )
    level = members.pop(LOG_LEVEL_KEY, None)
    if not members and level is None:
        return Meta(*known)
    wishes = _wishes_from(members)
    timeout_s = _timeout_from(members.get(TIMEOUT_KEY))
    foreign = {key: value for key, value in members.items() if not key.startswith(_OURS)}
    try:
        wanted = _read_text(level) if level is not None else ""
    except msgspec.MsgspecError:
        raise RpcError(INVALID_PARAMS, f"`{LOG_LEVEL_KEY}` must be a string") from None
    extra = msgspec.json.encode(foreign)[1:-1] + b"," if foreign else b""
    return Meta(*known, wanted, extra, wishes, timeout_s)


def _wishes_from(members: dict[str, Raw]) -> Wishes | None:
    session, account = members.pop(SESSION_KEY, None), members.get(ACCOUNT_KEY)
    worktree = members.get(WORKTREE_KEY)
    if account is None and worktree is None:
        return Wishes(session) if session is not None else None
    return Wishes(
        session,
        _named(account, f"`{ACCOUNT_KEY}` must be the name of an account"),
        _named(worktree, f"`{WORKTREE_KEY}` must be the branch, name or path of a worktree"),
    )


def _named(raw: Raw | None, wanted: str) -> str:
    try:
        return "" if raw is None else _read_name(raw)
    except msgspec.MsgspecError:
        raise RpcError(INVALID_PARAMS, wanted) from None


def _timeout_from(raw: Raw | None) -> float | None:
    if raw is None:
        return None
    try:
        return _read_timeout(raw) / 1000
    except msgspec.MsgspecError:
        raise RpcError(INVALID_PARAMS, f"`{TIMEOUT_KEY}` must be a whole number from 1") from None


def overrides_from(raw: Raw) -> Overrides:
    """What a client wants otherwise for its session. Raises RpcError."""
    try:
        read = _read_overrides(raw)
    except msgspec.MsgspecError as error:
        raise RpcError(INVALID_PARAMS, f"`{SESSION_KEY}`: {error}") from None
    return Overrides(read.cwd_override or "", read.env_overrides)


def introduced(session: Session, meta: Meta) -> Session:
    """The session as a request of the modern era introduces itself. Raises RpcError."""
    said = (bytes(meta.version or b"null"), bytes(meta.client or b"{}"))
    capabilities = bytes(meta.capabilities or EMPTY_OBJECT)
    is_short = len(capabilities) + len(said[1]) <= _REMEMBERED_BYTES
    read = _remembered if is_short else _introduction
    protocol, client, declared = read(*said, capabilities)
    return replace(
        session,
        era=Era.MODERN,
        protocol=protocol,
        client=client or session.client,
        capabilities=declared,
    )


def _introduction(
    version: bytes, about: bytes, capabilities: bytes
) -> tuple[str, str, dict[str, Any]]:
    """The protocol, the client and what it can do. Raises RpcError."""
    try:
        protocol = msgspec.json.decode(version, type=str)
    except msgspec.MsgspecError:
        raise RpcError(INVALID_PARAMS, f"`{PROTOCOL_VERSION_KEY}` must be a string") from None
    if protocol not in MODERN_VERSIONS:
        supported = {"supported": MODERN_VERSIONS, "requested": protocol}
        raise RpcError(
            UNSUPPORTED_PROTOCOL_VERSION, "the protocol version is not supported", supported
        )
    declared = capabilities_from(Raw(capabilities))
    try:
        client = msgspec.json.decode(about, type=Implementation)
    except msgspec.MsgspecError as error:
        raise RpcError(INVALID_PARAMS, str(error)) from None
    return protocol, str(client), declared


# A client says the same of itself with each request, and nobody changes what was read of it.
_REMEMBERED_BYTES = 2048
_remembered = lru_cache(256)(_introduction)
