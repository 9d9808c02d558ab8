"""One local MCP control plane: suites, agents, yard, surface and configuration behind one gate."""

__version__ = "0.2.0"
