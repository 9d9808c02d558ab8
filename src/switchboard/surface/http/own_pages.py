"""Pages of our own over HTTP: their files, and what no browser may do with them."""

import os
from collections.abc import MutableMapping
from functools import cache
from typing import Any

from switchboard.surface.http.exchange import Exchange, HttpReply, Refusal, Send

_KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        *("base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"),
        "require-trusted-types-for 'script'",
    )
)
_ALWAYS = tuple(
    (name.encode(), value.encode())
    for name, value in {
        "content-security-policy": _POLICY,
        "x-frame-options": "DENY",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }.items()
)


def guarded(send: Send) -> Send:
    """The same, with what keeps pages of others away in every response."""

    async def send_guarded(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message["headers"], *_ALWAYS]
        await send(message)

    return send_guarded


def check_own_page(exchange: Exchange) -> None:
    """Whoever asks is our page: a browser says so, of what changes something always.

    Raises Refusal.
    """
    if exchange.method != "GET" and exchange.header("origin") is None:
        raise Refusal(403, "a request that changes something must say its `Origin`")
    if exchange.header("sec-fetch-site") not in (None, "same-origin"):
        raise Refusal(403, "only the page itself may ask this")


def check_method(exchange: Exchange, method: str) -> None:
    """Raise Refusal for any other one."""
    if exchange.method != method:
        headers = ((b"allow", method.encode()),)
        raise Refusal(405, "this method is not offered", headers=headers)


async def reply_file(exchange: Exchange, folder: str) -> None:
    """Send the file that the path names, or the page itself. Raises Refusal."""
    check_method(exchange, "GET")
    name = exchange.path.removeprefix("/") or "index.html"
    found = _files(folder).get(name)
    if found is None:
        raise Refusal(404, "there is no such page")
    kind = _KINDS[name.rpartition(".")[2]]
    headers = ((b"cache-control", b"no-cache"),)
    await exchange.reply(HttpReply(200, (found,), headers, media_type=kind))


@cache
def _files(folder: str) -> dict[str, bytes]:
    """Every file of a page by its name; there are few, and they are small."""
    found: dict[str, bytes] = {}
    for entry in os.scandir(folder):
        if entry.name.rpartition(".")[2] in _KINDS:
            with open(entry.path, "rb") as file:
                found[entry.name] = file.read()
    return found
