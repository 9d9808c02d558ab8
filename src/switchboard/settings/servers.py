"""Servers after merging: judged, trusted or not, expanded, frozen."""

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import SandboxFallback, ServerEntry
from switchboard.children.secrets.texts import grants_asked_by
from switchboard.config.key_positions import KeyPath
from switchboard.config.layers import Layer, MergedLayers
from switchboard.config.locate import Places
from switchboard.config.placeholders import (
    Unfilled,
    expand_tree,
    variables_in,
    vault_references_in,
)
from switchboard.config.problems import Problem, Severity
from switchboard.core.origins import Scope
from switchboard.settings import freeze
from switchboard.settings.consent.trust_record import TrustRecord
from switchboard.settings.server_fields import OVERRIDES, SUITE
from switchboard.settings.server_rules import Habits, judge

T = TypeVar("T")

# What a suite says itself. The rest is laid over its server, and bound there.
# Values that reach a server without anybody else seeing them.
_MAY_NAME_SECRETS = ("env", "headers")
# Whose files are not the user's word on which login is used.
_OTHERS = (Scope.WORKSPACE, Scope.AGENT, Scope.SKILL)
_DEPTH_OF_VALUES = len(("mcp_servers", "server", "env", "NAME"))
_WORDS = replace(SUITE, fields=tuple(each for each in SUITE.fields if each.name not in OVERRIDES))


class Resolution(Struct, frozen=True, kw_only=True):
    """What deciding over servers takes. Without a record, everything is trusted."""

    merged: MergedLayers
    workspace: str
    places: Places
    environ: Mapping[str, str]
    record: TrustRecord | None
    # The secrets that were given, also where everything is trusted.
    grants: TrustRecord
    problems: list[Problem]
    # The variables whose values stand in the servers now.
    variables: set[str] = set()

    def waits(self, print_: str, references: tuple[str, ...] = ()) -> bool:
        """Whether something of the workspace has to wait for the trust of its user.

        What asks for secrets waits for those, too.
        """
        return self.record is not None and not self.record.holds(self.workspace, print_, references)

    def as_trusted(self, entry: ServerEntry) -> ServerEntry | None:
        """The server as it is trusted: as it is, or as one that its user writes; else nothing."""
        from switchboard.settings.fingerprints import in_development  # noqa: PLC0415 - as `sealed`

        asked = grants_asked_by(entry)
        if not self.waits(entry.fingerprint, asked):
            return entry
        written = in_development(entry, self.workspace)
        return None if self.waits(written.fingerprint, asked) else written

    def leads_elsewhere(self, entry: ServerEntry) -> bool:
        """Whether a filled address is another than that which its variables were given to."""
        if self.record is None or not entry.filled:
            return False
        from switchboard.settings.trust import origin_of  # noqa: PLC0415 - as `sealed`

        grant = self.record.grant(self.workspace, entry.fingerprint)
        return grant is None or grant.to != origin_of(entry.url)

    def grants_of(self, entry: ServerEntry) -> tuple[str, ...]:
        """The secrets that the user of a workspace has given to a server of it."""
        from switchboard.settings.trust import granted_to  # noqa: PLC0415 - as `sealed`

        return granted_to(entry, self.workspace, self.grants)


def merged_servers(
    resolution: Resolution,
    suites: Mapping[str, SuiteSettings],
    only: Container[str] | None = None,
) -> tuple[list[ServerEntry], list[ServerEntry]]:
    """The servers that may be used, and those that nobody has trusted; of all names, or some."""
    usable: list[ServerEntry] = []
    untrusted: list[ServerEntry] = []
    merged, workspace = resolution.merged, resolution.workspace
    layers_of = merged.layers_by_name("mcp_servers")
    servers = cast("dict[str, dict[str, Any]]", merged.tree.get("mcp_servers", {}))
    for name, raw in servers.items() if only is None else _some(servers, only):
        layers = layers_of.get(name, [])
        is_theirs = any(layer.scope is Scope.WORKSPACE for layer in layers)
        fields = {
            **_as_all_are_shown(merged, is_theirs=is_theirs),
            **raw,
            **freeze.suite_overrides(suites.get(name)),
        }
        fields = _with_own_hosts(name, fields, layers, resolution.problems)
        is_sound = partial(
            judged, merged, name, layers=layers, problems=resolution.problems, repository=is_theirs
        )
        if _is_toml(layers) and not is_sound(fields):
            continue
        origin = layers[-1].origin(("mcp_servers", name))
        entry = freeze.entry_from_fields(name, fields, origin, workspace)
        if templates := _templates(merged, name, fields):
            entry = replace(entry, templates=templates)
        if is_theirs:
            # Few servers come from a workspace, and everyone waits for the first listing.
            from switchboard.settings.fingerprints import sealed  # noqa: PLC0415

            entry = replace(entry, filled=dict(_fills(merged, ("mcp_servers", name), fields)))
            shown = _shown_words(merged, name)
            path = resolution.environ.get("PATH", "")
            entry = sealed(
                entry, workspace, shown, path=path, binding=resolution.record is not None
            )
            trusted = resolution.as_trusted(entry)
            if trusted is None:
                untrusted.append(entry)
                continue
            entry = trusted
        whole = entry
        if _is_toml(layers):
            whole = _with_variables(resolution, entry, fields, is_sound)
        if whole is None:
            continue
        if is_theirs:
            if resolution.leads_elsewhere(whole):
                untrusted.append(entry)
                continue
            whole = replace(whole, grants=resolution.grants_of(whole))
        usable.append(whole)
    fallback = merged.tree.get("sandbox_fallback", "none")
    return _with_fallback(usable, fallback), _with_fallback(untrusted, fallback)


