"""The servers that an agent file names, and those of the `mcp.json` beside it."""

from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from switchboard.config.documents import Document
from switchboard.config.key_positions import KeyPath, Spot, Spots
from switchboard.config.locate import agent_files
from switchboard.config.problems import Problem, Severity
from switchboard.core.network.transports import FOREIGN_TRANSPORTS
from switchboard.providers.agents.formats.parts import Parts
from switchboard.settings.files.file_layers import SERVERS, front_matter_layer, sidecar_layer
from switchboard.settings.server_rules import Habits, judge


def declared_servers(
    document: Document, agent: str, parts: Parts, problems: list[Problem]
) -> dict[str, dict[str, Any]]:
    """The servers of an agent, inline and beside it. A sidecar replaces whole servers."""
    found: list[Problem] = []
    inline = front_matter_layer(document, found)
    servers: dict[str, dict[str, Any]] = dict(inline.tree[SERVERS])
    habits = Habits(repository=bool(parts.within), foreign_accounts=True)
    for name, fields in servers.items():

        def say(at: KeyPath, message: str, hint: str, severity: Severity, name: str = name) -> None:
            found.append(inline.problem((SERVERS, name, *at), message, hint, severity))

        judge(name, fields, habits, say)
    _, sidecar = agent_files(agent)
    beside = parts.json(sidecar, found)
    if beside is not None:
        servers |= sidecar_layer(beside, found).tree[SERVERS]
    problems += [replace(problem, near=False) for problem in found]
    return servers


class _Respelled(Struct, frozen=True):
    """Places of a file that writes the key of its servers otherwise."""

    spots: Spots
    key: str

    def find(self, path: KeyPath) -> Spot:
        return self.spots.find((self.key, *path[1:]) if path[:1] == (SERVERS,) else path)


def with_servers(document: Document, servers: Mapping[str, Any], key: str) -> Document:
    """A document of another host with its servers in our words; it writes them under `key`."""
    tree = {name: value for name, value in document.tree.items() if name != "mcpServers"}
    spots = _Respelled(document.spots, key)
    return replace(document, tree={**tree, SERVERS: dict(servers)}, spots=spots)


def translated(fields: Mapping[str, Any]) -> dict[str, Any]:
    """A server of another host in our words."""
    ours = {key: value for key, value in fields.items() if key not in ("type", "tools")}
    kind = fields.get("type")
    if isinstance(kind, str) and "transport" not in ours:
        ours["transport"] = FOREIGN_TRANSPORTS.get(kind, kind)
    return ours


def named_servers(written: Any) -> tuple[dict[str, dict[str, Any]], tuple[str, ...]]:
    """Inline servers and names of servers, from an object, or a list of names and objects."""
    items = cast("list[Any]", written) if isinstance(written, list) else [written]
    inline: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    for item in items:
        if isinstance(item, str):
            names.append(item)
        elif isinstance(item, dict):
            for name, fields in cast("dict[str, Any]", item).items():
                if isinstance(fields, dict):
                    inline[name] = translated(cast("dict[str, Any]", fields))
                else:
                    names.append(name)
    return inline, tuple(names)
