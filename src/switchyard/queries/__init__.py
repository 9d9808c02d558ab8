"""The questions that only read, as the command line and MCP both ask them."""
