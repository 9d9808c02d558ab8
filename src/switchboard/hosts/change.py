"""One change of one file of a host: the bytes before and after, and what they differ in."""

import difflib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from msgspec import Struct

from switchboard.config.itself import is_switchboard
from switchboard.hosts.edits.edit import (
    Format,
    decoded,
    read_tree,
    with_item,
    with_member,
    without_member,
)
from switchboard.hosts.edits.spots import Path
from switchboard.hosts.edits.trees import value_at
from switchboard.hosts.edits.unfit import UnfitFile
from switchboard.hosts.shown_text import HIDDEN, all_servers, shown_text

OUR_NAME = "switchboard"


class Placed(Struct, frozen=True, kw_only=True):
    """Where a change stands in its file, for whoever has to take it back."""

    host: str
    # As the host names the file, and where its links lead.
    path: str
    target: str
    form: Format
    servers: tuple[str, ...]


class Granted(Struct, frozen=True, kw_only=True):
    """What a host is told beside our entry: an item of a list, or a member if it has a name."""

    keys: tuple[str, ...]
    value: Any
    name: str = ""


class FileChange(Struct, frozen=True, kw_only=True):
    """The bytes that a file has now, and those that it shall have."""

    place: Placed
    # `None` when the file is not there.
    before: bytes | None
    after: bytes
    # Servers that go out of the file, and those that come in, by the digests of what is written.
    taken_out: tuple[str, ...] = ()
    put_in: dict[str, str] = {}
    granted: tuple[Granted, ...] = ()

    @property
    def is_needed(self) -> bool:
        """Whether anything changes."""
        return self.after != (self.before or b"")

    def difference(self, secrets: Iterable[str] = (), also: Sequence[tuple[str, ...]] = ()) -> str:
        """The difference as people read it: what comes in whole, and of all else the keys.

        `also` are other keys of the file that lead to servers.
        """
        old = decoded(self.before or b"")
        new = decoded(self.after)
        # As they are, and as a string of JSON has them.
        forms = {each for secret in secrets for each in (secret, json.dumps(secret)[1:-1])} - {""}
        longest_first = sorted(forms, key=len, reverse=True)
        lines = _differing(
            (old, self._shown(old, lambda _path, _value: False, also)),
            (new, self._shown(new, self._comes_in(old, new), also)),
        )
        heads = [self.place.path if self.before is not None else "/dev/null", self.place.path]
        told = [f"--- {heads[0]}", f"+++ {heads[1]}"] if old != new else []
        told += (_without(line, longest_first) for line in lines)
        return "".join(f"{line}\n" for line in told)

    def _shown(
        self,
        text: str,
        is_open: Callable[[Path, str], bool],
        also: Sequence[tuple[str, ...]],
    ) -> str:
        return shown_text(text, self.place.form, self.place.servers, is_open, also)

    def _comes_in(self, old: str, new: str) -> Callable[[Path, str], bool]:
        """Whether a value of the new text is ours: of our entry, or of what a host is told."""
        was, becomes = _tree(old, self.place.form), _tree(new, self.place.form)
        own = [
            each
            for servers in all_servers(self.place.servers)
            if is_our_entry(entry := value_at(becomes, each := (*servers, OUR_NAME)))
            and entry != value_at(was, each)
        ]

        def comes_in(path: Path, value: str) -> bool:
            return any(path[: len(each)] == each for each in own) or any(
                path[: len(each.keys)] == each.keys
                and (each.name in path[len(each.keys) :][:1] if each.name else value == each.value)
                for each in self.granted
            )

        return comes_in


def _tree(text: str, form: Format) -> dict[str, Any]:
    try:
        return read_tree(text, form)
    except UnfitFile:
        return {}


def _differing(old: tuple[str, str], new: tuple[str, str]) -> Iterator[str]:
    """The lines in which two texts differ, with some around them, each as it is shown."""
    before, after, was, becomes = map(_lines, (old[0], new[0], old[1], new[1]))
    for group in difflib.SequenceMatcher(None, before, after).get_grouped_opcodes():
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"
        for kind, start, end, begin, stop in group:
            if kind == "equal":
                yield from (f" {line}" for line in was[start:end])
                continue
            yield from (f"-{line}" for line in was[start:end])
            yield from (f"+{line}" for line in becomes[begin:stop])


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _range(start: int, end: int) -> str:
    return f"{start + 1},{end - start}"


def _without(line: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        line = line.replace(secret, HIDDEN)
    return line.rstrip("\r")


def changed(
    place: Placed,
    before: bytes | None,
    put_in: Mapping[str, Any],
    taken_out: Sequence[str] = (),
    granted: Sequence[Granted] = (),
) -> FileChange:
    """The file with some servers, and without others. Raises `UnfitFile`."""
    text = decoded(before or b"")
    tree = read_tree(text, place.form)
    there = value_at(tree, place.servers)
    here = cast("dict[str, Any]", there) if isinstance(there, dict) else {}
    if OUR_NAME in put_in and OUR_NAME in here and not is_our_entry(here[OUR_NAME]):
        raise UnfitFile(f"it has another server named `{OUR_NAME}`; give that one another name")
    gone = tuple(name for name in taken_out if name in here)
    for name in gone:
        text = without_member(text, place.form, (*place.servers, name))
    for name, entry in put_in.items():
        text = with_member(text, place.form, (*place.servers, name), entry)
    new = tuple(each for each in granted if not is_granted(tree, each))
    for each in new:
        text = with_granted(text, place.form, each)
    return FileChange(
        place=place,
        before=before,
        after=text.encode(),
        taken_out=gone,
        put_in={name: value_digest(entry) for name, entry in put_in.items()},
        granted=new,
    )


def with_granted(text: str, form: Format, granted: Granted) -> str:
    """The text with what a host is told beside our entry. Raises `UnfitFile`."""
    if granted.name:
        return with_member(text, form, (*granted.keys, granted.name), granted.value)
    return with_item(text, form, granted.keys, granted.value)


def is_granted(tree: dict[str, Any], granted: Granted) -> bool:
    """Whether a file says something there already: then it is its owner's word, whatever it is."""
    there = value_at(tree, granted.keys)
    if granted.name:
        return isinstance(there, dict) and granted.name in there
    return isinstance(there, list) and granted.value in there


def is_our_entry(value: Any) -> bool:
    """Whether a server, as a host writes it, starts Switchboard."""
    if not isinstance(value, dict):
        return False
    entry = cast("dict[str, Any]", value)
    command = entry.get("command") or entry.get("cmd") or ""
    words = cast("list[Any]", command) if isinstance(command, list) else [command]
    args = entry.get("args")
    rest = cast("list[Any]", args) if isinstance(args, list) else []
    line = [str(each) for each in (*words, *rest)]
    return bool(line) and is_switchboard("", line[0], line[1:])


def value_digest(value: Any) -> str:
    """What tells this value from any other, however it is written."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()
