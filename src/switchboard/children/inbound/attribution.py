"""What a child says to a client, marked as the child's so that nobody takes it for ours."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Raw

from switchboard.core.catalog.names import is_reserved
from switchboard.core.channels.channel import Input
from switchboard.core.privacy.secrets import NO_SECRETS, Redact, without_secrets
from switchboard.wire.eras import URL_ELICITATION_REQUIRED
from switchboard.wire.messages import RpcError, encode

# A refusal of 2025-11-25: first a page has to be visited.
PAGE_ID = "elicitationId"
SERVER_KEY = "switchboard/server"
# The last is a list of labels, one for each value of an `enum`.
_LABELS = ("title", "description", "enumNames")
_MAX_MESSAGE = 4_000
_MAX_LOGGER = 200
# Readers of addresses do not agree on what these mean.
_NOT_IN_URLS = frozenset(' \\<>"^`{|}')

_read_members = msgspec.json.Decoder(dict[str, Raw]).decode
_read_meta = msgspec.json.Decoder(dict[str, Any]).decode
_read_any = msgspec.json.Decoder().decode
_read_text = msgspec.json.Decoder(str).decode


def discreet(params: Raw, hide: Redact) -> Raw:
    """What a child says of its own accord, as it is unless something in it tells a secret.

    Every member counts, names included. Where letters may be written as escapes, it is read first.
    """
    if b"\\" not in bytes(params):
        text = str(memoryview(params), "utf-8", "replace")
        if hide(text) == text:
            return params
    said = _read_any(params or b"{}")
    told = without_secrets(said, hide)
    return params if told == said else Raw(encode(told))


def marked_input(child: str, method: str, params: Raw, hide: Redact = NO_SECRETS) -> Input:
    """A child's question, with its name before its words. Raises MsgspecError."""
    members: dict[str, Any] = dict(_read_members(discreet(params, hide) or b"{}"))
    members["_meta"] = {**_foreign(members.get("_meta")), SERVER_KEY: child}
    if method == "elicitation/create":
        said = _cleaned(_read_text(members.get("message", b'""')), _MAX_MESSAGE)
        members["message"] = f"The server `{child}` asks: {said}"
        if "requestedSchema" in members:
            members["requestedSchema"] = _legible(_read_any(members["requestedSchema"]))
        if "url" in members:
            _check_page(_read_text(members["url"]))
    # Again once it is cleaned: what cannot be seen may have stood in the middle of a secret.
    return Input(method, discreet(Raw(encode(members)), hide))


def marked_inputs(
    child: str, wanted: Mapping[str, tuple[str, Raw]], hide: Redact
) -> dict[str, Input]:
    """Several questions by the keys that the child gave them. Raises MsgspecError."""
    inputs = {key: marked_input(child, *each, hide) for key, each in wanted.items()}
    for key in inputs:
        if is_reserved(key) or hide(key) != key:
            raise msgspec.ValidationError("the name of a question is not the server's to use")
    return inputs


def _check_page(url: str) -> None:
    """A page is one of the web: the client is about to open it for somebody. Raises MsgspecError.

    A browser understands other schemes as commands, and shows the wrong host before an `@`.
    """
    from urllib.parse import urlsplit  # noqa: PLC0415 - few are led to a page

    try:
        parts = urlsplit(url)
        is_page = (
            parts.scheme in {"http", "https"}
            and bool(parts.hostname)
            and "@" not in parts.netloc
            and url.isprintable()
            and not set(url) & _NOT_IN_URLS
        )
    except ValueError:
        is_page = False
    if not is_page:
        raise msgspec.ValidationError("only pages of `http` and `https` can be visited")


def marked_error(child: str, error: RpcError, hide: Redact = NO_SECRETS) -> RpcError:
    """A refusal; one that wants a page visited first is a question too."""
    data: Any = error.data
    if error.code != URL_ELICITATION_REQUIRED or not isinstance(data, dict):
        return error
    members = cast("dict[str, Any]", data)
    pages: Any = members.get("elicitations")
    if not isinstance(pages, list):
        return error
    marked: list[Any] = []
    for page in cast("list[Any]", pages):
        try:
            wanted = marked_input(child, "elicitation/create", Raw(encode(page)), hide)
        except msgspec.MsgspecError:
            continue
        marked.append(_read_any(wanted.params))
    return RpcError(error.code, error.message, {**members, "elicitations": marked})


def pages_of(error: RpcError) -> list[str]:
    """The ids of the pages that a refusal, once marked, wants visited."""
    data: Any = error.data
    if error.code != URL_ELICITATION_REQUIRED or not isinstance(data, dict):
        return []
    pages: list[dict[str, Any]] = cast("dict[str, Any]", data).get("elicitations") or []
    return [str(page.get(PAGE_ID, "")) for page in pages]


def marked_log(child: str, params: Raw, hide: Redact = NO_SECRETS) -> tuple[str, bytes]:
    """The level of a child's log message, and the message under its name. Raises MsgspecError."""
    members: dict[str, Any] = dict(_read_members(discreet(params, hide)))
    level = _read_text(members.get("level", b'"info"'))
    logger = _cleaned(_read_text(members["logger"]), _MAX_LOGGER) if "logger" in members else ""
    members["logger"] = f"{child}/{logger}" if logger else child
    members.pop("_meta", None)
    return level, bytes(discreet(Raw(encode(members)), hide))


def _legible(schema: Any) -> Any:
    """A form whose labels show what they say; names and values are the child's to read again."""
    if isinstance(schema, list):
        return [_legible(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _label(value) if key in _LABELS else _legible(value)
        for key, value in cast("dict[str, Any]", schema).items()
    }


def _label(value: Any) -> Any:
    if isinstance(value, str):
        return _cleaned(value, _MAX_MESSAGE)
    if isinstance(value, list):
        return [_label(each) for each in cast("list[Any]", value)]
    # A field of the form may have the name of a label.
    return _legible(value)


def _foreign(raw: Raw | None) -> dict[str, Any]:
    """Members that are the child's to set: none in our name, none that steers the protocol."""
    if raw is None:
        return {}
    return {key: value for key, value in _read_meta(raw).items() if not is_reserved(key)}


def _cleaned(text: str, limit: int) -> str:
    # Its patterns take a while to compile, and most servers never say a word of their own.
    from switchboard.core.privacy.cleaning import cleaned  # noqa: PLC0415

    return cleaned(text, limit)
