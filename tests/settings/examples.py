"""The examples of the documents, verbatim, and server files that are wrong in one way each."""

from typing import Any

# The document's example, verbatim.
CONTEXT7 = """{
  "name": "context7",
  "description": "Context7 Documentation MCP",
  "switchboardDescription": "Smart context management and retrieval for enhanced LLM interactions",
  "command": {
    "cmd": "npx",
    "args": ["-y", "@upstash/context7-mcp"],
    "env": {
      "DEFAULT_MINIMUM_TOKENS": "6000"
    }
  }
}
"""

# The reference's complete example, verbatim.
COMPLETE = """{
"mcpServers": {
"filesystem": {
"command": "npx",
"args": ["-y", "@modelcontextprotocol/server-filesystem", "/Users/you/work"],
"env": {
"LOG_LEVEL": "info"
}
},
"github": {
"command": "npx",
"args": ["-y", "@modelcontextprotocol/server-github"],
"secret_env": {
"GITHUB_TOKEN": "vault:mcp/github/env/GITHUB_TOKEN"
}
},
"remote-docs": {
"transport": "sse",
"url": "https://mcp.example.com/sse",
"auth": {
"type": "oauth2_pkce",
"issuer_url": "https://auth.example.com",
"client_id": "agh-desktop",
"client_secret_ref": "env:REMOTE_DOCS_MCP_CLIENT_SECRET",
"scopes": ["mcp.read", "mcp.write"]
}
}
}
}"""

SNAKE = """{
"mcp_servers": {
"filesystem": {
"command": "npx",
"args": ["-y", "@modelcontextprotocol/server-filesystem", "."]
}
}
}"""

AUTH: dict[str, Any] = {"type": "oauth2_pkce", "client_id": "me", "issuer_url": "https://a.example"}


def servers(**entries: Any) -> dict[str, Any]:
    return {"mcpServers": entries}


def remote(**auth: Any) -> dict[str, Any]:
    return servers(x={"url": "https://m.example/mcp", "auth": auth})


