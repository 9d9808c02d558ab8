"""Rules of a host about tools of a server, which it goes by when it calls that server itself.

They are found where the host would be told about us (`HostGrant`), in the words in which it would.
"""

from collections.abc import Iterator
from typing import Any, cast

from msgspec import Struct

from switchboard.hosts.change import OUR_NAME
from switchboard.hosts.edits.edit import decoded, read_tree
from switchboard.hosts.edits.trees import value_at
from switchboard.hosts.edits.unfit import UnfitFile
from switchboard.hosts.host import Host, HostGrant, ServersFile
from switchboard.hosts.places import HostRoots
from switchboard.hosts.plain_file import read_plain

_TOOL = "{tool}"
# Lists beside the one that lets tools through.
_EFFECTS = ("allow", "ask", "deny")


class HostRule(Struct, frozen=True, kw_only=True):
    """One rule: which tools it is about, and what it does."""

    path: str
    text: str
    # `allow`, `ask`, `deny`, or what the host writes instead.
    effect: str

    def tool_of(self, server: str, grants: tuple[HostGrant, ...]) -> str | None:
        """The tool of this server that it names, in the words of the host; `*` for all of them."""
        for grant in grants:
            tool = _tool(self.text, _pattern(grant), server)
            if tool is not None:
                return tool or "*"
        return None


def rules_of(host: Host, places: HostRoots, own_path: str) -> Iterator[HostRule]:
    """Every rule in files of the host. One that cannot be read has none."""
    for grant in {(each.path, each.keys): each for each in host.grants}.values():
        if grant.needs_key:
            # A list of servers, not of what they may do.
            continue
        files = [places.path_of(_as_file(grant.path, grant))] if grant.path else [own_path]
        files += [
            places.path_of(_as_file(each, grant, in_project=True)) for each in host.rule_files
        ]
        for path in files:
            yield from _rules_in(path, grant)


def _as_file(path: str, grant: HostGrant, *, in_project: bool = False) -> ServersFile:
    scope = "project" if in_project else "user"
    return ServersFile(path=path, form=grant.form, servers=(), scope=scope)


def _rules_in(path: str, grant: HostGrant) -> Iterator[HostRule]:
    try:
        tree = read_tree(decoded(read_plain(path) or b""), grant.form)
    except (OSError, UnfitFile):
        return
    last = grant.keys[-1]
    for key in _EFFECTS if last in _EFFECTS else (last,):
        there = value_at(tree, (*grant.keys[:-1], key))
        effect = key if key in _EFFECTS else "allow"
        yield from (
            HostRule(path=path, text=text, effect=said or effect) for text, said in _texts(there)
        )


def _texts(there: Any) -> Iterator[tuple[str, str]]:
    """The words of rules: items of a list, or members by their names."""
    if isinstance(there, dict):
        for name, value in cast("dict[str, Any]", there).items():
            yield str(name), value if isinstance(value, str) else ""
    for item in cast("list[Any]", there) if isinstance(there, list) else ():
        if isinstance(item, str):
            yield item, ""
        elif isinstance(item, dict):
            members = cast("dict[str, Any]", item)
            text = members.get("tool") or members.get("prefix")
            if isinstance(text, str):
                yield text, str(members.get("action") or "")


def _pattern(grant: HostGrant) -> str:
    """How the host would name us, or a tool of ours."""
    for text, _ in _texts([grant.value]):
        return grant.name or text
    return grant.name


def _tool(text: str, pattern: str, server: str) -> str | None:
    named = pattern.replace(OUR_NAME, server)
    start, has_tool, _ = named.removesuffix("*").partition(_TOOL)
    if has_tool or named != start or named.endswith(":"):
        return text.removeprefix(start) if text.startswith(start) else None
    return "" if text == named else None
