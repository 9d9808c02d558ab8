"""Requests to a token endpoint, and what becomes of the answers."""

import time

import msgspec
from msgspec import Struct

from switchboard.core.faults import Fault
from switchboard.oauth.challenge import scopes_in
from switchboard.oauth.client_identity import DEVICE_GRANT, ClientIdentity, error_in
from switchboard.oauth.faults import login_refused, metadata_invalid, named_error
from switchboard.oauth.http.guarded_web import GuardedWeb, WebAnswer

_WHAT = "the token endpoint"
_OK = 200
_REFUSED = 400
_UNAUTHORIZED = 401
_LONGEST_TOKEN = 16_384
# A year. What is said to last longer is asked for again then.
_LONGEST_S = 31_536_000.0


class Tokens(Struct, frozen=True, kw_only=True):
    """What a token endpoint gave."""

    access_token: str
    # Empty when it gave none: the one that was used stays good.
    refresh_token: str = ""
    # By the clock of the world; 0 when it is not said.
    expires_at: float = 0.0
    # None when it is not said, which means those that were asked for.
    scopes: tuple[str, ...] | None = None

    def __repr__(self) -> str:
        # As that of a grant.
        return "Tokens()"


class TokenRefused(Exception):
    """The token endpoint said no, for good or for now."""

    def __init__(self, error: str, status: int, retry_after_s: float = 0.0) -> None:
        super().__init__(named_error(error))
        self.error = error
        self.status = status
        # How long it asks to be left alone.
        self.retry_after_s = retry_after_s

    @property
    def is_final(self) -> bool:
        """Whether nothing but another login helps."""
        return self.error == "invalid_grant" and self.status in (_REFUSED, _UNAUTHORIZED)

    def __str__(self) -> str:
        if self.error:
            return f"{_WHAT} answered with {named_error(self.error)}"
        return f"{_WHAT} answered with HTTP status {self.status}"


class _Answer(Struct):
    access_token: str
    token_type: str = "Bearer"  # noqa: S105 - its kind, not a token
    expires_in: float | str | None = None
    refresh_token: str | None = None
    scope: str | None = None


class TokenEndpoint:
    """One token endpoint, as one client asks it."""

    def __init__(self, url: str, client: ClientIdentity, resource: str, web: GuardedWeb) -> None:
        self._url = url
        self._client = client
        self._resource = resource
        self._web = web

    async def exchange(self, code: str, verifier: str, redirect_uri: str) -> Tokens:
        """Tokens for a code. Raises `TokenRefused` or a fault."""
        return await self._ask(
            {
                "grant_type": "authorization_code",
                "code": code,
                "code_verifier": verifier,
                "redirect_uri": redirect_uri,
            }
        )

    async def refresh(self, refresh_token: str) -> Tokens:
        """New tokens for an old one. Scopes are never asked for here, so they never grow."""
        return await self._ask({"grant_type": "refresh_token", "refresh_token": refresh_token})

    async def poll_device(self, device_code: str) -> Tokens:
        """Tokens for a device that somebody may have let in meanwhile."""
        return await self._ask({"grant_type": DEVICE_GRANT, "device_code": device_code})

    async def _ask(self, form: dict[str, str]) -> Tokens:
        form, headers = self._client.prove({**form, "resource": self._resource})
        answer = await self._web.post_form(self._url, _WHAT, form, headers)
        if answer.status != _OK:
            raise TokenRefused(error_in(answer.body), answer.status, answer.retry_after_s)
        return _read(answer)


async def revoke(url: str, client: ClientIdentity, token: str, kind: str, web: GuardedWeb) -> bool:
    """Have a token forgotten by its server, by RFC 7009. Says whether it was."""
    form, headers = client.prove({"token": token, "token_type_hint": kind})
    try:
        return (await web.post_form(url, "the revocation endpoint", form, headers)).is_ok
    except Fault:
        return False


def _read(answer: WebAnswer) -> Tokens:
    try:
        said = msgspec.json.decode(answer.body, type=_Answer)
        lasts_s = float(said.expires_in) if said.expires_in is not None else 0.0
    except (msgspec.MsgspecError, RecursionError, ValueError):
        # Some say with status 200 that they refuse.
        if error := error_in(answer.body):
            raise TokenRefused(error, _REFUSED) from None
        raise metadata_invalid(f"{_WHAT} answered with something that is no token") from None
    if said.token_type.lower() != "bearer":
        raise login_refused(f"{_WHAT} gave a token of a kind that we cannot use")
    for token in (said.access_token, said.refresh_token or ""):
        # It becomes a part of a header.
        if len(token) > _LONGEST_TOKEN or not (token.isascii() and token.isprintable()):
            raise metadata_invalid(f"{_WHAT} answered with something that is no token")
    if not said.access_token:
        raise metadata_invalid(f"{_WHAT} answered with something that is no token")
    return Tokens(
        access_token=said.access_token,
        refresh_token=said.refresh_token or "",
        expires_at=time.time() + min(lasts_s, _LONGEST_S) if lasts_s > 0 else 0.0,
        scopes=None if said.scope is None else scopes_in(said.scope),
    )
