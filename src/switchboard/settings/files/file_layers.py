"""Each file as a layer: checked, and brought into the one tree of keys that all files share.

The tree has the keys of `config.toml` and `switchboard.config.json`, with servers under
`mcp_servers` by name. A layer remembers how its own file writes each key.
"""

from collections.abc import Mapping
from typing import Any, cast

from switchboard.config.documents import Document
from switchboard.config.globs import pattern_fault
from switchboard.config.key_positions import KeyPath
from switchboard.config.layers import Layer
from switchboard.config.problems import Problem, Severity
from switchboard.config.strict import ProblemReport, Table
from switchboard.core.catalog.names import fold
from switchboard.core.network.transports import TRANSPORTS
from switchboard.core.origins import Scope
from switchboard.settings.fields import OTHER_SPELLINGS, SPELLED_IN_TREE
from switchboard.settings.files.file_shapes import FOREIGN_TOML, GIVEN, SIDECAR, SUITES, TOML
from switchboard.settings.files.server_shapes import GIVEN_SERVER, SERVER_OBJECT
from switchboard.settings.server_rules import RENAME_IT, Habits, judge, name_fault

SERVERS = "mcp_servers"
_SERVER_KEYS = ("mcpServers", "mcp_servers")
_FORMATS = ("json", "compact", "pretty")
# What other hosts write for it, beside the names that we take too.
_FOREIGN_TRANSPORTS = {**TRANSPORTS, "local": "stdio", "remote": "http"}


def sidecar_layer(document: Document, problems: list[Problem]) -> Layer:
    """`mcp.json`: strict, whole servers, both spellings of the key."""
    SIDECAR.check(document.tree, (), ProblemReport(document, problems))
    is_theirs = document.scope is not Scope.HOME
    habits = Habits(repository=is_theirs, foreign_accounts=is_theirs)
    return _json_layer(document, _SERVER_KEYS, SERVER_OBJECT, habits, problems)


def given_layer(document: Document, problems: list[Problem]) -> Layer:
    """A file that the user named: the words of other hosts are understood."""
    GIVEN.check(document.tree, (), ProblemReport(document, problems))
    keys = _SERVER_KEYS if any(key in document.tree for key in _SERVER_KEYS) else ("servers",)
    is_theirs = document.scope is Scope.WORKSPACE
    habits = Habits(given=not is_theirs, repository=is_theirs, foreign_accounts=is_theirs)
    return _json_layer(document, keys, GIVEN_SERVER, habits, problems)


def suites_layer(document: Document, problems: list[Problem]) -> Layer:
    """`switchboard.config.json`."""
    report = ProblemReport(document, problems)
    SUITES.check(document.tree, (), report)
    tree = _sound_sections(document, SUITES)
    tree.pop("$schema", None)
    tree["suites"] = {
        name: _with_exposure(fields)
        for name, fields in cast("dict[str, dict[str, Any]]", tree.get("suites", {})).items()
    }
    for index, pattern in enumerate(cast("list[str]", tree.get("discoverGlobs", []))):
        fault = pattern_fault(pattern)
        if fault:
            report.say(("discoverGlobs", index), f"the pattern `{pattern}` {fault}")
    return Layer(scope=document.scope, tree=tree, document=document)


def _with_exposure(suite: dict[str, Any]) -> dict[str, Any]:
    """A suite whose `expose` is an object, also where it is written as one word."""
    expose = suite.get("expose")
    return {**suite, "expose": {"as": expose}} if isinstance(expose, str) else suite


