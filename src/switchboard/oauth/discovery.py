"""Finding out where one logs in to a server."""

from msgspec import Struct

from switchboard.children.schema import OAuth, ServerEntry
from switchboard.core.faults import Fault
from switchboard.oauth.challenge import Challenge, read_challenge, scopes_in
from switchboard.oauth.faults import metadata_invalid
from switchboard.oauth.http.guarded_web import GuardedWeb
from switchboard.oauth.metadata import (
    AuthorizationServer,
    ResourceMetadata,
    ServerMetadata,
    checked_server,
    read_metadata,
)
from switchboard.oauth.urls import (
    checked_url,
    covers,
    is_issuer,
    origin_of,
    resource_metadata_urls,
    resource_of,
    server_metadata_urls,
)

_UNAUTHORIZED = 401
_SERVER_FAILED = 500
_ABOUT_RESOURCE = "what the server says of its logins"
_ABOUT_SERVER = "what the authorization server says of itself"
# Whoever wants a token wants it for this, whichever era it speaks.
_PROBE = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'


class Found(Struct, frozen=True, kw_only=True):
    """Where to log in to a server, for what, and with what it wants."""

    server: AuthorizationServer
    # What tokens are asked for.
    resource: str
    # What the MCP server wants. None where it does not say.
    scopes: tuple[str, ...] | None = None


async def discover(entry: ServerEntry, web: GuardedWeb, challenge: Challenge | None) -> Found:
    """Find it by the configuration, and by what the server says. Raises a fault.

    `challenge` is what the server said when it refused a request of ours, if it did.
    """
    checked_url(entry.url, f"the `url` of `{entry.name}`", web.rules)
    if challenge is None:
        challenge = await _challenge(entry, web)
    about = await _resource(entry, web, challenge)
    scopes = challenge.scopes or None
    if scopes is None and about is not None and about.scopes_supported is not None:
        scopes = scopes_in(" ".join(about.scopes_supported))
    return Found(
        server=await _server(entry, web, about),
        resource=resource_of(about.resource if about is not None else entry.url),
        scopes=scopes,
    )


async def _challenge(entry: ServerEntry, web: GuardedWeb) -> Challenge:
    method, body = ("GET", None) if entry.transport == "sse" else ("POST", _PROBE)
    answer = await web.probe(method, entry.url, f"`{entry.name}`", body)
    if answer.status != _UNAUTHORIZED:
        # Some let everybody in and know more about those who have logged in.
        return Challenge()
    return read_challenge(answer.www_authenticate)


async def _resource(
    entry: ServerEntry, web: GuardedWeb, challenge: Challenge
) -> ResourceMetadata | None:
    named = [challenge.resource_metadata] if challenge.resource_metadata else []
    for url in (*named, *resource_metadata_urls(entry.url)):
        answer = await web.get(url, _ABOUT_RESOURCE)
        if answer.is_ok:
            found = read_metadata(ResourceMetadata, answer.body, _ABOUT_RESOURCE)
            if not covers(found.resource, entry.url):
                raise metadata_invalid(
                    f"`{entry.name}` says that its tokens are for another server",
                    hint="set `url` to the address that it is known by",
                )
            return found
        if answer.status >= _SERVER_FAILED:
            raise metadata_invalid(f"`{entry.name}` fails when it is asked where to log in")
    return None


async def _server(
    entry: ServerEntry, web: GuardedWeb, about: ResourceMetadata | None
) -> AuthorizationServer:
    if entry.auth is not None:
        return await _configured(entry.auth, web)
    if about is not None and about.authorization_servers:
        return await _by_issuer(about.authorization_servers[0], web)
    # Before 2025-06-18 a server was its own authorization server, at the root of its host.
    scheme, _, rest = entry.url.partition("://")
    return await _by_issuer(f"{scheme}://{rest.partition('/')[0]}", web)


async def _configured(auth: OAuth, web: GuardedWeb) -> AuthorizationServer:
    """What the configuration names goes before what servers say."""
    if auth.metadata_url:
        return _with_endpoints(auth, await _by_document(auth, web), web)
    if auth.authorization_url:
        # Nobody describes this server, so PKCE is used with it as with any other.
        found = AuthorizationServer(
            issuer=auth.issuer_url, authorization_url="", token_url="", auth_methods=None
        )
        return _with_endpoints(auth, found, web)
    return _with_endpoints(auth, await _by_issuer(auth.issuer_url, web), web)


def _with_endpoints(
    auth: OAuth, found: AuthorizationServer, web: GuardedWeb
) -> AuthorizationServer:
    def checked(field: str, url: str, otherwise: str) -> str:
        return checked_url(url, f"`{field}`", web.rules) if url else otherwise

    return AuthorizationServer(
        issuer=found.issuer,
        authorization_url=checked(
            "authorization_url", auth.authorization_url, found.authorization_url
        ),
        token_url=checked("token_url", auth.token_url, found.token_url),
        revocation_url=checked("revocation_url", auth.revocation_url, found.revocation_url),
        registration_url=found.registration_url,
        device_url=found.device_url,
        auth_methods=found.auth_methods,
        scopes=found.scopes,
        names_itself=found.names_itself,
        takes_metadata_documents=found.takes_metadata_documents,
    )


async def _by_document(auth: OAuth, web: GuardedWeb) -> AuthorizationServer:
    answer = await web.get(auth.metadata_url, "`metadata_url`")
    if not answer.is_ok:
        raise metadata_invalid(f"`metadata_url` answers with HTTP status {answer.status}")
    found = read_metadata(ServerMetadata, answer.body, "what `metadata_url` leads to")
    is_meant = (
        is_issuer(found.issuer, auth.issuer_url)
        if auth.issuer_url
        else origin_of(found.issuer) == origin_of(auth.metadata_url)
    )
    if not is_meant:
        raise metadata_invalid("what `metadata_url` leads to is about another authorization server")
    return checked_server(found, web.rules)


async def _by_issuer(issuer: str, web: GuardedWeb) -> AuthorizationServer:
    checked_url(issuer, "the authorization server", web.rules)
    failure: Fault | None = None
    for url in server_metadata_urls(issuer):
        answer = await web.get(url, _ABOUT_SERVER)
        if not answer.is_ok:
            continue
        try:
            found = read_metadata(ServerMetadata, answer.body, _ABOUT_SERVER)
        except Fault as fault:
            # Some answer every address with a page.
            failure = fault
            continue
        if not is_issuer(found.issuer, issuer):
            raise metadata_invalid("what the authorization server says of itself is about another")
        return checked_server(found, web.rules)
    raise failure or metadata_invalid(
        f"the authorization server at {origin_of(issuer)[1]} does not say how to log in",
        hint="name its endpoints with `authorization_url` and `token_url` in `auth`",
    )
