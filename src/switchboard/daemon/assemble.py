"""The composition root, first half: settings become a catalog, which is all that a listing needs.

The second half, `daemon.engine`, is loaded when the first call comes (or when the first listing has
been answered): a client that waits for its tools does not wait for what runs them.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from switchboard.core.catalog import Catalog
from switchboard.core.names import is_reserved
from switchboard.core.tools import ToolSpec
from switchboard.core.visibility import Visibility
from switchboard.providers.suites.schema import SuiteSettings
from switchboard.providers.suites.specs import suite_spec
from switchboard.settings.sections import Settings

_DEFAULT = SuiteSettings()


class Assembly(Struct, frozen=True):
    """What clients see of these settings, and what was left out of it."""

    catalog: Catalog
    omissions: tuple[str, ...]
    # What a client should know before it uses the yard, where there is one.
    yard_words: str = ""


def assemble(settings: Settings, environ: Mapping[str, str]) -> Assembly:
    """The catalog of these settings. Starts nothing."""
    visibility = Visibility(settings.tools.allow, settings.tools.deny)
    refusals = sandbox_refusals(settings)
    specs = [
        suite_spec(entry, settings.suites.get(entry.name, _DEFAULT))
        for entry in settings.servers
        if entry.expose == "suite" and entry.name not in refusals
    ]
    if settings.commands:
        from switchboard.daemon.command_tools import command_tools  # noqa: PLC0415 - few have any

        commands = command_tools(settings, environ)
        specs += [spec for _, spec in commands.tools.values()]
        refusals |= commands.refusals
    yard = [spec for spec in specs_of_yard(settings) if visibility.shows(spec.name)]
    catalog = Catalog(
        [
            *(spec for spec in specs if visibility.shows(spec.name) and not is_reserved(spec.name)),
            # The one source whose names are reserved for it.
            *yard,
        ]
    )
    omissions = [str(clash) for clash in catalog.clashes]
    omissions += [
        f"the name `{spec.name}` is reserved ({spec.origin})"
        for spec in specs
        if is_reserved(spec.name)
    ]
    omissions += [f"`{name}` is left out: {why}" for name, (why, _) in refusals.items()]
    return Assembly(catalog, tuple(omissions), _words_of_yard() if yard else "")


def sandbox_refusals(settings: Settings) -> dict[str, tuple[str, str]]:
    """The servers that want a sandbox which does not work here: why, and what to do about it."""
    wanted = [entry for entry in settings.servers if entry.sandbox_profile != "none"]
    if not wanted:
        return {}
    from switchboard.sandbox.sandbox import platform_sandbox  # noqa: PLC0415 - few are confined

    sandbox = platform_sandbox()
    refusals = ((entry, sandbox.refusal(entry.sandbox_profile)) for entry in wanted)
    return {
        entry.name: (f"sandbox unavailable: {refusal.why}", refusal.fix)
        for entry, refusal in refusals
        if refusal is not None
    }


def specs_of_yard(settings: Settings) -> Sequence[ToolSpec]:
    """The tools of the workspace's own runtime."""
    if settings.yard is None:
        return ()
    from switchboard.providers.yard.specs import yard_specs  # noqa: PLC0415 - few have a yard

    timeouts = settings.timeouts
    return yard_specs(
        settings.yard, read_s=timeouts.rpc_ms / 1000, change_s=timeouts.longest_ms / 1000
    )


def _words_of_yard() -> str:
    from switchboard.providers.yard.specs import WORDS  # noqa: PLC0415 - few have a yard

    return WORDS


def sandbox_refusals(settings: Settings) -> dict[str, tuple[str, str]]:
    """The servers that want a sandbox which does not work here: why, and what to do about it."""
    wanted = [entry for entry in settings.servers if entry.sandbox_profile != "none"]
    if not wanted:
        return {}
    from switchboard.sandbox.sandbox import platform_sandbox  # noqa: PLC0415 - few are confined

    sandbox = platform_sandbox()
    refusals = ((entry, sandbox.refusal(entry.sandbox_profile)) for entry in wanted)
    return {
        entry.name: (f"sandbox unavailable: {refusal.why}", refusal.fix)
        for entry, refusal in refusals
        if refusal is not None
    }
