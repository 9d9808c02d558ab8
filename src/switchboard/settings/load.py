"""From files, environment and flags to settings, as a list of stages.

No stage prints and none stops at the first problem: what is wrong is collected and raised once.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from switchboard.children.exposure import SuiteSettings
from switchboard.children.schema import ServerEntry
from switchboard.config.documents import Document, read_json_document, read_toml_document
from switchboard.config.environ import environment_layer, flags_layer
from switchboard.config.globs import pattern_fault
from switchboard.config.layers import Layer, MergedLayers
from switchboard.config.locate import (
    DEFAULT_GLOBS,
    File,
    Places,
    expand_user,
    find_places,
    home_files,
    workspace_files,
)
from switchboard.config.problems import MOST_PROBLEMS, ConfigInvalid, Problem
from switchboard.core.origins import Origin, Scope
from switchboard.providers.table import TABLE, is_called_for, source_of
from switchboard.settings import freeze
from switchboard.settings.consent.looking import one_look
from switchboard.settings.consent.switched_off import SwitchedOff, left_off, read_switched_off
from switchboard.settings.consent.trust_record import TrustRecord, read_trust
from switchboard.settings.fields import FLAGS, variables_in
from switchboard.settings.files.child_files import child_layers
from switchboard.settings.files.file_layers import (
    given_layer,
    settle_logging,
    sidecar_layer,
    suites_layer,
    toml_layer,
)
from switchboard.settings.files.layer_merge import lay_all
from switchboard.settings.files.misplaced_children import misplaced_children
from switchboard.settings.files.watched_files import sealed_files, watched_files
from switchboard.settings.placing.homes import check_homes, trusts_everything, whose_given
from switchboard.settings.placing.placement import with_places
from switchboard.settings.sections import Omission, ReadFile, Settings
from switchboard.settings.servers import Resolution, merged_servers
from switchboard.settings.usable import NOTHING_INSTEAD, StandIns
from switchboard.settings.validate import omissions


class Loading:
    """The load under way: what each stage leaves for the next."""

    def __init__(
        self, environ: Mapping[str, str], flags: Mapping[str, Any], stand_ins: StandIns
    ) -> None:
        self.environ = environ
        self.flags = flags
        self.stand_ins = stand_ins
        self.problems: list[Problem] = []
        self.warnings: list[Problem] = []
        self.places = Places(user_home="", home="", agh_home="", workspace="")
        self.files: list[File] = []
        self.documents: list[tuple[File, Document]] = []
        self.layers: list[Layer] = []
        self.patterns: tuple[str, ...] = DEFAULT_GLOBS
        self.merged = MergedLayers()
        self.switched_off = SwitchedOff()


def load_settings(
    *,
    workspace: str | None = None,
    environ: Mapping[str, str],
    flags: Mapping[str, Any] = {},
    config: str | None = None,
    is_home: bool = False,
    stand_ins: StandIns = NOTHING_INSTEAD,
) -> Settings:
    """The settings of a workspace, or `ConfigInvalid` with every problem at once.

    `is_home`: the workspace is the home itself, and what it holds starts nothing. `stand_ins`: what
    is read in place of some files; nothing leaves them out.
    """
    settings, _ = load(
        workspace=workspace,
        environ=environ,
        flags=flags,
        config=config,
        is_home=is_home,
        stand_ins=stand_ins,
    )
    return settings


def load(
    *,
    workspace: str | None = None,
    environ: Mapping[str, str],
    flags: Mapping[str, Any] = {},
    config: str | None = None,
    is_home: bool = False,
    stand_ins: StandIns = NOTHING_INSTEAD,
) -> tuple[Settings, Loading]:
    """The settings, and the layers that they came from."""
    loading = Loading(environ, flags, stand_ins)
    _locate(loading, workspace, config)
    if not is_home:
        check_homes(loading.places, loading.problems)
    _read(loading)
    _parse(loading)
    _layer(loading)
    # All that a workspace names is looked at within one budget.
    with one_look():
        settings = _freeze(loading)
        _refuse(loading)
        if names := loading.merged.tree.get("skills", {}).get("active"):
            settings = _with_skills(loading, settings, names)
    return with_places(settings), loading


def _locate(loading: Loading, workspace: str | None, config: str | None) -> None:
    loading.places = places = find_places(loading.environ, workspace, loading.problems)
    loading.files += [*home_files(places), *workspace_files(places)]
    if config is not None:
        path = os.path.abspath(expand_user(config, places.user_home))
        scope, within = whose_given(path, places)
        loading.files.append(File(kind="given", path=path, scope=scope, within=within))
        # Any other file may be absent; one that was asked for by name may not.
        if path not in loading.stand_ins and not os.path.lexists(path):
            hint = "check the path given with `--config`"
            loading.problems.append(Problem(path=path, message="there is no such file", hint=hint))


def _read(loading: Loading) -> None:
    for file in loading.files:
        text = loading.stand_ins.get(file.path)
        if text is None and file.path in loading.stand_ins:
            continue
        is_toml = file.kind in ("toml", "foreign_toml")
        document = (read_toml_document if is_toml else read_json_document)(
            file.path, file.scope, loading.problems, within=file.within, text=text
        )
        if document is not None:
            loading.documents.append((file, document))


def _parse(loading: Loading) -> None:
    """Check each document by the kind of its file, and put the children in their place."""
    problems = loading.problems
    home: list[Layer] = []
    above: list[Layer] = []
    for file, document in loading.documents:
        match file.kind:
            case "toml" | "foreign_toml":
                layer = toml_layer(document, problems, foreign=file.kind == "foreign_toml")
            case "sidecar":
                layer = sidecar_layer(document, problems)
            case "given":
                layer = given_layer(document, problems)
            case _:
                layer = suites_layer(document, problems)
        (home if file.scope is Scope.HOME else above).append(layer)
        if "discoverGlobs" in layer.tree:
            loading.patterns = tuple(layer.tree["discoverGlobs"])
    # A pattern that was refused must not be followed, not even to find more problems.
    loading.patterns = tuple(each for each in loading.patterns if not pattern_fault(each))
    children = child_layers(
        loading.places.workspace, loading.places.home, loading.patterns, loading.warnings
    )
    if loading.patterns == DEFAULT_GLOBS:
        loading.warnings += misplaced_children(loading.places.workspace)
    loading.layers += [*home, *children, *above]


def _layer(loading: Loading) -> None:
    for layer in (
        environment_layer(variables_in(loading.environ), loading.environ, loading.problems),
        flags_layer(FLAGS, loading.flags, loading.problems),
    ):
        settle_logging(layer.tree, layer.written)
        loading.layers.append(layer)
    lay_all(loading.merged, loading.layers, loading.environ, loading.problems)


def _freeze(loading: Loading) -> Settings:
    """Resolve references, decide trust, validate across sections, and build the values."""
    places, merged, tree = loading.places, loading.merged, loading.merged.tree
    suites = freeze.suites_from_tree(tree)
    record = read_trust(places.home, loading.warnings)
    trusts_all = trusts_everything(
        tree.get("trust_workspace", False),
        tree.get("trust_variable", False),
        record,
        places,
        loading.warnings,
    )
    resolution = Resolution(
        merged=merged,
        workspace=places.workspace,
        places=places,
        environ=loading.environ,
        record=None if trusts_all else record,
        grants=record,
        problems=loading.problems,
    )
    servers, untrusted = merged_servers(resolution, suites)
    # What waits takes nothing away: until it is trusted the user's own of that name stays.
    if covered := _own_names(loading) & {entry.name for entry in untrusted}:
        own, own_suites = _own_servers(loading, resolution, covered)
        servers += own
        suites = {name: each for name, each in suites.items() if name not in covered} | own_suites
    sources = _sources(resolution)
    loading.switched_off = read_switched_off(places.home, loading.warnings)
    servers, untrusted, off = _switched(loading, servers, untrusted)
    known = {*merged.tree.get("mcp_servers", {})}
    omitted = [*omissions(servers, untrusted, suites, merged, loading.warnings, known=known), *off]
    left_out = {id(omission.entry) for omission in omitted}
    return Settings(
        workspace=places.workspace,
        home=places.home,
        user_home=places.user_home,
        folder_trusted=trusts_all or record.trusts_folder(places.workspace),
        servers=tuple(entry for entry in servers if id(entry) not in left_out),
        untrusted=tuple(entry for entry in untrusted if id(entry) not in left_out),
        changed=_changed(untrusted, places.workspace, record),
        omitted=tuple(omitted),
        suites=suites,
        sources=sources,
        **freeze.sections_from_tree(tree),
        vault=freeze.vault_from_tree(tree, places.home, places.user_home),
        tools=freeze.tools_from_tree(tree, places.workspace, places.user_home),
        is_guarded=tree.get("guard", True),
        guard_from=merged.origin_of(("guard",)),
        approval_channel=tree.get("approval_channel", "any"),
        approval_timeout=tree.get("approval_timeout"),
        sandbox_fallback=tree.get("sandbox_fallback", "none"),
        variables=frozenset(resolution.variables),
        replaced=_replaced(loading, (*servers, *untrusted)),
        providers=tree.get("providers", {}),
        allowed_marketplace_mcp=tuple(tree.get("skills", {}).get("allowed_marketplace_mcp", ())),
        files=_files(loading),
        watched=watched_files(
            loading.files,
            _files(loading),
            places,
            loading.patterns,
            sealed_files((*servers, *untrusted), places.workspace),
            *(source_of(key).watched(own, places.workspace) for key, own in sources.items()),
        ),
        warnings=(
            *(each for each in loading.problems if each.severity == "warning"),
            *loading.warnings,
        )[:MOST_PROBLEMS],
    )


def _changed(
    untrusted: Iterable[ServerEntry], workspace: str, record: TrustRecord
) -> dict[str, str]:
    names = record.names(workspace)
    known = [entry for entry in untrusted if entry.name in names]
    if not known:
        return {}
    # Few servers come from a workspace, and few of them change.
    from switchboard.settings.consent.trusted_parts import changes_in_words  # noqa: PLC0415

    return changes_in_words(known, workspace, record)


def _switched(
    loading: Loading, servers: Sequence[ServerEntry], untrusted: Sequence[ServerEntry]
) -> tuple[list[ServerEntry], list[ServerEntry], list[Omission]]:
    """What is left of both without what is switched off, and that."""
    workspace = loading.places.workspace
    servers, off = loading.switched_off.divided(workspace, servers)
    untrusted, waiting = loading.switched_off.divided(workspace, untrusted)
    gone = [left_off(entry, waits=False) for entry in off]
    return servers, untrusted, [*gone, *(left_off(entry, waits=True) for entry in waiting)]


def _replaced(loading: Loading, servers: Iterable[ServerEntry]) -> frozenset[str]:
    """The servers of the workspace that stand in the place of one of the user's own."""
    own = _own_names(loading)
    return frozenset(entry.name for entry in servers if entry.fingerprint and entry.name in own)


