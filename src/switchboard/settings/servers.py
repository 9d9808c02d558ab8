"""Servers after merging: judged, trusted or not, expanded, frozen."""

from collections.abc import Container, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.texts import references_of
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
from switchboard.settings.fingerprints import bound_values, sealed
from switchboard.settings.server_fields import OVERRIDES, SUITE
from switchboard.settings.server_rules import Habits, judge
from switchboard.settings.trust import granted_to

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

    def grants_of(self, entry: ServerEntry) -> tuple[str, ...]:
        """The secrets that the user of a workspace has given to a server of it."""
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
        fields = {**raw, **freeze.suite_overrides(suites.get(name))}
        fields = _with_own_hosts(name, fields, layers, resolution.problems)
        is_theirs = any(layer.scope is Scope.WORKSPACE for layer in layers)
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
            shown = _shown_words(merged, name)
            path = resolution.environ.get("PATH", "")
            entry = sealed(
                entry, workspace, shown, path=path, binding=resolution.record is not None
            )
            if resolution.waits(entry.fingerprint, references_of(entry)):
                untrusted.append(entry)
                continue
        if _is_toml(layers):
            filled = _filled(resolution, ("mcp_servers", name), fields)
            if filled != fields:
                if not is_sound(filled, errors_only=True):
                    continue
                expanded = freeze.entry_from_fields(name, filled, origin, workspace)
                entry = replace(
                    expanded,
                    fingerprint=entry.fingerprint,
                    seal=entry.seal,
                    templates=entry.templates,
                )
                resolution.variables.update(variables_in(fields))
        if is_theirs:
            entry = replace(entry, grants=resolution.grants_of(entry))
        usable.append(entry)
    return usable, untrusted


def _with_own_hosts(
    name: str, fields: dict[str, Any], layers: Sequence[Layer], problems: list[Problem]
) -> dict[str, Any]:
    if "egress" not in fields and "egress_ask" not in fields:
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


def _shown_words(merged: MergedLayers, name: str) -> dict[str, Any]:
    """What the workspace says of a suite: as much a part of what is trusted as the command."""
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
