"""What a client is told about this server before it sees any tool."""

from switchboard.daemon.runtime import Runtime
from switchboard.providers.suites.specs import PROVIDER as SUITES

_SHOWN = 20


def instructions_for(runtime: Runtime) -> str:
    """How to use suites, which there are, and how many servers wait for trust.

    Only what is shown is named: the name of a server that nobody trusted is a stranger's text.
    """
    catalog = runtime.assembly.catalog
    names = [name for name, tool in catalog.tools.items() if tool.provider == SUITES]
    listed = ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")
    others = any(spec.provider != SUITES for spec in catalog.tools.values())
    text = (
        f"Switchboard: {'a suite is a tool' if others else 'each tool is a suite'}"
        " that stands for one MCP server"
        f" ({listed or 'none is configured yet'})."
        ' Call a suite with {"action": "introspect"} to see its subtools and their schemas,'
        ' then with {"action": "call", "subtool": NAME, "args": {…}}.'
    )
    if others:
        text += " Every other tool takes its own arguments."
    waiting = len(runtime.settings.untrusted)
    if waiting:
        servers = (
            "1 server of this workspace waits"
            if waiting == 1
            else (f"{waiting} servers of this workspace wait")
        )
        text += f" {servers} for trust: the user looks at them with `switchboard trust`."
    if runtime.assembly.yard_words:
        text += f"\n\n{runtime.assembly.yard_words}"
    elif runtime.settings.untrusted_yard is not None:
        text += (
            " The `switchyard.toml` of this workspace waits for trust, and its tools are not shown"
            " until then: the user looks at it with `switchboard trust`."
        )
    return text
