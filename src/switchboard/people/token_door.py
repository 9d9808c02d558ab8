"""Letting people in by access tokens of the issuer."""

import asyncio
import hashlib
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import msgspec

from switchboard.core.people import NotLetIn, Person
from switchboard.oauth.addresses import AddressRules
from switchboard.oauth.faults import metadata_invalid
from switchboard.oauth.http.guarded_web import GuardedWeb
from switchboard.oauth.metadata import (
    AuthorizationServer,
    ServerMetadata,
    checked_server,
    read_metadata,
)
from switchboard.oauth.urls import is_issuer, resource_metadata_urls, server_metadata_urls
from switchboard.people.issuer_keys import RENEW_S, IssuerKeys
from switchboard.people.jws import is_signed_by, read_token
from switchboard.people.options import PeopleOptions
from switchboard.wire.http_hosts import is_loopback

_LONGEST_WORD = 256
_MOST_GROUPS = 1_000
_LAST_SECOND = 1 << 53
_FORBIDDEN = 403
_REMEMBERED_S = 30.0
_MOST_REMEMBERED = 4_096


class _Published(msgspec.Struct, frozen=True):
    """What is read of the description of the issuer."""

    issuer: str
    jwks_uri: str = ""


class _Tokens(msgspec.Struct, frozen=True):
    """What is read of the answer to a code."""

    id_token: str


_P = TypeVar("_P", _Published, ServerMetadata)
_ABOUT = "what the issuer says of itself"


class TokenDoor:
    """Knows people by signed access tokens (RFC 9068 and what came before it)."""

    def __init__(
        self,
        options: PeopleOptions,
        environ: Mapping[str, str],
        *,
        clock: Callable[[], float] = time.time,
        keys: IssuerKeys | None = None,
    ) -> None:
        self._options = options
        # Those that were checked moments ago, with whose they are and until when that counts.
        self._remembered: dict[str, tuple[Person, float]] = {}
        self._clock = clock
        self._web = GuardedWeb(address_rules(options), environ)
        self._keys = keys or IssuerKeys(self._fetch)
        # Where people log in, and when the issuer said so.
        self._server: AuthorizationServer | None = None
        self._server_at = 0.0
        self._asking = asyncio.Lock()
        self._audience = frozenset({options.resource, *options.audience})
        self.scopes = options.scopes
        self.document_url = resource_metadata_urls(options.resource)[0]
        about: dict[str, Any] = {
            "resource": options.resource,
            "authorization_servers": [options.issuer],
            "bearer_methods_supported": ["header"],
        }
        if options.scopes:
            about["scopes_supported"] = options.scopes
        self.document = msgspec.json.encode(about)

    async def person(self, token: str, /) -> Person:
        known = self._remembered.get(token)
        if known is not None and self._clock() < known[1]:
            return known[0]
        options = self._options
        read = read_token(token)
        # Before anything is fetched or reckoned for it.
        if read.header.alg not in options.algorithms:
            raise NotLetIn("the token is signed in a way that is not accepted")
        claims = _claims(read.payload)
        self._check_claims(claims, self._audience)
        if not is_signed_by(read, await self._keys.of(read)):
            raise NotLetIn("the signature of the token is not right")
        person = self._known(claims)
        self._check_group(person)
        self._check_scopes(claims)
        self._remember(token, person, float(claims["exp"]))
        return person

    def _remember(self, token: str, person: Person, until: float) -> None:
        """A signature takes longer to check than the rest of a request to read."""
        if len(self._remembered) >= _MOST_REMEMBERED:
            self._remembered.clear()
        soon = self._clock() + _REMEMBERED_S
        self._remembered[token] = (person, min(soon, until + self._options.clock_skew))

    async def visitor(self, id_token: str, nonce: str) -> Person:
        """Who has logged in at the page, as the issuer says it there. Raises NotLetIn."""
        read = read_token(id_token)
        if read.header.alg not in self._options.algorithms:
            raise NotLetIn("the token is signed in a way that is not accepted")
        claims = _claims(read.payload)
        self._check_claims(claims, frozenset({self._options.client_id}))
        if claims.get("nonce") != nonce:
            raise NotLetIn("the token is of another login")
        if not is_signed_by(read, await self._keys.of(read)):
            raise NotLetIn("the signature of the token is not right")
        person = self._known(claims)
        self._check_group(person)
        return person

    async def server(self) -> AuthorizationServer:
        """Where people log in. Raises a fault.

        Anybody can begin a login, so that the issuer is asked seldom here, too.
        """
        async with self._asking:
            if self._server is None or not 0 <= self._clock() - self._server_at < RENEW_S:
                published = await self._published(ServerMetadata)
                self._server = checked_server(published, self._web.rules)
                self._server_at = self._clock()
            return self._server

    async def tokens(self, url: str, form: Mapping[str, str]) -> str:
        """The ID token that a code is changed for. Raises a fault, or NotLetIn."""
        answer = await self._web.post_form(url, "the issuer", form)
        if not answer.is_ok:
            raise NotLetIn("the issuer did not take the login")
        return read_metadata(_Tokens, answer.body, "what the issuer answers").id_token

    async def aclose(self) -> None:
        """Close every connection to the issuer."""
        await self._web.aclose()

    def _check_claims(self, claims: Mapping[str, Any], audience: frozenset[str]) -> None:
        """That it is for us, of our issuer, and of now. Raises NotLetIn."""
        now, skew = self._clock(), self._options.clock_skew
        if claims.get("iss") != self._options.issuer:
            raise NotLetIn("the token is of another issuer")
        if audience.isdisjoint(_words(claims.get("aud"))):
            raise NotLetIn("the token is for another server")
        until = _second(claims.get("exp"))
        if until is None:
            raise NotLetIn("the token does not say how long it holds")
        if until + skew <= now:
            raise NotLetIn("the token has expired")
        for name in ("nbf", "iat"):
            since = _second(claims.get(name))
            if name in claims and (since is None or since - skew > now):
                raise NotLetIn("the token does not hold yet")

    def _known(self, claims: Mapping[str, Any]) -> Person:
        options = self._options
        subject = claims.get(options.subject_claim)
        if not isinstance(subject, str) or not _is_word(subject):
            raise NotLetIn("the token does not say whose it is")
        name = claims.get(options.name_claim)
        return Person(
            key=person_key(options.issuer, subject),
            subject=subject,
            name=name if isinstance(name, str) and _is_word(name) and name != subject else "",
            groups=frozenset(_groups(claims, options.groups_claim)),
        )

    def _check_group(self, person: Person) -> None:
        needed = self._options.required_group
        if needed and needed not in person.groups:
            message = "whoever has this token does not belong to those who may use this server"
            raise NotLetIn(message, error="access_denied", status=_FORBIDDEN)

    def _check_scopes(self, claims: Mapping[str, Any]) -> None:
        options = self._options
        given = claims.get("scope", claims.get("scp"))
        if not set(options.scopes) <= set(
            _words(given.split() if isinstance(given, str) else given)
        ):
            raise NotLetIn(
                "the token is not good for what this server does",
                error="insufficient_scope",
                status=_FORBIDDEN,
            )

    async def _fetch(self) -> bytes:
        answer = await self._web.get(await self._keys_url(), "the keys of the issuer")
        if not answer.is_ok:
            raise metadata_invalid(f"the keys of the issuer answer with status {answer.status}")
        return answer.body

    async def _keys_url(self) -> str:
        options = self._options
        url = options.jwks_url or (await self._published(_Published)).jwks_uri
        if not url:
            why = "the issuer does not say where its keys are"
            raise metadata_invalid(why, hint="set `jwks_url`")
        return url

    async def _published(self, kind: type[_P]) -> _P:
        """What the issuer says of itself. Raises a fault."""
        for url in server_metadata_urls(self._options.issuer):
            answer = await self._web.get(url, _ABOUT)
            if answer.is_ok:
                found = read_metadata(kind, answer.body, _ABOUT)
                if is_issuer(found.issuer, self._options.issuer):
                    return found
        raise metadata_invalid("the issuer says nothing of itself", hint="set `jwks_url`")


