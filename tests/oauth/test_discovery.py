"""Where one logs in to a server, found by the configuration and by what servers say."""

from typing import Any

import pytest

from oauth.scripted_servers import METADATA, RESOURCE, ScriptedServers, Told, scripted_servers
from switchboard.children.schema import OAuth, ServerEntry
from switchboard.core.faults import Fault
from switchboard.oauth.addresses import rules_for
from switchboard.oauth.discovery import Found, discover
from switchboard.oauth.http.guarded_web import GuardedWeb

WELL_KNOWN = "/.well-known/"


def entry(url: str, **auth: Any) -> ServerEntry:
    declared = OAuth(client_id="client", **auth) if auth else None
    return ServerEntry(name="notes", transport="http", url=url, auth=declared)


async def found(server: ServerEntry) -> Found:
    web = GuardedWeb(rules_for(server), {})
    try:
        return await discover(server, web, None)
    finally:
        await web.aclose()


async def refused(server: ServerEntry) -> Fault:
    with pytest.raises(Fault) as raised:
        await found(server)
    return raised.value


async def test_a_server_names_its_metadata_when_it_refuses_us() -> None:
    async with scripted_servers() as servers:
        challenge = f'Bearer scope="a b", resource_metadata="{servers.base}/elsewhere"'
        servers.script["/mcp"] = Told(401, {}, {"www-authenticate": challenge})
        servers.script["/elsewhere"] = Told(200, servers.resource(scopes_supported=["c"]))
        del servers.script[RESOURCE]
        where = await found(entry(servers.url))
        assert where.server.issuer == servers.base
        assert where.server.token_url == f"{servers.base}/token"
        assert where.resource == servers.url
        # What it wants just now goes before what it has.
        assert where.scopes == ("a", "b")
        assert servers.paths() == ["/mcp", "/elsewhere", METADATA]


async def test_else_the_metadata_lies_where_everybody_looks() -> None:
    async with scripted_servers() as servers:
        servers.script["/mcp"] = Told(401)
        servers.script[f"{WELL_KNOWN}oauth-protected-resource"] = Told(
            200, {**servers.resource(scopes_supported=["c"]), "resource": servers.base}
        )
        del servers.script[RESOURCE]
        where = await found(entry(servers.url))
        assert (where.resource, where.scopes) == (servers.base, ("c",))


@pytest.mark.parametrize(
    "path",
    [
        f"{WELL_KNOWN}oauth-authorization-server/tenant",
        f"{WELL_KNOWN}openid-configuration/tenant",
        f"/tenant{WELL_KNOWN}openid-configuration",
    ],
)
async def test_an_issuer_with_a_path_is_found_in_every_place(path: str) -> None:
    async with scripted_servers() as servers:
        issuer = f"{servers.base}/tenant"
        servers.script[RESOURCE] = Told(200, servers.resource(authorization_servers=[issuer]))
        servers.script[path] = Told(200, servers.metadata(issuer=issuer))
        assert (await found(entry(servers.url))).server.issuer == issuer


async def test_a_server_of_the_first_version_is_its_own_authorization_server() -> None:
    async with scripted_servers() as servers:
        servers.script["/mcp"] = Told(401)
        del servers.script[RESOURCE]
        assert (await found(entry(servers.url))).server.issuer == servers.base


async def test_a_server_that_lets_everybody_in_can_be_logged_in_to() -> None:
    async with scripted_servers() as servers:
        servers.script["/mcp"] = Told(200)
        assert (await found(entry(servers.url))).server.issuer == servers.base


@pytest.mark.requirement("S4.46")
async def test_the_configured_issuer_goes_before_what_the_server_says() -> None:
    async with scripted_servers() as servers, scripted_servers() as evil:
        servers.script[RESOURCE] = Told(200, servers.resource(authorization_servers=[evil.base]))
        where = await found(entry(servers.url, issuer_url=servers.base))
        assert where.server.issuer == servers.base
        assert evil.asked == []


@pytest.mark.requirement("S4.47")
async def test_metadata_can_lie_at_an_address_of_its_own() -> None:
    async with scripted_servers() as servers:
        servers.script["/about"] = Told(200, servers.metadata())
        where = await found(entry(servers.url, metadata_url=f"{servers.base}/about"))
        assert where.server.token_url == f"{servers.base}/token"
        servers.script["/about"] = Told(200, servers.metadata(issuer="https://evil.example"))
        fault = await refused(entry(servers.url, metadata_url=f"{servers.base}/about"))
        assert fault.reason == "login-metadata-invalid"