def _own_names(loading: Loading) -> set[str]:
    return {
        name
        for layer in loading.layers
        if layer.scope is Scope.HOME
        for name in layer.tree.get("mcp_servers", {})
    }


def _own_servers(
    loading: Loading, resolution: Resolution, names: set[str]
) -> tuple[list[ServerEntry], dict[str, SuiteSettings]]:
    """The servers of these names, and their suites, as they are without the workspace."""
    beneath = MergedLayers()
    layers = [layer for layer in loading.layers if layer.scope is not Scope.WORKSPACE]
    lay_all(beneath, layers, loading.environ, [])
    suites = freeze.suites_from_tree(beneath.tree)
    found: list[Problem] = []
    usable, _ = merged_servers(replace(resolution, merged=beneath, problems=found), suites, names)
    loading.problems += [each for each in found if each not in loading.problems]
    return usable, {name: each for name, each in suites.items() if name in names}


def _with_skills(loading: Loading, settings: Settings, names: Sequence[str]) -> Settings:
    """The servers of active skills over all others."""
    # The front matter of skills is YAML, which is slow to import.
    from switchboard.settings.scopes.session_servers import servers_in_scope  # noqa: PLC0415
    from switchboard.settings.scopes.skills import (  # noqa: PLC0415 - few have skills
        ACTIVE,
        active_skills,
        skill_folders,
    )

    warnings = list(settings.warnings)
    skills = active_skills(loading.places, names, loading.merged.layers[ACTIVE], warnings)
    folders = [
        os.path.join(folder, name) for folder, _ in skill_folders(loading.places) for name in names
    ]
    scoped = servers_in_scope(settings, skills=skills)
    warnings += scoped.warnings
    servers, untrusted, off = _switched(loading, scoped.servers, scoped.untrusted)
    known = {each.name for each in (*scoped.servers, *scoped.untrusted)}
    known |= {*loading.merged.tree.get("mcp_servers", {})}
    omitted = [
        *omissions(
            servers, untrusted, settings.suites, loading.merged, loading.warnings, known=known
        ),
        *off,
        *(each for each in settings.omitted if each.is_off),
    ]
    left_out = {id(omission.entry) for omission in omitted}
    return replace(
        settings,
        servers=tuple(each for each in servers if id(each) not in left_out),
        untrusted=tuple(each for each in untrusted if id(each) not in left_out),
        omitted=tuple(omitted),
        skills=skills,
        replaced=scoped.replaced,
        watched=(
            *settings.watched,
            *folders,
            *(path for each in skills for path in each.watched()),
        ),
        warnings=tuple(warnings),
    )