BAD: list[tuple[str, dict[str, Any], str, str]] = [
    # requirement, file, key, words of the message
    ("S4.05 S4.71 S4.08", {"mcpServers": {}, "toolMappings": {}}, "toolMappings", "unknown field"),
    ("S4.05 S4.72", servers(x={"command": "x", "envv": {}}), "mcpServers.x.envv", "unknown field"),
    ("S4.08", servers(x={"command": "x", "tools": []}), "mcpServers.x.tools", "unknown field"),
    ("S4.18 S4.74", servers(**{"  ": {"command": "x"}}), "mcpServers.  ", "empty"),
    (
        "S4.19 S4.75",
        servers(**{"x": {"command": "a"}, " x": {"command": "b"}}),
        "mcpServers. x",
        "twice",
    ),
    (
        "S4.20",
        servers(x={"transport": "ws", "url": "https://a"}),
        "mcpServers.x.transport",
        "`stdio`",
    ),
    ("S4.23 S4.76", servers(x={}), "mcpServers.x", "`command` is required"),
    ("S4.23 S4.76", servers(x={"transport": "stdio"}), "mcpServers.x", "`command` is required"),
    ("S4.23", servers(x={"command": "  "}), "mcpServers.x.command", "empty"),
    (
        "S4.24 S4.77",
        servers(x={"transport": "sse", "command": "x", "url": "https://a"}),
        "mcpServers.x.command",
        "not allowed",
    ),
    ("S4.25 S4.78", servers(x={"transport": "http"}), "mcpServers.x", "`url` is required"),
    ("S4.25", servers(x={"url": "/mcp"}), "mcpServers.x.url", "absolute"),
    ("S4.25", servers(x={"url": "ftp://a.example"}), "mcpServers.x.url", "absolute"),
    (
        "S4.26 S4.79",
        servers(x={"command": "x", "url": "https://a"}),
        "mcpServers.x.url",
        "not allowed",
    ),
    ("S4.27 S4.80", servers(x={"command": "x", "auth": AUTH}), "mcpServers.x.auth", "not allowed"),
    (
        "S4.28 S4.82",
        servers(x={"command": "x", "args": ["a", 1]}),
        "mcpServers.x.args[1]",
        "a string",
    ),
    (
        "S4.28 S4.82",
        servers(x={"command": "x", "args": "a"}),
        "mcpServers.x.args",
        "a list of strings",
    ),
    ("S4.29 S4.82", servers(x={"command": "x", "env": {"A": 1}}), "mcpServers.x.env.A", "a string"),
    ("S4.29", servers(x={"command": "x", "env": {"A-B": "1"}}), "mcpServers.x.env.A-B", "letters"),
    (
        "S4.33",
        servers(x={"command": "x", "secret_env": {"A": "plain"}}),
        "mcpServers.x.secret_env.A",
        "env:NAME",
    ),
    (
        "S4.33",
        servers(x={"command": "x", "secret_env": {"A": "vault:other/x/env/A"}}),
        "mcpServers.x.secret_env.A",
        "env:NAME",
    ),
    (
        "S4.33 S4.41",
        servers(x={"command": "x", "secret_env": {"A": "vault:mcp/y/env/A"}}),
        "mcpServers.x.secret_env.A",
        "another server",
    ),
    (
        "S4.34",
        servers(x={"url": "https://a", "secret_env": {"A": "env:A"}}),
        "mcpServers.x.secret_env",
        "not allowed",
    ),
    (
        "S4.43",
        remote(client_id="a", issuer_url="https://a"),
        "mcpServers.x.auth",
        "`type` is required",
    ),
    ("S4.43", remote(**{**AUTH, "type": "basic"}), "mcpServers.x.auth.type", "oauth2_pkce"),
    (
        "S4.44",
        remote(type="oauth2_pkce", issuer_url="https://a"),
        "mcpServers.x.auth",
        "`client_id` is required",
    ),
    ("S4.44", remote(**{**AUTH, "client_id": " "}), "mcpServers.x.auth.client_id", "empty"),
    (
        "S4.45 S4.42",
        remote(**AUTH, client_secret_ref="hunter2"),
        "mcpServers.x.auth.client_secret_ref",
        "vault",
    ),
    (
        "S4.42",
        remote(**AUTH, client_secret_ref="vault:mcp/y/oauth/client-secret"),
        "mcpServers.x.auth.client_secret_ref",
        "another",
    ),
    (
        "S4.46",
        remote(**{**AUTH, "issuer_url": "auth.example"}),
        "mcpServers.x.auth.issuer_url",
        "absolute",
    ),
    ("S4.47", remote(**AUTH, metadata_url="ws://a"), "mcpServers.x.auth.metadata_url", "absolute"),
    (
        "S4.48",
        remote(**AUTH, authorization_url="https://a"),
        "mcpServers.x.auth.authorization_url",
        "token_url",
    ),
    (
        "S4.49",
        remote(**AUTH, token_url="https://a"),
        "mcpServers.x.auth.token_url",
        "authorization_url",
    ),
    (
        "S4.50",
        remote(**AUTH, revocation_url="nowhere"),
        "mcpServers.x.auth.revocation_url",
        "absolute",
    ),
    ("S4.51", remote(**AUTH, scopes=["a", ""]), "mcpServers.x.auth.scopes[1]", "empty"),
    (
        "S4.52 S4.81",
        remote(type="oauth2_pkce", client_id="a"),
        "mcpServers.x.auth",
        "where to log in",
    ),
    (
        "S4.39",
        remote(**AUTH, client_secret="x"),
        "mcpServers.x.auth.client_secret",
        "unknown field",
    ),
    ("S4.39", remote(**AUTH, access_token="x"), "mcpServers.x.auth.access_token", "unknown field"),
    ("S4.71", {"mcpServers": []}, "mcpServers", "an object"),
    ("S4.72", servers(x="npx"), "mcpServers.x", "an object"),
    (
        "S4.29",
        servers(x={"command": "x", "env": {"NODE_OPTIONS": "-r evil"}}),
        "mcpServers.x.env.NODE_OPTIONS",
        "foreign code",
    ),
    (
        "S4.29",
        servers(x={"command": "x", "env": {"DYLD_INSERT_LIBRARIES": "e"}}),
        "mcpServers.x.env.DYLD_INSERT_LIBRARIES",
        "foreign",
    ),
    ("S4.29", servers(x={"command": "x\x00y"}), "mcpServers.x.command", "NUL"),
]
