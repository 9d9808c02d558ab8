"""Logging in at the page: the authorization code of OpenID Connect, with PKCE."""

import base64
import hashlib
import hmac
import secrets
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from switchboard.core.people import NotLetIn, Person
from switchboard.daemon.team.people_page.sealed import SealedCookies
from switchboard.oauth.urls import with_query
from switchboard.people.options import PeopleOptions
from switchboard.people.token_door import TokenDoor
from switchboard.surface.http.listener import PEOPLE_PATH

LOGIN_S = 600.0
_RANDOM_BYTES = 32
_PURPOSE = "login"


class _Begun(Struct, frozen=True):
    """What a browser has to come back with."""

    state: str
    verifier: str
    nonce: str


class PageLogin:
    """Sends people to their issuer, and knows them when they are back."""

    def __init__(self, options: PeopleOptions, door: TokenDoor, cookies: SealedCookies) -> None:
        self._options = options
        self._door = door
        self._cookies = cookies
        parts = urlsplit(options.resource)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self._back = f"{self.origin}{PEOPLE_PATH}callback"

    async def begin(self) -> tuple[str, str]:
        """Where to log in, and what the browser is to keep meanwhile. Raises a fault."""
        begun = _Begun(*(secrets.token_urlsafe(_RANDOM_BYTES) for _ in range(3)))
        digest = hashlib.sha256(begun.verifier.encode()).digest()
        url = with_query(
            (await self._door.server()).authorization_url,
            {
                "response_type": "code",
                "client_id": self._options.client_id,
                "redirect_uri": self._back,
                "scope": "openid profile",
                "state": begun.state,
                "nonce": begun.nonce,
                "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
                "code_challenge_method": "S256",
            },
        )
        return url, self._cookies.seal(_PURPOSE, begun, LOGIN_S)

    async def end(self, query: str, kept: str) -> Person:
        """Who has come back. Raises NotLetIn, or a fault."""
        begun = self._cookies.open(_PURPOSE, kept, _Begun)
        given = {name: values[0] for name, values in parse_qs(query).items() if len(values) == 1}
        if begun is None or not hmac.compare_digest(
            given.get("state", "").encode(), begun.state.encode()
        ):
            raise NotLetIn("this is not the login that was begun here")
        if given.get("iss", self._options.issuer) != self._options.issuer:
            raise NotLetIn("another issuer has answered")
        if "code" not in given:
            raise NotLetIn("the issuer did not let you in")
        server = await self._door.server()
        form = {
            "grant_type": "authorization_code",
            "code": given["code"],
            "redirect_uri": self._back,
            "client_id": self._options.client_id,
            "code_verifier": begun.verifier,
        }
        id_token = await self._door.tokens(server.token_url, form)
        return await self._door.visitor(id_token, begun.nonce)
