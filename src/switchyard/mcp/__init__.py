"""The yard as an MCP server on stdio, without dependencies, and its setup in clients."""
