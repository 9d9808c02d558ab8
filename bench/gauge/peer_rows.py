"""The peers as rows: how each is configured, started and called."""

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .link import Json
from .packages import (
    FASTMCP,
    MCP_BROKER,
    MCP_COMPRESSOR,
    MCP_GATEWAY,
    MCP_HUB,
    MCP_PROXY,
    MCP_PROXY_NODE,
    SUPERGATEWAY,
    Package,
)
from .row import Row, Site, Wanted, always, joined


class Missing(NamedTuple):
    """A peer that is not installed, and so has no row."""

    package: Package


def peer_rows(peers: Path) -> Iterator[Row | Missing]:
    """The rows of what is installed below the folder, with their versions in their names."""
    for package, rows in (
        (MCP_COMPRESSOR, _compressor),
        (MCP_BROKER, _broker),
        (FASTMCP, _fastmcp),
        (MCP_GATEWAY, _gateway),
        (MCP_HUB, _hub),
        (MCP_PROXY, _proxy),
        (MCP_PROXY_NODE, _proxy_node),
        (SUPERGATEWAY, _supergateway),
    ):
        version = package.version(peers)
        if version is None:
            yield Missing(package)
            continue
        for row in rows(package.script(peers)):
            short = ".".join(version.split(".")[:2])
            yield row._replace(name=f"{package.name} {short} {row.name}")


def _compressor(script: str) -> Iterator[Row]:
    def put(wanted: Wanted) -> Json:
        return {
            "name": "invoke_tool" if wanted.alone else f"{wanted.child}_invoke_tool",
            "arguments": {"tool_name": wanted.tool, "tool_input": wanted.arguments},
        }

    def command(site: Site) -> list[str]:
        return [script, "--config", str(site.config), "-c", "medium"]

    def listening(site: Site) -> list[str]:
        return [*command(site), "--transport", "streamable-http", "--port", str(site.port)]

    yield Row("stdio", "peer", command, put=put, compact=True)
    yield Row("http", "peer", listening, put=put, front="http")


def _broker(script: str) -> Iterator[Row]:
    def put(wanted: Wanted) -> Json:
        invocation = {
            "server_name": wanted.child,
            "tool_name": wanted.tool,
            "arguments": wanted.arguments,
        }
        return {"name": "call_tools", "arguments": {"invocations": [invocation]}}

    def at_home(site: Site) -> dict[str, str]:
        return {"MCP_BROKER_HOME": str(site.folder)}

    serve = always(script, "serve")
    yield Row("stdio", "peer", serve, put=put, environ=at_home, compact=True)


def _fastmcp(script: str) -> Iterator[Row]:
    def command(site: Site) -> list[str]:
        return [script, "run", str(site.config), "--no-banner", "-l", "ERROR"]

    yield Row("stdio", "peer", command, put=joined("_", also_alone=False))


def _gateway(script: str) -> Iterator[Row]:
    def nest(site: Site) -> None:
        """Its servers are an entry of its own entry in the client's file."""
        own = {"command": script, "servers": dict(site.children)}
        site.config.write_text(json.dumps({"mcpServers": {"mcp-gateway": own}}), "utf-8")

    def command(site: Site) -> list[str]:
        return [script, "--mcp-json-path", str(site.config)]

    yield Row("stdio", "peer", command, put=joined("_"), prepare=nest)


def _hub(script: str) -> Iterator[Row]:
    def command(site: Site) -> list[str]:
        return [script, "--port", str(site.port), "--config", str(site.config)]

    yield Row("sse", "peer", command, put=joined("__"), front="events")


def _proxy(script: str) -> Iterator[Row]:
    def command(site: Site) -> list[str]:
        listen = ["--host", "127.0.0.1", "--port", str(site.port), "--log-level", "ERROR"]
        return [script, *listen, "--", *site.first_command]

    yield Row("http (py)", "peer", command, front="http", most_children=1)


def _proxy_node(script: str) -> Iterator[Row]:
    def command(site: Site) -> list[str]:
        listen = ["--host", "127.0.0.1", "--port", str(site.port), "--server", "stream"]
        return [script, *listen, "--", *site.first_command]

    yield Row("http (node)", "peer", command, front="http", most_children=1)


def _supergateway(script: str) -> Iterator[Row]:
    def command(site: Site) -> list[str]:
        child = ["--stdio", shlex.join(site.first_command)]
        serve = ["--outputTransport", "streamableHttp", "--stateful", "--port", str(site.port)]
        return [script, *child, *serve, "--logLevel", "none"]

    yield Row("http", "peer", command, front="http", most_children=1)
