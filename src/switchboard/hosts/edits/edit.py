"""One change of one file, in whichever format its host keeps.

Whatever an editor makes is read again before anybody gets it: a text that says more, less or
something else than was meant is never handed out.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Literal, cast

from switchboard.hosts.edits import json_edit, toml_edit
from switchboard.hosts.edits.spots import ValueSpot, json_spots, toml_spots
from switchboard.hosts.edits.trees import is_same, with_value, without_empty, without_value
from switchboard.hosts.edits.unfit import UnfitFile

# `jsonc` is JSON with comments and commas after the last item.
Format = Literal["json", "jsonc", "toml", "yaml"]

# A host that keeps its history in the same file has megabytes of it. Nobody has those in the
# formats whose readers take seconds for one.
MAX_BYTES = 32 << 20
_MAX_SLOW = 1 << 20
_MARK = "\ufeff"


def decoded(raw: bytes) -> str:
    """The text of a file, byte order mark included. Raises `UnfitFile`."""
    if len(raw) > MAX_BYTES:
        raise UnfitFile(f"the file is larger than {MAX_BYTES >> 20} MB")
    try:
        return raw.decode()
    except UnicodeDecodeError as wrong:
        line = raw.count(b"\n", 0, wrong.start) + 1
        raise UnfitFile("the file is not UTF-8", line=line) from None


def read_tree(text: str, form: Format) -> dict[str, Any]:
    """What a file says. Raises `UnfitFile`."""
    text = text.removeprefix(_MARK)
    if form in {"json", "jsonc"}:
        return json_edit.read_tree(text, with_comments=form == "jsonc")
    if len(text) > _MAX_SLOW:
        raise UnfitFile(f"the file is larger than {_MAX_SLOW >> 20} MB")
    return toml_edit.read_tree(text) if form == "toml" else _yaml().read_tree(text)


def spots_in(text: str, form: Format) -> list[ValueSpot]:
    """Where values and comments stand in a text that can be read. Raises `UnfitFile`."""
    if form == "yaml":
        return _yaml().spots(text)
    return [*(toml_spots(text) if form == "toml" else json_spots(text))]


def with_member(text: str, form: Format, path: Sequence[str], value: Any) -> str:
    """The text with this value at the path. Raises `UnfitFile`.

    The same text, if it says so already.
    """
    tree = read_tree(text, form)
    meant = with_value(tree, path, value)
    if is_same(tree, meant):
        return text
    return _changed(text, form, path, meant, lambda plain: _editor(form)(plain, path, value))


def with_member_of(text: str, form: Format, path: Sequence[str], value: Any, source: str) -> str:
    """The text with this value at the path, written as another text has it. Raises `UnfitFile`.

    Where that does not fit, or is YAML, it is written anew.
    """
    editor = {"toml": toml_edit.with_member_of, "yaml": None}.get(form, json_edit.with_member_of)
    if editor is not None:
        meant = with_value(read_tree(text, form), path, value)
        source = source.removeprefix(_MARK)
        with suppress(UnfitFile):
            return _changed(
                text, form, path, meant, lambda plain: editor(plain, path, value, source)
            )
    return with_member(text, form, path, value)


def without_member(text: str, form: Format, path: Sequence[str]) -> str:
    """The text without what stands at the path, if anything does. Raises `UnfitFile`."""
    tree = read_tree(text, form)
    meant = without_value(tree, path)
    if meant is tree:
        return text
    remover = {"toml": toml_edit.without_member, "yaml": None}.get(form, json_edit.without_member)
    remover = remover or _yaml().without_member
    return _changed(text, form, path, meant, lambda plain: remover(plain, path))


def with_item(text: str, form: Format, path: Sequence[str], item: Any) -> str:
    """The text with one more item in the list at the path. Raises `UnfitFile`."""
    tree = read_tree(text, form)
    here = _list_at(tree, path)
    if any(is_same(each, item) for each in here or ()):
        return text
    if here is None:
        return with_member(text, form, path, [item])
    _only_json(form)
    meant = with_value(tree, path, [*here, item])
    return _changed(
        text, form, path, meant, lambda plain: json_edit.with_item(plain, path, len(here), item)
    )


def without_item(text: str, form: Format, path: Sequence[str], item: Any) -> str:
    """The text without this item of the list at the path. Raises `UnfitFile`."""
    tree = read_tree(text, form)
    here = _list_at(tree, path) or []
    at = next((at for at, each in enumerate(here) if is_same(each, item)), -1)
    if at < 0:
        return text
    _only_json(form)
    meant = with_value(tree, path, [*here[:at], *here[at + 1 :]])
    return _changed(text, form, path, meant, lambda plain: json_edit.without_item(plain, path, at))


def _changed(
    text: str, form: Format, path: Sequence[str], meant: dict[str, Any], edit: Callable[[str], str]
) -> str:
    """What the edit makes of the text, if that says what is meant."""
    mark = _MARK if text.startswith(_MARK) else ""
    made = mark + edit(text.removeprefix(_MARK))
    try:
        says = read_tree(made, form)
    except UnfitFile:
        says = None
    # A table of TOML that only holds another needs no words of its own, and goes with it.
    if says is None or not is_same(without_empty(says, path), without_empty(meant, path)):
        raise UnfitFile(
            f"`{'.'.join(path)}` cannot be changed without changing more; change it by hand"
        )
    return made


def _list_at(tree: dict[str, Any], path: Sequence[str]) -> list[Any] | None:
    here: Any = tree
    for position, key in enumerate(path):
        if not isinstance(here, dict):
            raise UnfitFile(f"`{'.'.join(path[:position])}` is not an object")
        here = cast("dict[str, Any]", here).get(key)
        if here is None:
            return None
    if not isinstance(here, list):
        raise UnfitFile(f"`{'.'.join(path)}` is not a list")
    return cast("list[Any]", here)


def _only_json(form: Format) -> None:
    if form not in {"json", "jsonc"}:
        raise UnfitFile("lists are changed in JSON alone")


def _editor(form: Format) -> Callable[[str, Sequence[str], Any], str]:
    if form == "toml":
        return toml_edit.with_member
    return _yaml().with_member if form == "yaml" else json_edit.with_member


def _yaml() -> Any:
    from switchboard.hosts.edits import yaml_edit  # noqa: PLC0415 - one host of many has YAML

    return yaml_edit
