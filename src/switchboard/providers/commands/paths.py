"""Where tools may run, and what paths among their arguments may lead to."""

# Strings of other programs, not paths of ours; links are followed on purpose.

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from msgspec import Struct

from switchboard.core.faults import Fault, FaultCode
from switchkit.platform.paths import true_path

_MAX_PATH = 4_096
_MARK = "x-path"
# Where a path may begin within a word: `@/x` of curl, `name:/x`, `a,/x`, `--file=/x`, `key=~/x`.
_INNER = re.compile(r"[@:,;=|](?=/|~|\.\.(?:/|$))")
_FORMATS = frozenset({"path", "file-path", "directory-path"})


class PathFilter(Struct, frozen=True):
    """The folders that tools may be pointed at, and all below them."""

    roots: tuple[str, ...]
    user_home: str

    def allows(self, path: str) -> bool:
        """Whether a path leads into one of them, with every link followed."""
        real = true_path(path)
        return any(_is_within(real, true_path(root)) for root in self.roots)

    def check_cwd(self, cwd: str) -> None:
        """Raise a fault where nothing may run."""
        if not self.allows(cwd):
            raise _outside("the working directory", cwd)

    def check_arguments(self, arguments: Mapping[str, Any], schema: Any, cwd: str) -> None:
        """Raise a fault when an argument leads out of the folders."""
        for name, value in arguments.items():
            mark = _marked(schema, name)
            if mark is False:
                continue
            for text in _texts(value):
                for path in self._paths(text, is_path=mark is True):
                    if not self.allows(os.path.join(cwd, path)):
                        raise _outside(f"the argument `{name}`", path)

    def _paths(self, text: str, *, is_path: bool) -> Iterator[str]:
        """What a program could take for a path in a text."""
        if not text or "\0" in text:
            return
        if not is_path and len(text) > _MAX_PATH:
            return
        whole = text.strip()
        if "\n" in whole:
            # Nobody names a file so, but programs that read lines do.
            parts = [line.strip() for line in whole.splitlines()]
        else:
            parts = [text, whole, *_inner(whole)]
            # As in `--file=path` and `if=path`.
            _, equals, tail = whole.partition("=")
            if equals and tail:
                parts.append(tail)
        for part in dict.fromkeys(parts):
            if part and (is_path or not text.count("\n") or _leads(part)):
                yield self._path(part)

    def _path(self, text: str) -> str:
        text = _local(text)
        if text == "~" or text.startswith("~/"):
            return self.user_home + text[1:]
        return text


def _inner(text: str) -> Iterator[str]:
    """Paths within a text, behind what programs put before one."""
    for found in _INNER.finditer(text):
        tail = text[found.end() :]
        if tail.startswith("//") and found[0] == ":" and not _is_there(tail[1:]):
            # The rest of an address of the web.
            continue
        if len(text.split()) > 1 and not _is_there(tail.split()[0]):
            # Words: `either,/or`.
            continue
        yield tail


def _is_there(path: str) -> bool:
    """Whether a path leads anywhere at all, by its first folder."""
    first = path.lstrip("/").split("/")[0]
    return not path.startswith("/") or (bool(first) and os.path.lexists(f"/{first}"))


def _leads(line: str) -> bool:
    """Whether a line of a longer text is plainly a path, and not what somebody writes."""
    return line.startswith(("/", "~/", "../")) and len(line.split()) == 1


def _local(text: str) -> str:
    """The path of an address of a file, in whatever way it is written."""
    if text[:5].lower() != "file:":
        return text
    path = text[5:]
    if path.startswith("//"):
        # A host may stand there: this machine, by any name.
        path = "/" + path[2:].partition("/")[2]
    return path


def _is_within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def _marked(schema: Any, name: str) -> bool | None:
    """Whether a schema says that an argument is a path, or none; None when it is silent."""
    if not isinstance(schema, dict):
        return None
    properties = cast("dict[str, Any]", schema).get("properties")
    found = cast("dict[str, Any]", properties).get(name) if isinstance(properties, dict) else None
    if not isinstance(found, dict):
        return None
    member = cast("dict[str, Any]", found)
    if isinstance(member.get(_MARK), bool):
        return member[_MARK]
    return True if member.get("format") in _FORMATS else None


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in cast("dict[str, Any]", value).values():
            yield from _texts(inner)
    elif isinstance(value, list):
        for inner in cast("list[Any]", value):
            yield from _texts(inner)


def _outside(what: str, path: str) -> Fault:
    return Fault(
        FaultCode.PERMISSION_DENIED,
        "path-outside-workspace",
        f"{what} leads out of the folders that tools may use",
        hint="stay in the workspace; more folders can be opened with `[tools] roots` of your home",
        private=path,
    )
