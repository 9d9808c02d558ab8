"""A server that refuses our credentials, and what it says about it."""

import asyncio
import contextlib
import re
from collections.abc import Mapping
from typing import Any, cast

import httpx2
import msgspec

from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.privacy.excerpts import server_words
from switchboard.core.privacy.secrets import Redact
from switchboard.wire.http_headers import media_type

UNAUTHORIZED = 401
FORBIDDEN = 403

_DESCRIPTION = re.compile(r'error_description\s*=\s*"((?:[^"\\]|\\.)*)"')
# Where servers put a sentence: OAuth, JSON-RPC, problem details, and everybody else.
_SENTENCES = ("error_description", "message", "detail", "title", "error")
_MOST_BYTES = 4_096
_MOST_CHARS = 300
_PATIENCE_S = 2.0


def credentials_fault(entry: ServerEntry, response: httpx2.Response) -> Fault:
    """What a refusal means where logins are not for us to bring."""
    status = response.status_code
    if status == FORBIDDEN or "authorization" in response.request.headers:
        return Fault(
            FaultCode.UNAUTHENTICATED,
            "token-refused",
            f"`{entry.name}` refused our credentials (HTTP status {status})",
            hint="check the `headers` of this server",
        )
    return Fault(
        FaultCode.UNAUTHENTICATED,
        "login-required",
        f"`{entry.name}` wants us to log in",
        hint="give this server an `Authorization` header",
    )


async def with_words(fault: Fault, response: httpx2.Response, hide: Redact) -> Fault:
    """The same fault with the server's own words, for its user's terminal alone.

    A client is told nothing of them: whoever refuses a login may repeat what it was sent.
    """
    if said := await _sentence(response):
        fault.owner = {**fault.owner, "server": server_words(said[:_MOST_CHARS], hide)}
    return fault


async def _sentence(response: httpx2.Response) -> str:
    found = _DESCRIPTION.search(response.headers.get("www-authenticate", ""))
    if found is not None:
        return re.sub(r"\\(.)", r"\1", found[1])
    body = b""
    with contextlib.suppress(httpx2.RequestError, TimeoutError):
        async with asyncio.timeout(_PATIENCE_S):
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > _MOST_BYTES:
                    break
    kind = media_type(response.headers.get("content-type", ""))
    if kind == "text/plain":
        return body[:_MOST_BYTES].decode("utf-8", "replace").strip()
    try:
        return _in_tree(msgspec.json.decode(body))
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _in_tree(tree: Any) -> str:
    if isinstance(tree, str):
        return tree
    if not isinstance(tree, dict):
        return ""
    members = cast("Mapping[str, Any]", tree)
    return next(filter(None, (_in_tree(members.get(name)) for name in _SENTENCES)), "")
