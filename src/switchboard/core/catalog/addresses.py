"""How a tool behind another is called by a name of its own: `server.tool`."""

_SUITE = "_suite"


def server_of(suite: str) -> str:
    """The server that a suite stands for, as it is addressed."""
    return suite.removesuffix(_SUITE) or suite


def address_of(suite: str, tool: str) -> str:
    """The address of a tool of a suite."""
    return f"{server_of(suite)}.{tool}"
