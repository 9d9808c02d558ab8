"""What Node loads by a name that is no path: by the manifest of a folder, or as a package."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, cast

import msgspec

from switchboard.settings.consent.digests import identity
from switchboard.settings.consent.looking import Unbound, counted, landed, looking
from switchkit.files import open_plain

_NODES = frozenset(("node", "nodejs", "bun", "deno", "tsx", "ts-node"))
# More than any manifest has.
_MOST_BYTES = 1 << 20
# To read one takes so many times as long as to tell what its bytes are.
_READING = 4
# What a manifest names its code by.
_KEYS = ("main", "module", "exports", "imports", "bin")
_ENDINGS = ("", ".js", ".json", ".node", ".mjs", ".cjs", "/index.js", "/index.json", "/index.node")
_MOST_NAMES = 200


def loaded_by_node(words: Sequence[str], folder: str) -> Iterator[tuple[str, str]]:
    """The files that the manifests of named folders name, each with its path. Raises `Unbound`."""
    if not _has_node(words):
        return
    for word in words:
        place = os.path.join(folder, word)
        if "\0" in word or not os.path.isdir(landed(place)):
            continue
        for name in _named_in(landed(os.path.join(place, "package.json"))):
            for ending in _ENDINGS:
                path = os.path.normpath(os.path.join(place, name + ending))
                yield f"part:{os.path.relpath(path, folder)}", path


def packages_of_node(words: Sequence[str], folder: str) -> Iterator[tuple[str, str]]:
    """The folders of packages that words name without a path, as `--require=NAME` does."""
    if not _has_node(words):
        return
    for word in words:
        name = word.partition("=")[2] if word.startswith("-") else word
        if not name or name.startswith((".", os.sep, "-")) or "\0" in name:
            continue
        parts = name.split("/")
        package = os.path.join(*parts[: 2 if name.startswith("@") else 1])
        yield f"node_modules/{package}", os.path.join(folder, "node_modules", package)


def _has_node(words: Sequence[str]) -> bool:
    return any(os.path.basename(word) in _NODES for word in words)


def _named_in(manifest: str) -> list[str]:
    """What a manifest names. Raises `Unbound` for one that Node might read in another way."""
    try:
        with open(manifest, "rb", opener=open_plain) as file:
            about = os.fstat(file.fileno())
            look, key = looking(), ("manifest", identity(about))
            if key in look.known:
                return look.known[key]
            look.read(min(about.st_size, _MOST_BYTES) * _READING)
            read: Any = msgspec.json.decode(file.read(_MOST_BYTES))
    except OSError:
        return []
    except (msgspec.DecodeError, UnicodeError, RecursionError) as unread:
        raise Unbound from unread
    tree = cast("dict[str, Any]", read) if isinstance(read, dict) else {}
    names: list[str] = []
    for name in _texts([tree.get(key) for key in _KEYS]):
        names.append(name)
        if len(names) > _MOST_NAMES:
            raise Unbound
    look.known[key] = names
    return names


def _texts(value: Any) -> Iterator[str]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str) and "\0" not in each:
            yield each
        elif isinstance(each, dict):
            waiting += counted(cast("dict[str, Any]", each).values())
        elif isinstance(each, list):
            waiting += counted(cast("list[Any]", each))
