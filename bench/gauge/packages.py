"""The peers as packages: where each one is installed below the peers' folder, and its version."""

import json
from pathlib import Path
from typing import Literal, NamedTuple


class Package(NamedTuple):
    """One peer: Python packages get an environment each, npm packages share one folder."""

    source: Literal["pypi", "npm"]
    name: str
    # Further requirements without which the newest version does not run.
    needs: tuple[str, ...] = ()

    def folder(self, peers: Path) -> Path:
        return peers / "pypi" / self.name if self.source == "pypi" else peers / "npm"

    def script(self, peers: Path) -> str:
        """The program that the package installs under its own name."""
        bins = "bin" if self.source == "pypi" else "node_modules/.bin"
        return str(self.folder(peers) / bins / self.name)

    def version(self, peers: Path) -> str | None:
        """The installed version; None where the package is not installed."""
        if self.source == "npm":
            manifest = self.folder(peers) / "node_modules" / self.name / "package.json"
            return json.loads(manifest.read_text("utf-8"))["version"] if manifest.exists() else None
        stem = self.name.replace("-", "_")
        found = sorted(self.folder(peers).glob(f"lib/python*/site-packages/{stem}-*.dist-info"))
        return found[0].name.removesuffix(".dist-info").rpartition("-")[2] if found else None


FASTMCP = Package("pypi", "fastmcp")
MCP_PROXY = Package("pypi", "mcp-proxy")
MCP_COMPRESSOR = Package("pypi", "mcp-compressor")
MCP_GATEWAY = Package("pypi", "mcp-gateway", needs=("mcp<2",))
MCP_HUB = Package("npm", "mcp-hub")
MCP_BROKER = Package("npm", "mcp-broker")
SUPERGATEWAY = Package("npm", "supergateway")
MCP_PROXY_NODE = Package("npm", "mcp-proxy")

PACKAGES = (
    FASTMCP,
    MCP_PROXY,
    MCP_COMPRESSOR,
    MCP_GATEWAY,
    MCP_HUB,
    MCP_BROKER,
    SUPERGATEWAY,
    MCP_PROXY_NODE,
)
