"""What a client is told about this server before it sees any tool."""

from switchboard.settings.sections import Settings

_SHOWN = 20


def instructions_for(settings: Settings) -> str:
    """How to use suites, which servers stand behind them, and what waits for trust."""
    names = [entry.name for entry in settings.servers]
    listed = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    text = (
        "Switchboard: each tool is a suite that stands for one MCP server"
        f" ({listed or 'none is configured yet'})."
        ' Call a suite with {"action": "introspect"} to see its subtools and their schemas,'
        ' then with {"action": "call", "subtool": NAME, "args": {…}}.'
    )
    if settings.untrusted:
        waiting = ", ".join(entry.name for entry in settings.untrusted)
        text += (
            f" Servers of this workspace that its owner has not trusted yet: {waiting}."
            " To use them the user runs `switchboard trust` in the workspace."
        )
    return text
