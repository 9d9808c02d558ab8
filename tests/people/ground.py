"""A team whose people log in at a real issuer: two gateways, and tokens good and bad."""

import asyncio
import base64
import hashlib
import json
import secrets
import time
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx2
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm

from gate.ground import CAPABILITIES, FORMS, Gate, call
from support.mcp_stdio import modern_meta
from support.oauth_servers import OAuthServers, log_in_at, oauth_servers
from support.workspace import Json, Workspace
from switchboard.postgres.address import DatabaseAddress
from team.callers import ACCEPTS, request
from team.ground import PATIENCE, Gateway, free_port, gateway, team_log

MODERN = "2026-07-28"
# Where a person comes back to after they have logged in.
BACK = "http://127.0.0.1:9/callback"


class SigningKey:
    """A key as an issuer has one, with both of its halves."""

    def __init__(self, kid: str = "first") -> None:
        self.kid = kid
        self.private = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def jwk(self, *, private: bool = False) -> Json:
        key = self.private if private else self.private.public_key()
        return {**json.loads(RSAAlgorithm.to_jwk(key)), "kid": self.kid, "use": "sig"}


class Town:
    """The team, its issuer, and what the issuer signs with."""

    def __init__(
        self,
        gate: Gate,
        issuer: OAuthServers,
        gateways: list[Gateway],
        address: DatabaseAddress,
        key: SigningKey,
    ) -> None:
        self.gate = gate
        self.servers = issuer
        self.gateways = gateways
        self.address = address
        self.key = key
        self.resource = gateways[0].url

    def signed(self, user: str = "ada", key: SigningKey | None = None, **claims: Any) -> str:
        """Sign a token as the issuer would, with more claims."""
        return self.changed({"sub": user, **claims}, key)

    def changed(self, claims: Json, key: SigningKey | None = None) -> str:
        """Sign a token with other claims; those that are None are left out."""
        now = int(time.time())
        said = {
            "iss": self.servers.issuer,
            "aud": self.resource,
            "sub": "ada",
            "iat": now,
            "exp": now + 300,
            **claims,
        }
        key = key or self.key
        said = {name: value for name, value in said.items() if value is not None}
        return jwt.encode(said, key.private, "RS256", headers={"kid": key.kid, "typ": "at+jwt"})

    async def log_in(self, user: str) -> str:
        """Do what a person and their client do, and give the token."""
        verifier = secrets.token_urlsafe(32)
        digest = hashlib.sha256(verifier.encode()).digest()
        asked = {
            "response_type": "code",
            "client_id": "public-client",
            "redirect_uri": BACK,
            "scope": "openid",
            "resource": self.resource,
            "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
            "code_challenge_method": "S256",
            "state": "any",
        }
        back = await log_in_at(f"{self.servers.issuer}/auth?{urlencode(asked)}", user=user)
        [code] = parse_qs(urlsplit(back).query)["code"]
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": BACK,
            "client_id": "public-client",
            "code_verifier": verifier,
            "resource": self.resource,
        }
        async with httpx2.AsyncClient(trust_env=False) as http:
            given = await http.post(f"{self.servers.issuer}/token", data=form)
        assert given.status_code == 200, given.text
        return given.json()["access_token"]

    async def records(self, count: int = 1, **wanted: str) -> list[Json]:
        """Wait until the log of the team has so many of these, and give them, oldest first."""
        log = team_log(self.address)
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    rows: list[Json] = [json.loads(row.body) async for row in log.read()]
                    found = [row for row in rows if wanted.items() <= row.items()]
                    if len(found) >= count:
                        return found
        finally:
            await log.aclose()


@asynccontextmanager
async def town(
    address: DatabaseAddress,
    *,
    people: Mapping[str, Any] = {},
    more: str = "",
    groups: Mapping[str, Iterable[str]] = {},
    gateways: int = 2,
    agents: Iterable[str] = (),
    about: Callable[[OAuthServers], str] = lambda _: "",
    # Of the address that people know; gateways themselves never encrypt.
    scheme: str = "http",
) -> AsyncGenerator[Town]:
    """Run all of it. `people` are more keys of the section, the others more of the file."""
    key = SigningKey()
    ports = [free_port() for _ in range(gateways)]
    resource = f"{scheme}://127.0.0.1:{ports[0]}/mcp"
    async with AsyncExitStack() as then:
        servers = await then.enter_async_context(
            oauth_servers(
                gateway=resource,
                jwks={"keys": [key.jwk(private=True)]},
                groups={user: list(names) for user, names in groups.items()},
            )
        )
        folder = then.enter_context(TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True))
        gate = Gate(Workspace(Path(folder)))
        section = {"issuer": servers.issuer, "resource": resource, **people}
        lines = [f"{name} = {json.dumps(value)}" for name, value in section.items()]
        text = "\n".join(
            ["enable_mcp_server_surface = true", "[people]", *lines, more, about(servers)]
        )
        gate.workspace.config_toml(text, scope="home")
        for name in agents:
            file = gate.workspace.home / "agents" / f"{name}.toml"
            file.parent.mkdir(exist_ok=True)
            file.write_text(f'name = "{name}"\nengine = "codex"\n', "utf-8")
        running = [
            await then.enter_async_context(gateway(gate, address, "--drain", "0", port=port))
            for port in ports
        ]
        yield Town(gate, servers, running, address, key)


def bearer(token: str) -> dict[str, str]:
    return {**ACCEPTS, "authorization": f"Bearer {token}"}


def client() -> httpx2.AsyncClient:
    return httpx2.AsyncClient(trust_env=False, timeout=60)


async def begin(http: httpx2.AsyncClient, url: str, token: str) -> dict[str, str]:
    """Begin a session of the handshake era; gives the headers of its requests."""
    about = {"name": "test", "version": "1"}
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about}
    begun = await http.post(url, json=request("initialize", params), headers=bearer(token))
    assert begun.status_code == 200, begun.text
    return {**bearer(token), "mcp-session-id": begun.headers["mcp-session-id"]}


def modern(token: str, method: str, params: Json) -> tuple[Json, dict[str, str]]:
    """Write the body and the headers of a request that stands alone."""
    meta = {**modern_meta(), CAPABILITIES: FORMS}
    headers = {**bearer(token), "accept": "application/json"}
    headers |= {"mcp-protocol-version": MODERN, "mcp-method": method}
    if "name" in params:
        headers["mcp-name"] = params["name"]
    return request(method, {**params, "_meta": meta}), headers


def write(text: str) -> Json:
    return call("write", text=text)