def toml_layer(document: Document, problems: list[Problem], *, foreign: bool) -> Layer:
    """`config.toml`: strict in the tables that we know; servers are judged when merged."""
    shape = FOREIGN_TOML if foreign else TOML
    report = ProblemReport(document, problems)
    shape.check(document.tree, (), report)
    tree = _sound_sections(document, shape)
    written: dict[KeyPath, KeyPath] = {}
    if SERVERS in tree:
        tree[SERVERS] = _named(tree[SERVERS], (SERVERS,), (SERVERS,), written, report)
    for provider, table in cast("dict[str, dict[str, Any]]", tree.get("providers", {})).items():
        at: KeyPath = ("providers", provider, SERVERS)
        servers = _named(table.get(SERVERS, {}), at, at, written, report)
        tree["providers"][provider] = {SERVERS: servers}
    for here, there in OTHER_SPELLINGS.items():
        section, name = here
        table = tree.get(section, {}) if section else tree
        if name not in table:
            continue
        value, at = table.pop(name), here if section else (name,)
        if tree.get(there, value) != value:
            report.say(at, f"it is another name of `{there}`, which says otherwise", "keep one")
        tree[there] = value
        written[there,] = at
    for section, spelled in SPELLED_IN_TREE.items():
        table = cast("dict[str, Any]", tree.get(section, {}))
        for name in [each for each in table if spelled[each] != each]:
            table[spelled[name]] = table.pop(name)
            written[section, spelled[name]] = (section, name)
    settle_logging(tree, written)
    return Layer(scope=document.scope, tree=tree, document=document, written=written, expands=True)


def settle_logging(tree: dict[str, Any], written: dict[KeyPath, KeyPath]) -> None:
    """Turn the three format switches and `level` into `format` and `filter`."""
    logging = cast("dict[str, Any]", tree.get("logging", {}))
    chosen = [name for name in _FORMATS if logging.pop(name, False)]
    if chosen and "format" not in logging:
        logging["format"] = chosen[0]
        switch: KeyPath = ("logging", chosen[0])
        written["logging", "format"] = written.get(switch, switch)
    level = logging.pop("level", None)
    if level is not None and "filter" not in logging:
        logging["filter"] = level
        written["logging", "filter"] = ("logging", "level")


def front_matter_layer(document: Document, problems: list[Problem]) -> Layer:
    """The servers that `AGENT.md` or `SKILL.md` names in its front matter."""
    report = ProblemReport(document, problems)
    written: dict[KeyPath, KeyPath] = {}
    servers: dict[str, Any] = {}
    metadata = document.tree.get("metadata")
    roots: list[tuple[KeyPath, Mapping[str, Any]]] = [((), document.tree)]
    if isinstance(metadata, dict):
        roots.append((("metadata",), cast("dict[str, Any]", metadata)))
    for prefix, root in roots:
        for key in _SERVER_KEYS:
            at = (*prefix, key)
            if key in root and TOML.fields[SERVERS].check(root[key], at, report):
                servers |= _named(root[key], at, (SERVERS,), written, report)
    return Layer(scope=document.scope, tree={SERVERS: servers}, document=document, written=written)


def _sound_sections(document: Document, shape: Table) -> dict[str, Any]:
    """The sections that hold what they should, so that a fault in one hides none in another."""
    silent = ProblemReport(document, [])
    return {
        key: dict(cast("dict[str, Any]", value)) if isinstance(value, dict) else value
        for key, value in document.tree.items()
        if key in shape.fields and shape.fields[key].check(value, (key,), silent)
    }


def _json_layer(
    document: Document,
    keys: tuple[str, ...],
    shape: Table,
    habits: Habits,
    problems: list[Problem],
) -> Layer:
    servers: dict[str, Any] = {}
    written: dict[KeyPath, KeyPath] = {}
    report = ProblemReport(document, problems)
    for key in keys:
        collection = document.tree.get(key)
        if not isinstance(collection, dict):
            continue
        names = _trimmed(cast("dict[str, Any]", collection), (key,), report)
        for name, raw in names.items():
            fields: Any = cast("dict[str, Any]", collection)[raw]
            # Its faults are already told; here they only mean that there is nothing to judge.
            if not shape.check(fields, (key, raw), ProblemReport(document, [])):
                continue
            if shape is GIVEN_SERVER:
                fields = _translated(cast("dict[str, Any]", fields), (key, raw), report)
                if fields is None:
                    continue
            at = (key, raw)
            if "type" in fields:
                fields = _with_transport(name, fields, at, written, report)

            def say(
                field: KeyPath, message: str, hint: str, severity: Severity, at: KeyPath = at
            ) -> None:
                report.say((*at, *field), message, hint, severity)

            if judge(name, fields, habits, say):
                servers[name] = fields
                written[SERVERS, name] = at
    return Layer(
        scope=document.scope,
        tree={SERVERS: servers},
        document=document,
        written=written,
        replaces=True,
    )


