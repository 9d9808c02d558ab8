"""An MCP server and its authorization server in one, which lie as a test tells them to."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

Json = dict[str, Any]


class Asked(NamedTuple):
    """One request that came."""

    method: str
    path: str
    headers: dict[str, str]
    body: str

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body))


class Told(NamedTuple):
    """One answer."""

    status: int = 200
    body: Json | bytes = {}  # noqa: RUF012 - nobody changes it
    headers: dict[str, str] = {}  # noqa: RUF012 - as above


Answer = Told | Callable[[Asked], Told]
METADATA = "/.well-known/oauth-authorization-server"
RESOURCE = "/.well-known/oauth-protected-resource/mcp"


class ScriptedServers:
    """Answers by path; what is not in the script is not there."""

    def __init__(self) -> None:
        self.port = 0
        self.asked: list[Asked] = []
        self.script: dict[str, Answer] = {}

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.base}/mcp"

    def paths(self) -> list[str]:
        return [each.path for each in self.asked]

    def metadata(self, **more: Any) -> Json:
        """What a good authorization server says of itself; None takes a member away."""
        said = {
            "issuer": self.base,
            "authorization_endpoint": f"{self.base}/authorize",
            "token_endpoint": f"{self.base}/token",
            "registration_endpoint": f"{self.base}/register",
            "revocation_endpoint": f"{self.base}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none"],
            **more,
        }
        return {name: value for name, value in said.items() if value is not None}

    def resource(self, **more: Any) -> Json:
        return {"resource": self.url, "authorization_servers": [self.base], **more}

    def behave(self) -> None:
        """Answer as a good server does."""
        challenge = f'Bearer resource_metadata="{self.base}{RESOURCE}"'
        self.script |= {
            "/mcp": Told(401, {}, {"www-authenticate": challenge}),
            RESOURCE: Told(200, self.resource()),
            METADATA: Told(200, self.metadata()),
            "/register": Told(201, {"client_id": "registered"}),
            "/token": Told(200, token()),
            "/revoke": Told(200),
        }

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                first, *lines = head.decode().strip().split("\r\n")
                method, target, _ = first.split(" ")
                headers = {n.lower(): v for n, v in (line.split(": ", 1) for line in lines)}
                body = await reader.readexactly(int(headers.get("content-length", 0)))
                asked = Asked(method, target.partition("?")[0], headers, body.decode())
                self.asked.append(asked)
                answer = self.script.get(asked.path, Told(404))
                told = answer if isinstance(answer, Told) else answer(asked)
                said = told.body if isinstance(told.body, bytes) else json.dumps(told.body).encode()
                more = {"content-type": "application/json", **told.headers}
                more["content-length"] = str(len(said))
                lines = [f"HTTP/1.1 {told.status} X", *(f"{n}: {v}" for n, v in more.items())]
                writer.write("\r\n".join([*lines, "", ""]).encode() + said)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


def token(access: str = "access-token-1", **more: Any) -> Json:
    """A good answer of a token endpoint."""
    return {
        "access_token": access,
        "token_type": "Bearer",
        "expires_in": 3600,
        "refresh_token": "refresh-token-1",
        **more,
    }


@asynccontextmanager
async def scripted_servers() -> AsyncGenerator[ScriptedServers]:
    """A server on this machine, good until told otherwise."""
    servers = ScriptedServers()
    async with await asyncio.start_server(servers.serve, "127.0.0.1", 0) as listener:
        servers.port = listener.sockets[0].getsockname()[1]
        servers.behave()
        yield servers
        listener.close()
