"""One login with a browser, from finding the server to the tokens."""

import base64
import hashlib
import secrets
import time
from collections.abc import Mapping
from hmac import compare_digest

from msgspec import Struct

from switchboard.children.schema import whose_login
from switchboard.oauth.client_identity import (
    ClientIdentity,
    configured_client,
    introduced_client,
)
from switchboard.oauth.discovery import Found, discover
from switchboard.oauth.faults import login_refused, named_error
from switchboard.oauth.grant import Grant, GrantKey
from switchboard.oauth.http.guarded_web import GuardedWeb
from switchboard.oauth.login.request import LoginRequest, asks_consent, wanted_scopes
from switchboard.oauth.token_endpoint import TokenEndpoint, TokenRefused, Tokens
from switchboard.oauth.urls import with_query

# 256 bits each, which is more than RFC 7636 demands of a verifier.
_RANDOM_BYTES = 32


class Prepared(Struct, frozen=True, kw_only=True):
    """A server that was found, and the client that we are to it."""

    request: LoginRequest
    found: Found
    client: ClientIdentity
    scopes: tuple[str, ...]

    def endpoint(self, web: GuardedWeb) -> TokenEndpoint:
        """Where its tokens come from."""
        return TokenEndpoint(self.found.server.token_url, self.client, self.found.resource, web)

    def grant(self, tokens: Tokens) -> Grant:
        """The login that these tokens make."""
        server, now = self.found.server, time.time()
        is_configured = self.request.entry.auth is not None
        return Grant(
            key=GrantKey(
                issuer=server.issuer or server.token_url,
                resource=self.found.resource,
                client_id=self.client.client_id,
                account=whose_login(self.request.entry),
            ),
            token_url=server.token_url,
            revocation_url=server.revocation_url,
            method=self.client.method,
            client_secret="" if is_configured else self.client.secret,
            registration=self.client.registration,
            access_token=tokens.access_token,
            refresh_token=tokens.refresh_token,
            expires_at=tokens.expires_at,
            obtained_at=now,
            asked=self.scopes,
            scopes=self.scopes if tokens.scopes is None else tokens.scopes,
            logged_in_at=now,
        )


async def prepare(
    request: LoginRequest, web: GuardedWeb, *, redirect_uri: str, with_device: bool = False
) -> Prepared:
    """Find the server, and be a client of it. Raises a fault."""
    entry = request.entry
    found = await discover(entry, web, request.challenge)
    scopes = wanted_scopes(request, found)
    if entry.auth is not None:
        client = configured_client(entry.auth.client_id, request.client_secret, found.server)
    else:
        client = await introduced_client(
            found.server,
            web,
            redirect_uri=redirect_uri,
            scopes=scopes,
            document_url=request.document_url,
            with_device=with_device,
        )
    return Prepared(request=request, found=found, client=client, scopes=scopes)


class LoginAttempt:
    """A page that a person is to visit, and what becomes of the answer."""

    def __init__(self, prepared: Prepared, redirect_uri: str) -> None:
        self.prepared = prepared
        self._redirect_uri = redirect_uri
        self._verifier = secrets.token_urlsafe(_RANDOM_BYTES)
        self._state = secrets.token_urlsafe(_RANDOM_BYTES)
        self.url = self._url()

    def _url(self) -> str:
        hashed = hashlib.sha256(self._verifier.encode("ascii")).digest()
        found, scopes = self.prepared.found, self.prepared.scopes
        return with_query(
            found.server.authorization_url,
            {
                "response_type": "code",
                "client_id": self.prepared.client.client_id,
                "redirect_uri": self._redirect_uri,
                "state": self._state,
                "code_challenge": base64.urlsafe_b64encode(hashed).decode("ascii").rstrip("="),
                "code_challenge_method": "S256",
                "resource": found.resource,
                **({"scope": " ".join(scopes)} if scopes else {}),
                **({"prompt": "consent"} if asks_consent(scopes) else {}),
            },
        )

    def is_ours(self, answer: Mapping[str, str]) -> bool:
        """Whether an answer belongs to this attempt."""
        return compare_digest(answer.get("state", "").encode(), self._state.encode())

    async def finish(self, answer: Mapping[str, str], web: GuardedWeb) -> Grant:
        """The login, by what the page brought back. Raises a fault."""
        if not self.is_ours(answer):
            raise login_refused("the answer belongs to another login, or to none")
        server = self.prepared.found.server
        # Letter by letter, by RFC 9207: whoever answers in the place of the server is found out.
        said = answer.get("iss")
        if (said is not None or server.names_itself) and said != server.issuer:
            raise login_refused("the answer is not from the authorization server that was asked")
        return await self._with_answer(answer, web)

    async def finish_with_code(self, code: str, web: GuardedWeb) -> Grant:
        """The login, by a code that a person typed. Raises a fault.

        PKCE alone binds a bare code to this attempt, so a server that names itself in its answers
        has to be heard.
        """
        if self.prepared.found.server.names_itself:
            raise login_refused(
                "this authorization server names itself in its answer, and a code alone does not",
                hint="paste the whole address that the browser was led to",
            )
        return await self._with_answer({"code": code}, web)

    async def _with_answer(self, answer: Mapping[str, str], web: GuardedWeb) -> Grant:
        if error := answer.get("error", ""):
            raise login_refused(f"the authorization server answered with {named_error(error)}")
        code = answer.get("code", "")
        if not code:
            raise login_refused("the answer holds no code")
        try:
            tokens = await self.prepared.endpoint(web).exchange(
                code, self._verifier, self._redirect_uri
            )
        except TokenRefused as refused:
            raise login_refused(str(refused)) from None
        return self.prepared.grant(tokens)


async def attempt_login(
    request: LoginRequest, web: GuardedWeb, redirect_uri: str
) -> "LoginAttempt":
    """Get ready to send a person to a page. Raises a fault."""
    return LoginAttempt(await prepare(request, web, redirect_uri=redirect_uri), redirect_uri)