def _trimmed(collection: Mapping[str, Any], at: KeyPath, report: ProblemReport) -> dict[str, str]:
    """Each trimmed name and how it is written; names that meet after trimming are refused."""
    names: dict[str, str] = {}
    folded: dict[str, str] = {}
    for raw in collection:
        name = raw.strip()
        fault = name_fault(raw)
        if fault:
            hint = RENAME_IT if name else 'write its name before the colon: `"name": {…}`'
            report.say((*at, raw), fault, hint)
            continue
        if name in names:
            report.say(
                (*at, raw),
                f"the server `{name}` is declared twice",
                "names are compared without the blanks around them",
            )
            continue
        twin = folded.get(fold(name))
        if twin is not None:
            report.say((*at, raw), f"`{name}` and `{twin}` differ only in case", severity="warning")
        names[name] = raw
        folded[fold(name)] = name
    return names


def _translated(
    fields: dict[str, Any], at: KeyPath, report: ProblemReport
) -> dict[str, Any] | None:
    """A server of another host in our words; `None` when that host has it switched off."""
    if fields.get("disabled"):
        return None
    ours = {name: value for name, value in fields.items() if name in GIVEN_SERVER.fields}
    ours.pop("disabled", None)
    kind = ours.pop("type", None)
    transport = ours.get("transport") or kind
    if transport:
        transport = _FOREIGN_TRANSPORTS.get(transport, transport)
        if transport not in ("stdio", "http", "sse"):
            where = "transport" if ours.get("transport") else "type"
            message = f"`{where}` must be `stdio`, `http` or `sse`, not `{transport}`"
            report.say((*at, where), message)
            return None
        ours["transport"] = transport
    return ours


def _named(
    servers: Any,
    at: KeyPath,
    canonical: KeyPath,
    written: dict[KeyPath, KeyPath],
    report: ProblemReport,
) -> dict[str, Any]:
    """Servers by name, from a table by name or an array of tables with `name`."""
    found: dict[str, Any] = {}
    if isinstance(servers, dict):
        table = cast("dict[str, Any]", servers)
        for name, raw in _trimmed(table, at, report).items():
            found[name] = table[raw]
            written[*canonical, name] = (*at, raw)
            if "type" in table[raw]:
                found[name] = _with_transport(name, table[raw], (*at, raw), written, report)
        return found
    for index, server in enumerate(cast("list[dict[str, Any]]", servers)):
        name = server["name"].strip()
        fault = name_fault(name)
        hint = RENAME_IT if fault and name else ""
        if name in found:
            fault = f"the server `{name}` is declared twice"
        if fault:
            report.say((*at, index, "name"), fault, hint)
            continue
        found[name] = {key: value for key, value in server.items() if key != "name"}
        written[*canonical, name] = (*at, index)
        if "type" in server:
            found[name] = _with_transport(name, found[name], (*at, index), written, report)
    return found


def _with_transport(
    name: str,
    fields: Mapping[str, Any],
    at: KeyPath,
    written: dict[KeyPath, KeyPath],
    report: ProblemReport,
) -> dict[str, Any]:
    """The fields with `transport` in place of its other name."""
    kept = {key: value for key, value in fields.items() if key != "type"}
    transport = TRANSPORTS.get(fields["type"], fields["type"])
    if kept.setdefault("transport", transport) != transport:
        here = (*at, "type")
        report.say(here, "it is another name of `transport`, which says otherwise", "keep one")
    elif "transport" not in fields:
        written[SERVERS, name, "transport"] = (*at, "type")
    return kept
