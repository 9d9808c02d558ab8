"""The plug of command tools: a program for each call."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from msgspec import json

from switchboard.children.http.proxy import PROXY_NAMES
from switchboard.config.placeholders import has_placeholder, variables_in
from switchboard.core.network.egress import reachable
from switchboard.core.origins import THE_USERS
from switchboard.core.privacy.redaction import redacted_words
from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.providers.commands.schema import ANY_OBJECT, CommandEntry, CommandTools
from switchboard.providers.commands.section import SECTION, read_commands
from switchboard.providers.source import (
    Finding,
    Item,
    Listed,
    ListingContext,
    Secrets,
    Source,
)
from switchboard.sandbox.limits import limits_in_words
from switchboard.settings.consent.looking import one_look
from switchboard.settings.consent.sealed_files import files_to_watch, hashed_files, why_whole
from switchboard.settings.consent.wording import DEV, whole_in_words
from switchboard.settings.fingerprints import as_written, fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from switchboard.core.ports import Provider
    from switchboard.providers.commands.listing import Judged
    from switchboard.providers.context import Context
    from switchboard.settings.sections import Settings
    from switchboard.settings.servers import Resolution


# Which keys are told by words of their own: the command line, its surroundings, the sandbox.
_TOLD = frozenset(
    (
        *("command", "args", "cwd", "env", "side_effects"),
        *("allow_cwd_override", "allow_env_overrides"),
        *("sandbox_profile", "allow_network", "read_roots", "writable_roots", "read_env_files"),
        *("limits", "egress", "egress_ask"),
    )
)


class CommandSource(Source[CommandTools]):
    """Command tools as the rest of the program sees them."""

    key = "commands"
    section = SECTION

    def read(self, resolution: Resolution) -> CommandTools | None:
        return read_commands(resolution)

    def watched(self, entry: CommandTools, workspace: str) -> Iterator[str]:
        for each in (*entry.usable.values(), *entry.untrusted.values()):
            if each.fingerprint:
                yield from files_to_watch(each.seal, workspace)

    def specs(self, listing: ListingContext) -> Listed:
        judged = self._judged(listing.settings, listing.environ)
        specs = tuple(spec for _, spec in judged.tools.values())
        return Listed(specs=specs, refusals=judged.refusals, judged=judged)

    def build(self, context: Context) -> Provider:
        from switchboard.providers.commands.provider import CommandsProvider  # noqa: PLC0415
        from switchboard.sandbox.sandbox import platform_sandbox  # noqa: PLC0415

        settings = context.settings
        judged: Judged = context.listed[self.key].judged
        return CommandsProvider(
            judged.tools,
            ground=judged.ground,
            sandbox=context.sandbox or platform_sandbox(),
            reaper=context.reaper,
            events=context.events,
            fingerprint=lambda entry: fingerprint(entry.seal, settings.workspace),
            start_s=settings.timeouts.child_spawn_ms / 1000,
            open_way_out=context.open_way_out,
        )

    def env_names(self, settings: Settings) -> frozenset[str]:
        """What is put on at the edge, and the person's own proxy, of tools with chosen hosts."""
        reaching = [each for each in self._tools(settings).usable.values() if each.egress]
        injected = {host.variable for each in reaching for host in each.egress if host.inject}
        return frozenset(injected | PROXY_NAMES) if reaching else frozenset()

    def secrets(self, settings: Settings) -> Secrets:
        variables: set[str] = set()
        values: set[str] = set()
        written: set[str] = set()
        for entry in self._tools(settings).usable.values():
            variables.update(each.variable for each in entry.egress if each.inject)
            texts = (entry.command, entry.cwd, entry.args, list(entry.env.values()))
            variables.update(variables_in(texts))
            (values if entry.origin.scope in THE_USERS else written).update(
                value
                for name, value in entry.env.items()
                if is_secret_name(name) and not has_placeholder(value)
            )
        return Secrets(frozenset(variables), frozenset(values), frozenset(written))

    def trust_items(self, settings: Settings) -> Iterator[Item]:
        # Whole, for whoever is to trust it: what looks like a secret may be what is run.
        return (item for item in self._items(settings, {}, list) if item.fingerprint)

    def rows(self, settings: Settings, environ: Mapping[str, str]) -> Iterator[Item]:
        yield from self._items(settings, self._judged(settings, environ).refusals, redacted_words)
        for each in self._tools(settings).omitted:
            yield Item(
                name=each.name,
                kind="command",
                trust="own",
                left_out=each.reason,
                hint=each.hint,
                origin=each.origin,
            )

    def findings(self, settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
        for item in self.rows(settings, environ):
            if item.trust == "waiting":
                yield Finding(
                    severity="warning",
                    subject=item.name,
                    message="this command tool is not trusted yet, so it is not shown",
                    hint=f"switchboard trust {shlex.quote(item.name)}",
                )
            if item.left_out:
                yield Finding(
                    severity="error",
                    subject=item.name,
                    message=f"not shown: {item.left_out}",
                    hint=item.hint,
                )

    def _tools(self, settings: Settings) -> CommandTools:
        none = CommandTools(usable={}, untrusted={}, omitted=())
        return self.configured(settings) or none

    def _judged(self, settings: Settings, environ: Mapping[str, str]) -> Judged:
        # Schemas, risks and the sandbox: few have command tools, and `read` needs none of it.
        from switchboard.providers.commands.listing import judge_tools  # noqa: PLC0415

        return judge_tools(self._tools(settings).usable, settings, environ)

    def _items(
        self,
        settings: Settings,
        refusals: Mapping[str, tuple[str, str]],
        said: Callable[[Iterable[str]], list[str]],
    ) -> list[Item]:
        with one_look():
            return [*self._each_item(settings, refusals, said)]

    def _each_item(
        self,
        settings: Settings,
        refusals: Mapping[str, tuple[str, str]],
        said: Callable[[Iterable[str]], list[str]],
    ) -> Iterator[Item]:
        tools = self._tools(settings)
        weaker = _weaker_sandboxes({**tools.usable, **tools.untrusted})
        for name, entry in {**tools.usable, **tools.untrusted}.items():
            why, fix = refusals.get(name, ("", ""))
            waits = name in tools.untrusted
            yield Item(
                name=name,
                kind="command",
                trust="waiting" if waits else "trusted" if entry.fingerprint else "own",
                fingerprint=entry.fingerprint,
                written=fingerprint(as_written(entry.seal), settings.workspace),
                runs=shlex.join(said((entry.command, *entry.args))),
                description=entry.description,
                sandbox=_sandbox(entry, weaker.get(name, "")),
                details=tuple(_details(entry, settings.workspace)),
                left_out=why,
                hint=fix,
                origin=entry.origin,
            )


def _details(entry: CommandEntry, workspace: str) -> Iterator[str]:
    """What is not in the command line and decides what it does, as it is written."""
    yield f"folder {entry.cwd}" if entry.cwd else "folder of the session"
    yield from (f"variable {name}={value}" for name, value in entry.env.items())
    for name in dict.fromkeys(variables_in((entry.command, entry.args, entry.cwd, entry.env))):
        yield f"filled with your {name}"
    if entry.side_effects:
        yield f"says of itself: {', '.join(entry.side_effects)}"
    if entry.allow_cwd_override:
        yield "a session may choose its folder"
    if entry.allow_env_overrides:
        yield f"a session may set {', '.join(entry.allow_env_overrides)}"
    for field in SECTION.fields:
        value = getattr(entry, field.name)
        is_said = value not in (SECTION.default(field), None, ANY_OBJECT)
        if field.bound != "no" and field.name not in _TOLD and is_said:
            yield f"{field.name} = {_written(value)}"
    if entry.seal.is_dev:
        yield DEV
    elif why := why_whole(entry.seal, workspace):
        yield whole_in_words(why, entry.name)
    yield from (f"file {each}" for each in hashed_files(entry.seal, workspace))


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.encode(value).decode()


def _weaker_sandboxes(entries: Mapping[str, CommandEntry]) -> dict[str, str]:
    """The tools that the weaker sandbox confines here, with the name of it."""
    if all(entry.sandbox_fallback == "none" for entry in entries.values()):
        return {}
    from switchboard.sandbox.sandbox import platform_sandbox  # noqa: PLC0415

    weaker = platform_sandbox().weaker
    return {
        name: weaker(entry.sandbox_profile, entry.sandbox_fallback)
        for name, entry in entries.items()
    }


def _sandbox(entry: CommandEntry, weaker: str) -> str:
    """The sandbox of a command tool and what it opens."""
    keeps_folder = entry.is_to_only_read and entry.sandbox_profile != "none"
    opened = [
        "NONE" if entry.sandbox_profile == "none" else weaker or entry.sandbox_profile,
        *(("its folder read-only",) if keeps_folder else ()),
        *(("network",) if entry.allow_network else ()),
        *(f"reaches {each}" for each in reachable(entry.egress, asks=entry.egress_ask)),
        *(f"reads {each}" for each in entry.read_roots),
        *(f"writes {each}" for each in entry.writable_roots),
        *(("reads .env files",) if entry.read_env_files else ()),
        *limits_in_words(entry.limits or {}),
    ]
    return ", ".join(opened)


SOURCE = CommandSource()
