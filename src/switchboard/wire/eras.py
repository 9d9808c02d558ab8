"""What differs between the handshake versions and 2026-07-28, as data."""

from typing import Final

HANDSHAKE_VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS: Final = ("2026-07-28",)
LATEST_HANDSHAKE: Final = HANDSHAKE_VERSIONS[-1]
LATEST_MODERN: Final = MODERN_VERSIONS[-1]

# Members of a modern request's `_meta`.
PROTOCOL_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_KEY: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
# Member of a modern result's `_meta`.
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"
# Member of the `_meta` of everything that a subscription sends.
SUBSCRIPTION_ID_KEY: Final = "io.modelcontextprotocol/subscriptionId"

# Member of a modern request's `_meta`: from which level on it wants log messages.
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"

# The extension by which a call is answered later.
TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
TASK_METHODS: Final = frozenset({"tasks/get", "tasks/update", "tasks/cancel"})

# What a server may want of a client: a request of its own before, now part of a result.
INPUT_METHODS: Final = frozenset({"elicitation/create", "sampling/createMessage", "roots/list"})

# A child wants its client to open a page before it is called again.
URL_ELICITATION_REQUIRED: Final = -32042
HEADER_MISMATCH: Final = -32020
MISSING_CLIENT_CAPABILITY: Final = -32021
UNSUPPORTED_PROTOCOL_VERSION: Final = -32022

# Methods that exist in one era only.
HANDSHAKE_ONLY: Final = frozenset(
    {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
)
MODERN_ONLY: Final = frozenset({"server/discover", "subscriptions/listen"})

# HTTP status that goes with an error of the protocol in the modern era; 200 for all others.
HTTP_STATUS: Final = {
    -32700: 400,
    -32600: 400,
    -32602: 400,
    HEADER_MISMATCH: 400,
    MISSING_CLIENT_CAPABILITY: 400,
    UNSUPPORTED_PROTOCOL_VERSION: 400,
    -32601: 404,
}


def negotiated(requested: str) -> str:
    """The handshake version to answer with: the one asked for, else the newest."""
    return requested if requested in HANDSHAKE_VERSIONS else LATEST_HANDSHAKE