def _as_all_are_shown(merged: MergedLayers, *, is_theirs: bool) -> dict[str, Any]:
    """How a server is shown that does not say it itself.

    What hides a suite by its name does not hide its tools, so a workspace decides it of its own
    servers only.
    """
    if merged.tree.get("surface_tokens") != "direct":
        return {}
    layer = merged.layer_of(("surface_tokens",))
    is_the_users = layer is None or layer.scope is not Scope.WORKSPACE
    return {"expose": "tools"} if is_the_users or is_theirs else {}


def _with_variables(
    resolution: Resolution,
    entry: ServerEntry,
    fields: dict[str, Any],
    is_sound: Callable[..., bool],
) -> ServerEntry | None:
    """The entry with its placeholders filled; nothing if that makes no server of it."""
    filled = _filled(resolution, ("mcp_servers", entry.name), fields)
    if filled == fields:
        return entry
    if not is_sound(filled, errors_only=True):
        return None
    resolution.variables.update(variables_in(fields))
    return replace(
        freeze.entry_from_fields(entry.name, filled, entry.origin, resolution.workspace),
        fingerprint=entry.fingerprint,
        seal=entry.seal,
        templates=entry.templates,
        filled=entry.filled,
    )


def _with_fallback(entries: list[ServerEntry], fallback: SandboxFallback) -> list[ServerEntry]:
    if fallback == "none":
        return entries
    return [replace(entry, sandbox_fallback=fallback) for entry in entries]


def _with_own_hosts(
    name: str, fields: dict[str, Any], layers: Sequence[Layer], problems: list[Problem]
) -> dict[str, Any]:
    if not {"egress", "egress_ask", "sandbox_features"} & fields.keys():
        return fields
    # Few servers have chosen hosts.
    from switchboard.settings.rules.egress_rules import without_foreign_egress  # noqa: PLC0415

    return without_foreign_egress("server", name, fields, layers, problems)


def _some(servers: Mapping[str, T], names: Container[str]) -> list[tuple[str, T]]:
    return [(name, each) for name, each in servers.items() if name in names]


def _templates(merged: MergedLayers, name: str, fields: Mapping[str, Any]) -> tuple[str, ...]:
    """The values of a server that name secrets of the vault, where their file may do that."""
    found: list[str] = []
    for field in _MAY_NAME_SECRETS:
        for key, text in cast("dict[str, str]", fields.get(field) or {}).items():
            layer = merged.layer_of(("mcp_servers", name, field, key))
            if layer is not None and layer.expands and vault_references_in(text):
                found.append(f"{field}.{key}")
    return tuple(found)


def _fills(
    merged: MergedLayers, at: KeyPath, fields: Mapping[str, Any], within: str = ""
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The values of a server that variables are filled into, by their places."""
    for name, value in fields.items():
        here, place = (*at, name), f"{within}{name}"
        if isinstance(value, dict):
            yield from _fills(merged, here, cast("dict[str, Any]", value), f"{place}.")
            continue
        layer = merged.layer_of(here)
        if layer is not None and layer.expands and (names := [*variables_in(value)]):
            yield place, tuple(dict.fromkeys(names))


def _shown_words(merged: MergedLayers, name: str) -> dict[str, Any]:
    """What the workspace says of a suite: as much a part of what is trusted as the command."""
    from switchboard.settings.fingerprints import bound_values  # noqa: PLC0415 - as `sealed`

    suite = bound_values(_WORDS, merged.tree.get("suites", {}).get(name, {}))
    layers = {key: merged.layers.get(("suites", name, key)) for key in suite}
    return {
        key: suite[key]
        for key, layer in layers.items()
        if layer is not None and layer.scope is Scope.WORKSPACE
    }


def _is_toml(layers: list[Layer]) -> bool:
    return any(not layer.replaces for layer in layers)


def _filled(resolution: Resolution, at: KeyPath, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields with placeholders filled, where their layer expands them."""
    filled: dict[str, Any] = {}
    for name, value in fields.items():
        here = (*at, name)
        if isinstance(value, dict):
            filled[name] = _filled(resolution, here, cast("dict[str, Any]", value))
            continue
        layer = resolution.merged.layer_of(here)
        if layer is None or not layer.expands:
            filled[name] = value
            continue
        refused: list[tuple[KeyPath, Unfilled]] = []
        may_name = len(here) == _DEPTH_OF_VALUES and here[-2] in _MAY_NAME_SECRETS
        filled[name] = expand_tree(value, resolution.environ, here, refused, vault=may_name)
        resolution.problems.extend(
            layer.problem(path, why.message, why.hint) for path, why in refused
        )
    return filled


def judged(
    merged: MergedLayers,
    name: str,
    fields: Mapping[str, Any],
    layers: Sequence[Layer],
    problems: list[Problem],
    *,
    repository: bool,
    errors_only: bool = False,
) -> bool:
    """Whether the merged fields make a server; each fault is told where its field was written."""

    def say(field: KeyPath, message: str, hint: str, severity: Severity) -> None:
        if severity == "error" or not errors_only:
            at: KeyPath = ("mcp_servers", name, *field)
            layer = merged.layer_of(at) or layers[-1]
            problems.append(layer.problem(at, message, hint, severity))

    written = (layer for layer in layers if layer.scope in _OTHERS)
    foreign = any(
        "accounts" in layer.tree.get("mcp_servers", {}).get(name, {}) for layer in written
    )
    habits = Habits(repository=repository, expands=True, foreign_accounts=foreign)
    return judge(name, fields, habits, say)
