"""The plug of the yard: the `switchyard.toml` of a workspace, whose bytes its user has to trust."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from msgspec.structs import replace

from switchboard.config.documents import digest_of, read_text
from switchboard.config.keys import Field, Section
from switchboard.config.strict import Truth
from switchboard.core.origins import Origin, Scope
from switchboard.providers.source import Finding, Item, Listed, ListingContext, Source
from switchboard.providers.yard.schema import FILE_NAME, VARIABLES, YardEntry
from switchboard.settings.consent.trust_record import read_trust

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from switchboard.config.layers import Layer, MergedLayers
    from switchboard.config.problems import Problem
    from switchboard.core.catalog.tools import ToolSpec
    from switchboard.core.ports import Provider
    from switchboard.providers.context import Context
    from switchboard.settings.sections import Settings
    from switchboard.settings.servers import Resolution

# Beside the digests of servers in one record; nothing else is written this way.
_MARK = "yard:"


def _only_no(
    merged: MergedLayers, layer: Layer, fields: dict[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    """A workspace may switch things off, and nothing on."""
    del merged, problems
    if layer.scope is not Scope.WORKSPACE:
        return fields
    return {name: value for name, value in fields.items() if value is False}


class YardSource(Source[YardEntry]):
    """The local runtime as the rest of the program sees it."""

    key = "yard"
    section = Section(
        name="yard",
        about="The tools of Switchyard, where the workspace has a `switchyard.toml`.",
        admit=_only_no,
        fields=(
            Field(
                name="enabled",
                kind=Truth(about="Show them. A workspace can only say no."),
                default=True,
            ),
            Field(
                name="inherit_env",
                kind=Truth(about="Start services with the whole environment of the client."),
                default=False,
                workspace="never",
            ),
        ),
    )

    def read(self, resolution: Resolution) -> YardEntry | None:
        wanted = resolution.merged.tree.get(self.key, {})
        workspace, record = resolution.workspace, resolution.record
        if not wanted.get("enabled", True):
            return None
        digest = file_digest(workspace, resolution.problems)
        if not digest:
            return None
        return YardEntry(
            root=workspace,
            fingerprint=digest,
            binding=record is not None,
            inherit_env=wanted.get("inherit_env", False),
            waits=resolution.waits(digest),
        )

    def specs(self, listing: ListingContext) -> Listed:
        entry = self._usable(listing.settings)
        if entry is None:
            return Listed()
        from switchboard.providers.yard.specs import yard_specs  # noqa: PLC0415

        timeouts = listing.settings.timeouts
        specs = yard_specs(
            entry, read_s=timeouts.rpc_ms / 1000, change_s=timeouts.longest_ms / 1000
        )
        return Listed(specs=tuple(specs), offers=frozenset({"prompts", "resources"}))

    def build(self, context: Context) -> Provider:
        from switchboard.children.environment import (  # noqa: PLC0415
            base_environment,
            without_team,
        )
        from switchboard.providers.yard.provider import YardProvider  # noqa: PLC0415
        from switchboard.providers.yard.threads import YardThreads  # noqa: PLC0415

        settings, environ = context.settings, context.environ
        entry = self._usable(settings)
        assert entry is not None, "a yard is built only where it is listed"
        own = {name: environ[name] for name in VARIABLES if name in environ}
        return YardProvider(
            self.specs(ListingContext(settings, environ, ())).specs,
            root=entry.root,
            # What any child starts with, and the yard's own.
            environ=(
                without_team(environ) if entry.inherit_env else {**base_environment(environ), **own}
            ),
            threads=context.state.of(YardThreads),
            is_trusted=lambda folder: _is_trusted(entry, settings.home, folder),
            fingerprint=lambda: file_digest(entry.root),
        )

    def env_names(self, settings: Settings) -> tuple[str, ...]:
        entry = self._usable(settings)
        if entry is None:
            return ()
        return ("*",) if entry.inherit_env else VARIABLES

    def trust_items(self, settings: Settings) -> Iterator[Item]:
        entry = self.configured(settings)
        if entry is not None:
            yield Item(
                name=FILE_NAME,
                kind="project",
                trust="waiting" if entry.waits else "trusted",
                fingerprint=entry.fingerprint,
                runs="every command in it, when an agent asks for it",
                origin=Origin(scope=Scope.WORKSPACE, path=FILE_NAME),
            )

    def findings(self, settings: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
        del environ
        entry = self.configured(settings)
        if entry is not None and entry.waits:
            yield Finding(
                severity="warning",
                subject=FILE_NAME,
                message="not trusted, so the tools of Switchyard are not shown",
                hint=f"look at its commands, then: switchboard trust {FILE_NAME}",
            )

    def instructions(self, settings: Settings, tools: Mapping[str, ToolSpec]) -> str:
        entry = self.configured(settings)
        if entry is not None and entry.waits:
            return (
                f" The `{FILE_NAME}` of this workspace waits for trust, and its tools are not shown"
                " until then: the user looks at it with `switchboard trust`."
            )
        if all(tool.provider != self.key for tool in tools.values()):
            return ""
        from switchboard.providers.yard.specs import WORDS  # noqa: PLC0415

        return f"\n\n{WORDS}"

    def _usable(self, settings: Settings) -> YardEntry | None:
        entry = self.configured(settings)
        return None if entry is None or entry.waits else entry


def file_digest(folder: str, problems: list[Problem] | None = None) -> str:
    """The digest of the file in a folder as it is now; empty when there is none to be used."""
    found: list[Problem] = []
    read = read_text(os.path.join(folder, FILE_NAME), found, within=folder)
    # Whatever is wrong with it, the rest of the workspace does without.
    if problems is not None:
        problems += [replace(problem, severity="warning") for problem in found]
    return "" if read is None else _MARK + digest_of(read)


def _is_trusted(entry: YardEntry, home: str, folder: str) -> bool:
    """Whether the `switchyard.toml` of a folder, as it is now, is one that its user has trusted.

    To be asked just before a call: the file may have changed, and a worktree is governed by the
    file at the root of its project, which lies in another folder.
    """
    if not entry.binding:
        return True
    digest = file_digest(folder)
    if folder == entry.root and digest == entry.fingerprint:
        return True
    return bool(digest) and read_trust(home, []).holds(folder, digest)


SOURCE = YardSource()
