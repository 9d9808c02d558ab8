"""`{"$result": HANDLE, "path": …, "patch": […]}` in arguments: what a model need not write out.

What is taken is not looked through again: a result that holds such words holds just words.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.json import decode, encode

from switchboard.core.calls.borrowed import Borrowed
from switchboard.core.faults import Fault, FaultCode
from switchboard.results.kept_result import MUCH, KeptResult
from switchboard.results.patch import PatchRefused, apply, read_patch
from switchboard.results.pointer import NoSuchPlace, read_path, value_at, written

KEY = "$result"
_KEYS = frozenset({KEY, "path", "patch"})
_DEEPEST = 64
# Of one request, however many calls it makes: each reference is short, and what it costs is not.
MOST_REFERENCES = 16
MOST_UNPACKED = 8 * 1024 * 1024
# Of all that a call takes, with its changes. All of it is checked, judged and sent.
_MOST_TAKEN = 1024 * 1024
# What a patch may work on: it is read once more for it.
_MOST_PATCHED = 2 * _MOST_TAKEN
# What a person is shown the changes of.
_MOST_COMPARED = 64 * 1024
_HINT = (
    'send {"$result": "HANDLE", "path": "/name/0", "patch": [JSON Patch]}; path and patch may go'
)

Place = tuple[str | int, ...]
Find = Callable[[str], KeptResult]


class _Reference(Struct, frozen=True, eq=False):
    handle: str
    path: str
    patch: Any


class Lent(Struct, frozen=True, eq=False):
    """The results that the arguments of one call refer to."""

    kept: Mapping[str, KeptResult]
    references: int
    has_patch: bool

    @property
    def unpacked(self) -> int:
        """The bytes that have to be read: each result once."""
        return sum(each.size for each in self.kept.values())

    @property
    def is_much(self) -> bool:
        """Whether everybody would wait for it. A short patch may make much of a short result."""
        return self.has_patch or self.unpacked > MUCH


class Resolved(Struct, frozen=True, eq=False):
    """Arguments as they will be sent, and what of them was taken from results."""

    args: Any
    borrowed: tuple[Borrowed, ...] = ()


def may_refer(arguments: bytes) -> bool:
    """Whether there can be a reference in them: everybody waits while many values are looked at."""
    # Any letter can be written as its number.
    return KEY.encode() in arguments or b"\\u" in arguments


def lent_to(args: Any, find: Find) -> Lent:
    """The results that are referred to; or a fault, before any of them is read."""
    kept: dict[str, KeptResult] = {}
    references, has_patch = 0, False
    for each in _references(args, ()):
        references += 1
        if references > MOST_REFERENCES:
            break
        has_patch = has_patch or bool(each.patch)
        if each.handle not in kept:
            kept[each.handle] = find(each.handle)
    lent = Lent(kept, references, has_patch)
    check_together((lent,))
    return lent


def check_together(all_lent: Iterable[Lent]) -> None:
    """A fault where the calls of one request refer to too much together."""
    references = unpacked = 0
    for each in all_lent:
        references += each.references
        unpacked += each.unpacked
    if references > MOST_REFERENCES:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "results-too-long",
            f"a request has at most {MOST_REFERENCES} references to results",
            hint="make several requests",
        )
    if unpacked > MOST_UNPACKED:
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "results-too-long",
            f"the results that it refers to have {unpacked:,} bytes, more than {MOST_UNPACKED:,}",
            hint="make several requests, or ask the tool for less",
        )


def resolve(args: Any, lent: Lent) -> Resolved:
    """The arguments with every reference replaced by what it stands for; or a fault."""
    if not lent.references:
        return Resolved(args)
    work = _Work(lent.kept)
    return Resolved(work.value(args, ()), tuple(work.borrowed))


def declares(schema: Any) -> bool:
    """Whether a schema has a property of that name itself: then nobody can tell what is meant."""
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            members = cast("Mapping[str, Any]", each)
            properties = members.get("properties")
            if isinstance(properties, Mapping) and KEY in properties:
                return True
            waiting += members.values()
        elif isinstance(each, list):
            waiting += cast("list[Any]", each)
    return False


def forbidden(tool: str) -> Fault:
    """A tool that has a parameter of that name."""
    return Fault(
        FaultCode.INVALID_ARGUMENT,
        "result-forbidden",
        f"`{tool}` has a parameter `{KEY}` of its own: no result can stand in its arguments",
        hint=f"write the arguments out; a suite passes `{KEY}` on as it is",
    )


def _references(value: Any, place: Place) -> Iterator[_Reference]:
    if len(place) > _DEEPEST:
        raise _refused(place[:3], f"it is more than {_DEEPEST} levels deep")
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        if KEY in members:
            yield _reference(members, place)
            return
        for key, inner in members.items():
            yield from _references(inner, (*place, key))
    elif isinstance(value, list):
        for at, inner in enumerate(cast("list[Any]", value)):
            yield from _references(inner, (*place, at))


def _reference(members: dict[str, Any], place: Place) -> _Reference:
    handle, path = members[KEY], members.get("path", "")
    if not isinstance(handle, str) or not isinstance(path, str) or members.keys() - _KEYS:
        raise _refused(place, "it is no reference to a result", _HINT)
    return _Reference(handle, path, members.get("patch", []))


class _Work:
    def __init__(self, kept: Mapping[str, KeptResult]) -> None:
        self._kept = kept
        # Each is read once, however often it is referred to.
        self._documents: dict[str, Any] = {}
        self._room = _MOST_TAKEN
        self.borrowed: list[Borrowed] = []

    def value(self, value: Any, place: Place) -> Any:
        if isinstance(value, dict):
            members = cast("dict[str, Any]", value)
            if KEY in members:
                return self._taken(_reference(members, place), place)
            return {key: self.value(inner, (*place, key)) for key, inner in members.items()}
        if isinstance(value, list):
            items = cast("list[Any]", value)
            return [self.value(inner, (*place, at)) for at, inner in enumerate(items)]
        return value

    def _taken(self, reference: _Reference, place: Place) -> Any:
        kept = self._kept[reference.handle]
        if kept.handle not in self._documents:
            self._documents[kept.handle] = kept.document()
        try:
            steps = read_path(reference.path)
            value = value_at(self._documents[kept.handle], steps)
            operations = read_patch(reference.patch)
            whole = b""
            if operations:
                whole = encode(value)
                if len(whole) > _MOST_PATCHED:
                    why = f"{len(whole):,} bytes are too many for a patch; take a part with `path`"
                    raise PatchRefused(why)
                # A patch works in place, and the next reference takes what the tool said.
                value = apply(decode(whole), operations, most_bytes=self._room)
            size = len(encode(value))
        except (NoSuchPlace, PatchRefused) as error:
            raise _refused(place, str(error)) from None
        except RecursionError:
            raise _refused(place, "it is nested too deeply") from None
        self._room -= size
        if self._room < 0:
            raise _refused(place, f"more than {_MOST_TAKEN:,} bytes of results are too long")
        self.borrowed.append(
            Borrowed(
                place=place,
                handle=kept.handle,
                server=kept.server,
                tool=kept.tool,
                path=written(steps),
                letters=len(value) if isinstance(value, str) else size,
                changes=len(operations),
                before=whole if len(whole) <= _MOST_COMPARED else b"",
            )
        )
        return value


def _refused(place: Place, why: str, hint: str = "") -> Fault:
    name = ".".join(("args", *map(str, place)))
    return Fault(FaultCode.INVALID_ARGUMENT, "result-unusable", f"`{name[:200]}`: {why}", hint=hint)
