"""What a client is told about this server before it sees any tool."""

from switchboard.daemon.board.runtime import Runtime
from switchboard.providers.table import configured
from switchboard.settings.sections import Settings


def instructions_for(runtime: Runtime) -> str:
    """What each provider says of its tools.

    Only what is shown is named: the name of a server that nobody trusted is a stranger's text.
    """
    settings, tools = runtime.settings, runtime.assembly.catalog.tools
    return "".join(source.instructions(settings, tools) for source in configured(settings))


def bridge_words(settings: Settings) -> str:
    """The same for a client that sees one server alone."""
    entry = settings.servers[0]
    about = f" {entry.description}" if entry.description else ""
    return f"The MCP server `{entry.name}`, through Switchboard.{about}"