@pytest.mark.requirement("S4.48", "S4.49", "S4.50")
async def test_endpoints_can_be_named_one_by_one() -> None:
    async with scripted_servers() as servers:
        servers.script = {"/mcp": Told(401)}
        where = await found(
            entry(
                servers.url,
                authorization_url=f"{servers.base}/a",
                token_url=f"{servers.base}/t",
                revocation_url=f"{servers.base}/r",
            )
        )
        assert where.server.authorization_url == f"{servers.base}/a"
        assert where.server.token_url == f"{servers.base}/t"
        assert where.server.revocation_url == f"{servers.base}/r"
        assert METADATA not in servers.paths()


@pytest.mark.requirement("S4.46")
@pytest.mark.parametrize("field", ["issuer_url", "metadata_url", "authorization_url", "token_url"])
async def test_plain_http_elsewhere_loads_and_is_refused_at_login(field: str) -> None:
    urls = {"authorization_url": "https://a.example/a", "token_url": "https://a.example/t"}
    auth = {field: "http://login.example/x"}
    if field in urls:
        auth = {**urls, **auth}
    async with scripted_servers() as servers:
        fault = await refused(entry(servers.url, **auth))
        assert fault.reason == "login-url-refused"
        assert "unencrypted" in fault.message


def _without_s256(servers: ScriptedServers) -> None:
    servers.script[METADATA] = Told(200, servers.metadata(code_challenge_methods_supported=None))


def _plain_pkce(servers: ScriptedServers) -> None:
    servers.script[METADATA] = Told(
        200, servers.metadata(code_challenge_methods_supported=["plain"])
    )


def _other_issuer(servers: ScriptedServers) -> None:
    servers.script[METADATA] = Told(200, servers.metadata(issuer="https://evil.example"))


def _other_resource(servers: ScriptedServers) -> None:
    servers.script[RESOURCE] = Told(200, servers.resource(resource="https://evil.example/mcp"))


def _no_endpoints(servers: ScriptedServers) -> None:
    servers.script[METADATA] = Told(200, servers.metadata(token_endpoint=None))


def _a_page(servers: ScriptedServers) -> None:
    servers.script[METADATA] = Told(200, b"<html>hello", {"content-type": "text/html"})


def _nothing(servers: ScriptedServers) -> None:
    del servers.script[METADATA]


def _too_deep(servers: ScriptedServers) -> None:
    servers.script[METADATA] = Told(200, b"[" * 100_000)


@pytest.mark.parametrize(
    "spoil",
    [
        *(_without_s256, _plain_pkce, _other_issuer, _other_resource, _no_endpoints, _a_page),
        *(_nothing, _too_deep),
    ],
)
async def test_metadata_that_is_not_safe_ends_the_login(spoil: Any) -> None:
    async with scripted_servers() as servers:
        spoil(servers)
        fault = await refused(entry(servers.url))
        assert fault.reason == "login-metadata-invalid"
        assert "evil" not in fault.message
        assert "/token" not in servers.paths()
        assert "/register" not in servers.paths()


@pytest.mark.parametrize(
    "member",
    ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"],
)
@pytest.mark.parametrize(
    "url",
    ["http://169.254.169.254/x", "file:///etc/passwd", "http://example.com/x", "javascript:1"],
)
async def test_an_endpoint_that_leads_elsewhere_ends_the_login(member: str, url: str) -> None:
    async with scripted_servers() as servers:
        servers.script[METADATA] = Told(200, servers.metadata(**{member: url}))
        fault = await refused(entry(servers.url))
        assert fault.reason == "login-url-refused"


async def test_what_a_server_elsewhere_names_does_not_lead_to_this_machine() -> None:
    """The three ways in: its metadata, its authorization server, and an endpoint of that."""
    async with scripted_servers() as inner:
        web = GuardedWeb(rules_for(entry("https://mcp.example/mcp")), {})
        for url in (f"{inner.base}/a", f"https://127.0.0.1:{inner.port}/a"):
            with pytest.raises(Fault):
                await web.get(url, "the server")
            with pytest.raises(Fault):
                await web.post_form(url, "the server", {})
        assert inner.asked == []
