"""Our part taken out of a file that somebody else has written since."""

import json
from typing import Any, cast

from switchboard.hosts.change import OUR_NAME, Granted, is_granted, is_our_entry, value_digest
from switchboard.hosts.edits.edit import (
    Format,
    decoded,
    read_tree,
    with_member,
    with_member_of,
    without_item,
    without_member,
)
from switchboard.hosts.edits.merge import merged
from switchboard.hosts.edits.trees import is_same, value_at
from switchboard.hosts.edits.unfit import UnfitFile
from switchboard.hosts.record import Written


def without_ours(
    written: Written, now: bytes, original: bytes | None, left: bytes | None = None
) -> bytes:
    """The file as it is now, with the servers that we took out and without what we put in.

    Where it is known how we left it, lines come back as they were, with their comments and where
    they stood. Raises `UnfitFile`.
    """
    text = decoded(now)
    plain = _by_structure(written, text, original)
    if left is None or original is None:
        return plain.encode()
    try:
        lines = merged(decoded(left), decoded(original), text)
        as_it_was = _by_structure(written, lines, original)
        form = written.place.form
        says_the_same = is_same(read_tree(as_it_was, form), read_tree(plain, form))
    except UnfitFile:
        says_the_same, as_it_was = False, ""
    return (as_it_was if says_the_same else plain).encode()


def _by_structure(written: Written, text: str, original: bytes | None) -> str:
    place = written.place
    form = place.form
    source = decoded(original or b"")
    tree, before = read_tree(text, form), read_tree(source, form)
    here, was = _members(tree, place.servers), _members(before, place.servers)
    for name, put_in in written.put_in.items():
        # Whoever has changed a server since wants it; our own entry is ours however it is written.
        is_ours = name == OUR_NAME and is_our_entry(here.get(name))
        if name not in here or (value_digest(here[name]) != put_in and not is_ours):
            continue
        path = (*place.servers, name)
        if name in was:
            text = with_member(text, form, path, was[name])
        else:
            text = without_member(text, form, path)
    for name in written.taken_out:
        if name not in here and name in was:
            text = with_member_of(text, form, (*place.servers, name), was[name], source)
    for granted in written.granted:
        if not is_granted(before, granted):
            text = _without_granted(text, form, granted)
            text = _without_empty(text, form, granted.keys, before)
    return _without_empty(text, form, place.servers, before)


def is_bare(raw: bytes) -> bool:
    """Whether a file says nothing at all, not even in a comment."""
    return b"".join(raw.removeprefix("\ufeff".encode()).split()) in {b"", b"{}"}


def _members(tree: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    there = value_at(tree, keys)
    return cast("dict[str, Any]", there) if isinstance(there, dict) else {}


def _without_granted(text: str, form: Format, granted: Granted) -> str:
    if not granted.name:
        there = value_at(read_tree(text, form), granted.keys)
        is_list = isinstance(there, list)
        return without_item(text, form, granted.keys, granted.value) if is_list else text
    path = (*granted.keys, granted.name)
    is_as_left = json.dumps(value_at(read_tree(text, form), path)) == json.dumps(granted.value)
    return without_member(text, form, path) if is_as_left else text


def _without_empty(text: str, form: Format, keys: tuple[str, ...], before: dict[str, Any]) -> str:
    """The text without the objects that were made for us, and hold nothing now."""
    for length in range(len(keys), 0, -1):
        path = keys[:length]
        if value_at(read_tree(text, form), path) not in ({}, []):
            continue
        if path[-1] not in _members(before, path[:-1]):
            text = without_member(text, form, path)
        elif value_at(before, path) is None:
            text = with_member(text, form, path, None)
    return text
