"""`switchboard natural`: one server as an MCP server that takes plain words; a wrapper runs it."""

import shlex
from collections.abc import Callable
from functools import partial

from msgspec.structs import replace

from switchboard.children.exposure import SuiteSettings
from switchboard.cli.report import Report, Silent
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.loading import followed_settings
from switchboard.cli.verbs.parts.wrapped import child_named
from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.serve import run as run_loop
from switchboard.daemon.serve import serve_stdio
from switchboard.settings.sections import Settings
from switchboard.settings.usable import StandIns
from switchkit.cli.usage import Usage, Word

USAGE = Usage(
    verb="natural",
    summary="Serve one server on stdin and stdout as one tool, `natural_language`.",
    words=(Word(name="NAME", about="the name of the server"),),
    details="What the script of a wrapper runs. Calls pass the same gates as any other.",
    examples=("switchboard natural memory",),
)


def run(request: CommandRequest) -> Report:
    name = request.arguments.word(0)
    settings, load = followed_settings(request, transport="stdio")
    alone = _alone(settings, name)
    served = serve_stdio(
        alone, request.environ, load=partial(_again, load, settings.workspace, name)
    )
    return Silent(code=run_loop(served))


def _again(
    load: Callable[[str, StandIns], Settings], workspace: str, name: str, last_good: StandIns
) -> Settings:
    return _alone(load(workspace, last_good), name)


def _alone(settings: Settings, name: str) -> Settings:
    """The settings with this server alone, shown as the one tool."""
    entry = child_named(settings, name)
    if any(each is entry for each in settings.untrusted):
        raise Fault(
            FaultCode.PERMISSION_DENIED,
            "not-trusted",
            f"`{name}` belongs to this workspace, and nobody has trusted it yet",
            hint=f"switchboard trust {shlex.quote(name)}",
        )
    if not entry.natural_language:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "not-natural",
            f"`natural_language` is off for `{name}`",
            hint=f"switchboard wrap {shlex.quote(name)}, or set `natural_language` for it",
        )
    own = settings.suites.get(name, SuiteSettings())
    return replace(
        settings,
        servers=(replace(entry, expose="natural", relay=False),),
        untrusted=(),
        omitted=(),
        suites={name: replace(own, result_mode="passthrough")},
        sources={},
    )
