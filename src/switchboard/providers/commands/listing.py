"""The command tools of a configuration that can be shown, and why others cannot."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from switchboard.approvals.risk import asks, assess
from switchboard.config.locate import find_places
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.faults import Fault
from switchboard.core.sessions import Session
from switchboard.pipeline.schemas import check_for
from switchboard.providers.commands.launches import standing_launch
from switchboard.providers.commands.paths import PathFilter
from switchboard.providers.commands.plans import CommandContext, check_command, place_of
from switchboard.providers.commands.schema import ANY_OBJECT, CommandEntry
from switchboard.providers.commands.specs import command_spec
from switchboard.sandbox.sandbox import platform_sandbox
from switchboard.settings.sections import Settings

_UNGUARDED = (
    "command tools are shown on a guarded surface only",
    "set `guard = true`",
)


class Judged(Struct, frozen=True):
    """The tools that can be run, and why others cannot, each with what to do about it."""

    # What they all stand on.
    ground: CommandContext
    tools: dict[str, tuple[CommandEntry, ToolSpec]]
    refusals: dict[str, tuple[str, str]]


def judge_tools(
    entries: Mapping[str, CommandEntry], settings: Settings, environ: Mapping[str, str]
) -> Judged:
    """Look at every command tool. Starts none, but may try the sandbox."""
    ground = _ground_of(settings, environ)
    if not settings.is_guarded:
        # Nothing runs a program on demand where nobody is asked and nothing is written down.
        return Judged(ground, {}, dict.fromkeys(entries, _UNGUARDED))
    tools: dict[str, tuple[CommandEntry, ToolSpec]] = {}
    refusals: dict[str, tuple[str, str]] = {}
    for name, entry in entries.items():
        weaker = platform_sandbox().weaker(entry.sandbox_profile, entry.sandbox_fallback)
        entry = replace(entry, weaker_sandbox=weaker) if weaker else entry  # noqa: PLW2901
        refusal = _refusal(entry, ground)
        if refusal is None:
            try:
                tools[name] = (entry, _spec(entry, ground))
            except Fault as fault:
                refusal = (fault.message, fault.hint)
        if refusal is not None:
            refusals[name] = refusal
    return Judged(ground, tools, refusals)


def _ground_of(settings: Settings, environ: Mapping[str, str]) -> CommandContext:
    """What every command tool of these settings stands on."""
    places = find_places(environ, settings.workspace, [])
    user_home = places.user_home
    return CommandContext(
        workspace=settings.workspace,
        user_home=user_home,
        home=settings.home,
        filter=PathFilter(settings.tools.roots, user_home),
        environ=environ,
        is_trusted=settings.folder_trusted,
        private=(*places.private, *settings.vault.private_files),
    )


def _refusal(entry: CommandEntry, ground: CommandContext) -> tuple[str, str] | None:
    """Why a tool cannot be shown although it is written well."""
    unusable = platform_sandbox().refusal_of(entry)
    if unusable is not None:
        return f"sandbox unavailable: {unusable.why}", unusable.fix
    try:
        check_command(entry, ground)
        place = place_of(entry, _nobody(ground), ground)
        ground.filter.check_cwd(place.cwd)
    except Fault as fault:
        return fault.message, fault.hint
    return None


def _spec(entry: CommandEntry, ground: CommandContext) -> ToolSpec:
    """The tool, with its schema compiled. Raises a fault when that is none."""
    spec = command_spec(entry, ground, _asks)
    return spec if entry.input_schema == ANY_OBJECT else replace(spec, check=check_for(spec))


def _asks(entry: CommandEntry, tool: ToolSpec) -> bool:
    launch = standing_launch(entry, tool)
    return asks(launch, assess(launch))


def _nobody(ground: CommandContext) -> Session:
    return Session(id="", via="", workspace=ground.workspace)
