"""What tells a host not to ask about us, as changes of its files."""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any, cast

from switchboard.hosts.change import FileChange, Granted, Placed, changed
from switchboard.hosts.edits.edit import decoded, read_tree
from switchboard.hosts.edits.trees import value_at
from switchboard.hosts.host import Host, HostGrant, ServersFile
from switchboard.hosts.places import HostRoots
from switchboard.hosts.plain_file import read_plain
from switchkit.platform.paths import true_path

_TOOL = "{tool}"
_ASK = "ask"


def granted_with_entry(
    host: Host, raw: bytes | None, *, is_guarded: bool, reading: Sequence[str]
) -> tuple[Granted, ...]:
    """What the file of our entry says besides. Raises `UnfitFile`."""
    mine = [each for each in host.grants if not each.path]
    if not mine:
        return ()
    tree = read_tree(decoded(raw or b""), mine[0].form)
    return tuple(
        made
        for grant in mine
        if not grant.needs_key or value_at(tree, grant.keys) is not None
        for made in _made(grant, is_guarded=is_guarded, reading=reading)
        if not grant.needs_asking or _is_asked(tree, made)
    )


def _is_asked(tree: dict[str, Any], granted: Granted) -> bool:
    """Whether the last of the rules that count for a name has the host ask."""
    rules = value_at(tree, granted.keys)
    if not isinstance(rules, dict):
        # One word for everything cannot have an exception beside it.
        return False
    said: Any = None
    for pattern, rule in cast("dict[str, Any]", rules).items():
        if "*" in pattern and fnmatchcase(granted.name, pattern):
            said = rule
    # A rule may have rules of its own, for what a tool is called with.
    inner = cast("dict[str, Any]", said).values() if isinstance(said, dict) else (said,)
    return _ASK in inner


def changes_beside(
    host: Host, places: HostRoots, *, is_guarded: bool, reading: Sequence[str]
) -> Iterator[FileChange]:
    """Other files of the host that are told about us. Raises `UnfitFile` or `OSError`."""
    for path in dict.fromkeys(each.path for each in host.grants if each.path):
        grants = [each for each in host.grants if each.path == path]
        granted = [
            made
            for grant in grants
            for made in _made(grant, is_guarded=is_guarded, reading=reading)
        ]
        if not granted:
            continue
        file = ServersFile(path=path, form=grants[0].form, servers=())
        where = places.path_of(file)
        target = true_path(where)
        place = Placed(host=host.id, path=where, target=target, form=file.form, servers=())
        yield changed(place, read_plain(target), {}, granted=granted)


def _made(grant: HostGrant, *, is_guarded: bool, reading: Sequence[str]) -> Iterator[Granted]:
    if grant.needs_key or (grant.is_for_gate and is_guarded):
        yield Granted(keys=grant.keys, value=grant.value, name=grant.name)
    elif not grant.is_for_gate and not is_guarded:
        # Where the gate asks, everything of ours is let through, and no tool needs its own word.
        for tool in reading:
            yield Granted(
                keys=grant.keys,
                value=_filled(grant.value, tool),
                name=grant.name.replace(_TOOL, tool),
            )


def _filled(value: Any, tool: str) -> Any:
    if isinstance(value, str):
        return value.replace(_TOOL, tool)
    if isinstance(value, dict):
        return {key: _filled(each, tool) for key, each in cast("dict[str, Any]", value).items()}
    return value
