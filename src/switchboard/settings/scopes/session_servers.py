"""The servers of one session: top level, then provider, agent, and active skills."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.texts import grants_asked_by
from switchboard.config.documents import Document, is_inside, read_json_document, read_toml_document
from switchboard.config.front_matter import read_front_matter
from switchboard.config.layers import Layer, MergedLayers
from switchboard.config.locate import agent_files, skill_files
from switchboard.config.problems import ConfigInvalid, Problem
from switchboard.core.origins import Scope
from switchboard.settings import freeze
from switchboard.settings.consent.trust_record import read_trust
from switchboard.settings.files.file_layers import front_matter_layer, sidecar_layer
from switchboard.settings.files.layer_merge import lay_servers
from switchboard.settings.fingerprints import sealed
from switchboard.settings.rules.egress_rules import without_foreign_egress
from switchboard.settings.scopes.skill import Skill
from switchboard.settings.sections import Settings
from switchboard.settings.servers import judged
from switchboard.settings.trust import granted_to
from switchboard.settings.workspace_limits import narrowed_server
from switchkit.platform.paths import true_path
from switchkit.suggest import did_you_mean


class ScopedServers(Struct, frozen=True, kw_only=True):
    """What a session may use, what still waits for trust, and what was left out and why."""

    servers: tuple[ServerEntry, ...]
    untrusted: tuple[ServerEntry, ...] = ()
    warnings: tuple[Problem, ...] = ()
    # Servers of the workspace that have taken the place of the user's own.
    replaced: frozenset[str] = frozenset()


def servers_in_scope(
    settings: Settings,
    *,
    provider: str = "",
    agent: str = "",
    skills: Sequence[Skill] = (),
) -> ScopedServers:
    """Resolve the servers of a session, lowest first; `ConfigInvalid` when a file is wrong.

    `agent` is the directory of an agent or its flat file. The active skills of the settings stay
    above it: each of their servers replaces a whole one, so that it may be laid twice.
    """
    skills = (*settings.skills, *skills)
    if not (provider or agent or skills):
        return ScopedServers(servers=settings.servers, untrusted=settings.untrusted)
    problems: list[Problem] = []
    layers = [
        *_provider_layers(settings, provider, problems),
        *(_agent_layers(agent, problems) if agent else ()),
    ]
    for skill in skills:
        layers += _skill_layers(settings, skill, problems)
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise ConfigInvalid(errors, workspace=settings.workspace, user_home=settings.user_home)
    return _resolved(settings, layers, problems)


def _resolved(
    settings: Settings, layers: Sequence[Layer], problems: list[Problem]
) -> ScopedServers:
    # The user's own stays while one of its name waits.
    below = {entry.name: entry for entry in (*settings.untrusted, *settings.servers)}
    merged = MergedLayers()
    ground = Layer(
        scope=Scope.HOME,
        tree={"mcp_servers": {name: freeze.fields_from_entry(e) for name, e in below.items()}},
        replaces=True,
    )
    for layer in (ground, *layers):
        servers = cast("dict[str, Any]", layer.tree["mcp_servers"])
        lay_servers(merged, layer, servers, foreign=_is_foreign(settings, layer))
    record = read_trust(settings.home, problems)
    usable: list[ServerEntry] = []
    untrusted = [each for each in settings.untrusted if below[each.name] is not each]
    waiting = {each.name for each in settings.untrusted} - {each.name for each in untrusted}
    replaced = set(settings.replaced)
    for name, used in merged.layers_by_name("mcp_servers").items():
        if used == [ground]:
            (untrusted if name in waiting else usable).append(below[name])
            continue
        fields = merged.tree["mcp_servers"][name]
        fields = without_foreign_egress("server", name, fields, used, problems)
        origin = used[-1].origin(("mcp_servers", name))
        # Sidecars were judged, and warned of, when they were read; here only a server that was
        # mixed from several layers can still be wrong.
        if not judged(merged, name, fields, used, problems, repository=True, errors_only=True):
            continue
        entry = freeze.entry_from_fields(name, fields, origin, settings.workspace)
        entry = replace(entry, sandbox_fallback=settings.sandbox_fallback)
        if name in below:
            entry = narrowed_server(entry, below[name])
        inherits = any(layer is ground for layer in used)
        foreign = any(_is_foreign(settings, layer) for layer in used) or (
            inherits and (name in waiting or bool(below[name].fingerprint))
        )
        if foreign:
            if name in below and name not in waiting and not below[name].fingerprint:
                replaced.add(name)
            entry = sealed(entry, settings.workspace)
            if not record.holds(settings.workspace, entry.fingerprint, grants_asked_by(entry)):
                untrusted.append(entry)
                continue
            entry = replace(entry, grants=granted_to(entry, settings.workspace, record))
        usable.append(entry)
    errors = [problem for problem in problems if problem.severity == "error"]
    if errors:
        raise ConfigInvalid(errors, workspace=settings.workspace, user_home=settings.user_home)
    return ScopedServers(
        servers=tuple(usable),
        untrusted=tuple(untrusted),
        warnings=tuple(problems),
        replaced=frozenset(replaced),
    )


def _is_foreign(settings: Settings, layer: Layer) -> bool:
    """Whether a layer lies in the workspace, and not in a home that happens to be inside it."""
    if layer.document is None:
        return False
    path = true_path(layer.document.path)
    home = true_path(settings.home)
    return is_inside(path, settings.workspace) and not is_inside(path, home)


def _provider_layers(settings: Settings, provider: str, problems: list[Problem]) -> list[Layer]:
    if not provider:
        return []
    known = settings.providers.get(provider)
    if known is None:
        meant = did_you_mean(provider, settings.providers)
        hint = f"did you mean `{meant}`?" if meant else ""
        if meant:
            message = f"no provider is named `{provider}`"
            problems.append(
                Problem(path="config.toml", message=message, hint=hint, severity="warning")
            )
        return []
    servers: Mapping[str, Any] = known.get("mcp_servers", {})
    return [Layer(scope=Scope.PROVIDER, tree={"mcp_servers": dict(servers)})]


def _agent_layers(agent: str, problems: list[Problem]) -> list[Layer]:
    main, sidecar = agent_files(agent)
    folder = true_path(os.path.dirname(main))
    layers: list[Layer] = []
    document: Document | None
    if main.endswith(".toml"):
        document = read_toml_document(main, Scope.AGENT, problems)
    else:
        read = read_front_matter(main, Scope.AGENT, problems, within=folder)
        document = None if read is None else read[0]
    if document is not None:
        layers.append(front_matter_layer(document, problems))
    beside = read_json_document(sidecar, Scope.AGENT, problems, within=folder)
    if beside is not None:
        layers.append(sidecar_layer(beside, problems))
    return layers


def _skill_layers(settings: Settings, skill: Skill, problems: list[Problem]) -> list[Layer]:
    """A skill's servers replace whole objects, so that they inherit no secret of another's."""
    main, sidecar = skill_files(skill.directory)
    found: list[Problem] = []
    servers: dict[str, Layer] = {}
    if os.path.isdir(skill.directory):
        root = true_path(skill.directory)
        read = read_front_matter(main, Scope.SKILL, found, within=root)
        if read is not None:
            layer = front_matter_layer(read[0], found)
            servers |= dict.fromkeys(layer.tree["mcp_servers"], layer)
        beside = read_json_document(sidecar, Scope.SKILL, found, within=root)
        if beside is not None:
            layer = sidecar_layer(beside, found)
            servers |= dict.fromkeys(layer.tree["mcp_servers"], layer)
    if skill.source == "marketplace" and not (
        skill.consent_keys() & set(settings.allowed_marketplace_mcp)
    ):
        if servers:
            name = skill.slug or os.path.basename(skill.directory)
            problems.append(
                Problem(
                    path=sidecar,
                    message=f"the servers of the marketplace skill `{name}` are blocked",
                    hint=f'add "{name}" to `[skills] allowed_marketplace_mcp` in your home',
                    severity="warning",
                )
            )
        return []
    problems += found
    return [
        Layer(
            scope=Scope.SKILL,
            tree={"mcp_servers": {name: layer.tree["mcp_servers"][name]}},
            document=layer.document,
            written=layer.written,
            replaces=True,
        )
        for name, layer in servers.items()
    ]
