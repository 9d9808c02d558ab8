"""Phase `tokens`: what the listing of the six reference servers costs a model."""

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bpe_openai import get_encoding

from .link import Json, LinkLostError, encode
from .our_rows import BASE
from .row import CHECKOUT, SCRIPTS, Row, always
from .session import Session

NPM = CHECKOUT / "tests" / "node" / "node_modules" / "@modelcontextprotocol"


class ListingCost(NamedTuple):
    """One listing: what a model reads of it, and what goes over the wire."""

    tools: int
    tokens: int
    wire_tokens: int
    wire_bytes: int


TokensResult = dict[str, ListingCost]


def reference_servers(folder: Path) -> dict[str, Json]:
    """The servers as entries of an `mcpServers` file; `folder` is what they may touch."""
    folder.mkdir(parents=True, exist_ok=True)
    servers: dict[str, Json] = {}
    for name, arguments in (("everything", []), ("memory", []), ("filesystem", [str(folder)])):
        script = NPM / f"server-{name}" / "dist" / "index.js"
        servers[name] = {"command": "node", "args": [str(script), *arguments]}
    for name in ("git", "time", "fetch"):
        servers[name] = {"command": str(SCRIPTS / f"mcp-server-{name}"), "args": []}
    return servers


def measure_tokens(session: Session, rows: Sequence[Row], folder: Path) -> TokensResult:
    """Ask each server by itself for the direct union, then every row that shows less."""
    servers = reference_servers(folder)
    found: TokensResult = {}
    union: list[Json] = []
    for name, server in servers.items():
        alone = Row(name, "base", always(server["command"], *server["args"]))
        union += _listed(session, alone, {name: server}) or []
    found[BASE] = _cost(union)
    for row in rows:
        if row.compact:
            tools = _listed(session, row, servers)
            if tools is not None:
                found[row.name] = _cost(tools)
    return found


def _listed(session: Session, row: Row, servers: dict[str, Json]) -> list[Json] | None:
    gateway = session.gateway(row, servers, "tokens")
    try:
        gateway.start()
        return gateway.tools()
    except (LinkLostError, OSError, subprocess.SubprocessError) as error:
        session.failed(row, "tokens", error)
        return None
    finally:
        gateway.end()


def _cost(tools: Iterable[Json]) -> ListingCost:
    encoding = get_encoding("o200k_base")

    def count(text: str) -> int:
        return len(encoding.encode(text))

    wire = [encode(tool) for tool in tools]
    read = [
        encode({key: tool.get(key, "") for key in ("name", "description", "inputSchema")})
        for tool in tools
    ]
    return ListingCost(
        tools=len(wire),
        tokens=sum(map(count, read)),
        wire_tokens=sum(map(count, wire)),
        wire_bytes=sum(len(each.encode()) for each in wire),
    )
