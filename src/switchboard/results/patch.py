"""JSON Patch (RFC 6902): a few changes in place of a whole document."""

from typing import Any, cast

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.json import decode, encode

from switchboard.results.pointer import NoSuchPlace, Steps, index_of, read_path, value_at

MOST_OPERATIONS = 256
_OPERATIONS = ("add", "remove", "replace", "move", "copy", "test")
_WITH_VALUE = frozenset({"add", "replace", "test"})
_WITH_SOURCE = frozenset({"move", "copy"})
_END = "-"


class PatchRefused(ValueError):
    """A patch that is none, or does not apply. The text names the operation, and why."""


class Operation(Struct, frozen=True):
    """One change."""

    op: str
    path: str
    source: str | UnsetType = msgspec.field(name="from", default=UNSET)
    value: Any = UNSET


def read_patch(written: Any) -> tuple[Operation, ...]:
    """The operations of a patch. Raises `PatchRefused`."""
    try:
        operations = msgspec.convert(written, tuple[Operation, ...])
    except msgspec.ValidationError as error:
        raise PatchRefused(f"`patch` is no list of operations: {error}") from None
    if len(operations) > MOST_OPERATIONS:
        raise PatchRefused(f"`patch` has more than {MOST_OPERATIONS} operations")
    for number, each in enumerate(operations):
        if each.op not in _OPERATIONS:
            raise _refused(number, each, f"`op` must be one of {', '.join(_OPERATIONS)}")
        if each.op in _WITH_VALUE and each.value is UNSET:
            raise _refused(number, each, "it needs a `value`")
        if each.op in _WITH_SOURCE and each.source is UNSET:
            raise _refused(number, each, "it needs a `from`")
    return operations


def apply(document: Any, operations: tuple[Operation, ...], *, most_bytes: int) -> Any:
    """The document with all changes; or `PatchRefused`.

    The document is worked on in place: whoever has it must have it alone. What copies would make
    longer than `most_bytes` is refused.
    """
    work = _Work(document, most_bytes - len(encode(document)))
    for number, each in enumerate(operations):
        try:
            work.change(each)
        except (NoSuchPlace, PatchRefused) as error:
            raise _refused(number, each, str(error)) from None
    return work.document


def equal(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON. Python takes `true` and 1 for equal; JSON does not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        mine, yours = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return mine.keys() == yours.keys() and all(equal(mine[key], yours[key]) for key in mine)
    if isinstance(one, list) and isinstance(other, list):
        items, others = cast("list[Any]", one), cast("list[Any]", other)
        return len(items) == len(others) and all(map(equal, items, others))
    return one == other


class _Work:
    """A document while it is changed."""

    def __init__(self, document: Any, room: int) -> None:
        self.document = document
        self._room = room

    def change(self, each: Operation) -> None:
        steps = read_path(each.path)
        match each.op:
            case "add":
                self._add(steps, self._own(each.value))
            case "remove":
                self._remove(steps)
            case "replace":
                self._replace(steps, self._own(each.value))
            case "test":
                if not equal(value_at(self.document, steps), each.value):
                    raise PatchRefused("another value is there")
            case _:
                self._carry(each, steps)

    def _carry(self, each: Operation, steps: Steps) -> None:
        begins = read_path(str(each.source))
        value = value_at(self.document, begins)
        if each.op == "copy":
            value = self._own(value)
        elif begins == steps:
            return
        elif begins == steps[: len(begins)]:
            raise PatchRefused("nothing can be moved into itself")
        else:
            self._remove(begins)
        self._add(steps, value)

    def _own(self, value: Any) -> Any:
        """A copy, for which there has to be room."""
        content = encode(value)
        self._room -= len(content)
        if self._room < 0:
            raise PatchRefused("what comes of it is too long")
        return decode(content)

    def _add(self, steps: Steps, value: Any) -> None:
        if not steps:
            self.document = value
            return
        holder, last = value_at(self.document, steps[:-1]), steps[-1]
        if isinstance(holder, dict):
            holder[last] = value
            return
        if not isinstance(holder, list):
            raise NoSuchPlace("only an object or an array can be added to")
        items = cast("list[Any]", holder)
        at = len(items) if last == _END else index_of(last)
        if at is None or at > len(items):
            raise NoSuchPlace(f"the array has {len(items):,} items")
        items.insert(at, value)

    def _replace(self, steps: Steps, value: Any) -> None:
        value_at(self.document, steps)
        if not steps:
            self.document = value
            return
        holder = value_at(self.document, steps[:-1])
        holder[steps[-1] if isinstance(holder, dict) else int(steps[-1])] = value

    def _remove(self, steps: Steps) -> None:
        value_at(self.document, steps)
        if not steps:
            raise PatchRefused("the whole cannot be removed")
        holder = value_at(self.document, steps[:-1])
        del holder[steps[-1] if isinstance(holder, dict) else int(steps[-1])]


def _refused(number: int, each: Operation, why: str) -> PatchRefused:
    return PatchRefused(f"`patch[{number}]` ({each.op[:20]} {each.path[:100]}): {why}")