def address_rules(options: PeopleOptions) -> AddressRules:
    """What may be dialled: the issuer is written down, so it may be in a private network."""
    urls = (options.issuer, options.jwks_url)
    hosts = frozenset((urlsplit(url).hostname or "").lower() for url in urls if url)
    return AddressRules(loopback=any(map(is_loopback, hosts)), own_hosts=hosts)


def person_key(issuer: str, subject: str) -> str:
    """What stands for somebody wherever people are compared."""
    return hashlib.sha256(f"{issuer}\n{subject}".encode()).hexdigest()[:32]


def _claims(payload: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(payload, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise NotLetIn("the token says nothing that could be read") from None


def _groups(claims: Mapping[str, Any], name: str) -> list[str]:
    """A claim of that name, or the one that its dots lead to: some issuers nest them."""
    found: Any = claims
    for step in (name,) if name in claims else name.split("."):
        found = cast("dict[str, Any]", found).get(step) if isinstance(found, dict) else None
    return _words(found)[:_MOST_GROUPS]


def _words(value: Any) -> list[str]:
    given = [value] if isinstance(value, str) else value
    if not isinstance(given, list):
        return []
    return [each for each in cast("list[Any]", given) if isinstance(each, str) and _is_word(each)]


def _is_word(text: str) -> bool:
    return 0 < len(text) <= _LONGEST_WORD and text.isprintable()


def _second(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    # Compared before anything else: a whole number may be longer than any other kind can hold.
    return value if abs(value) < _LAST_SECOND else None
