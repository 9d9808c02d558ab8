"""Logins that end: what their server is told, as far as it wants to know."""

import asyncio
from contextlib import suppress
from typing import Literal

from switchboard.core.faults import Fault
from switchboard.oauth.client_identity import ClientIdentity
from switchboard.oauth.grant import Grant
from switchboard.oauth.http.guarded_web import GuardedWeb
from switchboard.oauth.token_endpoint import revoke

# Somebody waits who has logged in already.
_PATIENCE_S = 10.0

# What became of the tokens at their server; `not-offered` where it takes no such word.
Revoked = Literal["yes", "failed", "not-offered", ""]


async def end_login(grant: Grant, configured_secret: str, web: GuardedWeb) -> Revoked:
    """Have a server forget the tokens of a login, and the client that was registered for it."""
    client = grant.client(configured_secret)
    revoked = await _revoked(grant, client, web)
    # Last: without its client nobody can have a token revoked.
    await _unregister(grant, web)
    return revoked


async def end_replaced(old: Grant | None, new: Grant, web: GuardedWeb) -> None:
    """Have a server forget a login in whose place there is another one.

    Only where each login had a client of its own. Many servers end everything that a person has
    granted to a client as soon as one token of it is revoked, the new login with the old one.
    """
    if old is None or old.key.client_id == new.key.client_id:
        return
    with suppress(TimeoutError):
        async with asyncio.timeout(_PATIENCE_S):
            await end_login(old, "", web)


async def _revoked(grant: Grant, client: ClientIdentity, web: GuardedWeb) -> Revoked:
    if not grant.revocation_url or not (grant.refresh_token or grant.access_token):
        return "not-offered"
    done = True
    # The one that lasts first.
    for token, kind in (
        (grant.refresh_token, "refresh_token"),
        (grant.access_token, "access_token"),
    ):
        if token:
            done = await revoke(grant.revocation_url, client, token, kind, web) and done
    return "yes" if done else "failed"


async def _unregister(grant: Grant, web: GuardedWeb) -> None:
    """By RFC 7592. Whatever comes of it: nobody uses the client any more."""
    registration = grant.registration
    if registration is None:
        return
    try:
        await web.delete(
            registration.url,
            "the registration of the client",
            {"authorization": f"Bearer {registration.token}"},
        )
    except Fault:
        return