def _refuse(loading: Loading) -> None:
    errors = [problem for problem in loading.problems if problem.severity == "error"]
    if errors:
        order = {file.path: index for index, file in enumerate(loading.files)}
        # What a broken file is only warned of is told too, but hides nothing that refuses it.
        broken = {problem.path for problem in errors} & {*order}
        warned = [each for each in loading.problems if each.severity == "warning"]
        errors += [each for each in (*warned, *loading.warnings) if each.path in broken]
        errors[MOST_PROBLEMS:] = ()
        errors.sort(key=lambda each: (order.get(each.path, len(order)), each.line, each.column))
        raise ConfigInvalid(
            errors,
            workspace=loading.places.workspace,
            user_home=loading.places.user_home,
            files=order,
        )


def _sources(resolution: Resolution) -> dict[str, Struct]:
    """What each provider reads of the configuration. Those that nobody calls for are not loaded."""
    found: dict[str, Struct] = {}
    for key, row in TABLE.items():
        tree = resolution.merged.tree
        is_set = row.section in tree or any(each in tree for each in row.settings)
        if is_set or is_called_for(row, resolution.places):
            entry = source_of(key).read(resolution)
            if entry is not None:
                found[key] = entry
    return found


def _files(loading: Loading) -> tuple[ReadFile, ...]:
    return tuple(
        ReadFile(
            path=layer.document.path,
            text=layer.document.text,
            origin=Origin(scope=layer.scope, path=layer.document.path),
        )
        for layer in loading.layers
        if layer.document is not None
    )
