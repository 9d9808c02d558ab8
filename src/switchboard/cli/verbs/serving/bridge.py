"""`switchboard bridge NAME`: one server behind Switchboard, as a server on stdin and stdout.

For programs that can only start servers, and for agents: what they call passes the gates of the
board, and the server's process is the one that everybody else shares.
"""

import os
from collections.abc import Iterable

from switchboard.cli.report import Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.servers import entries
from switchboard.core.faults import Fault, FaultCode
from switchboard.ipc.environment import BOARD_VARIABLE
from switchboard.ipc.paths import places_from
from switchboard.shim.main import BridgeRefused, Stranded, serve_bridge
from switchkit.cli.usage import Option, Usage, Word

USAGE = Usage(
    verb="bridge",
    summary="Serve one configured server on stdin and stdout, under its own names.",
    words=(Word(name="NAME", about="a server, or its suite", is_name=True),),
    options=(
        Option(name="agent", value="FILE", about="also know the servers of this agent"),
        Option(name="in-process", about="do without the daemon, in this process alone"),
    ),
    details=(
        "A remote server becomes one that any client can start. Calls pass the same gates as\n"
        "those of every other client, and share the server's process."
    ),
    examples=("switchboard bridge memory", "codex mcp add docs -- switchboard bridge docs"),
)


def run(request: CommandRequest) -> Report:
    request.check_directory()
    name, agent = request.arguments.word(0), request.arguments.one("agent") or ""
    agent = os.path.abspath(agent) if agent else ""
    environ = dict(request.environ)
    if not request.is_in_process:
        flags = {
            "workspace": request.workspace or "",
            "config": request.config or "",
            "bridge": name,
            "agent": agent,
            "board": environ.get(BOARD_VARIABLE, ""),
        }
        try:
            return Silent(code=serve_bridge(places_from(environ), flags, environ))
        except BridgeRefused as refused:
            raise Fault(FaultCode.NOT_FOUND, "no-bridge", refused.why, hint=refused.hint) from None
        except Stranded as stranded:
            request.talk.say(f"warning: {stranded}; serving in this process instead")
    # A board is large, and the daemon has one.
    from switchboard.daemon.board.instructions import bridge_words  # noqa: PLC0415
    from switchboard.daemon.serve import run as run_loop  # noqa: PLC0415
    from switchboard.daemon.serve import serve_stdio  # noqa: PLC0415
    from switchboard.settings.bridged import bridged  # noqa: PLC0415

    settings = bridged(settings_for(request), name, agent=agent)
    serving = serve_stdio(settings, environ, instructions=lambda _: bridge_words(settings))
    return Silent(code=run_loop(serving))


def names(request: CommandRequest) -> Iterable[str]:
    """What a shell may complete."""
    return (entry.name for entry in entries(settings_for(request)))
