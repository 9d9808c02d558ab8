"""What a command line leads to: the code that it names, or, where it cannot be followed, all."""

import os
import re
from collections.abc import Iterator

from msgspec import Struct

from switchboard.children.schema import Seal
from switchboard.settings.consent.data_files import data_paths, is_data_variable
from switchboard.settings.consent.lines.command_lines import Lead, Leads, Unfollowed, lines_of
from switchboard.settings.consent.lines.command_words import pieces
from switchboard.settings.consent.lines.followed import followed
from switchboard.settings.consent.looking import counted, landed, one_look, resolved

_MOST_FOLDERS = 32
# What a database keeps beside itself.
_BESIDE_DATA = ("", "-wal", "-shm", "-journal")
_PLAIN = re.compile(r"[\w@%+,./:=~^-]*", re.ASCII)


class Named(Struct, frozen=True, kw_only=True):
    """What a command line leads to."""

    files: tuple[Lead, ...]
    folders: tuple[Lead, ...] = ()
    # Why it is bound to every file of the workspace; empty where it is bound to the code it names.
    why_whole: str = ""
    # Paths without links that may change all the same, where it is bound to every file.
    left_out: frozenset[str] = frozenset()
    # What it only works on, as it is written.
    data: tuple[str, ...] = ()


def named_by(seal: Seal, workspace: str, *, may_be_whole: bool = True) -> Named:
    """What a command line leads to, found once in a look. Raises `Unbound`.

    Not `may_be_whole`: what cannot be followed leads to the files that its words name, no more.
    """
    with one_look() as look:
        key = ("named", seal, workspace, may_be_whole)
        if key not in look.known:
            look.known[key] = _named_by(seal, workspace, may_be_whole=may_be_whole)
        return look.known[key]


def _named_by(seal: Seal, workspace: str, *, may_be_whole: bool) -> Named:
    data = _data(seal, workspace)
    leads, why = _leads(seal, workspace)
    files = [*leads.files, *_worded(seal, workspace)]
    return Named(
        files=tuple(lead for lead in counted(files) if os.path.normpath(lead[1]) not in data),
        folders=leads.folders,
        why_whole=why if may_be_whole else "",
        left_out=_left_out(seal, data) if why else frozenset(),
        data=tuple(dict.fromkeys(data.values())),
    )


def _leads(seal: Seal, workspace: str) -> tuple[Leads, str]:
    found = Leads()
    try:
        for line in lines_of(seal, workspace):
            found = found.with_those(followed(line))
    except Unfollowed as why:
        return Leads(), str(why)
    return found, ""


def _worded(seal: Seal, workspace: str) -> Iterator[Lead]:
    """The files that words and variables name as they are, each word under itself."""
    folder = seal.cwd or workspace
    for word in seal.words:
        for piece in pieces(word) if "\0" not in word else ():
            yield (word if piece == word else f"part:{piece}"), os.path.join(folder, piece)
    for name, value in seal.env:
        if name != "PATH" and "\0" not in value and not _is_data(seal, name, value, folder):
            for piece in pieces(value):
                yield f"part:{piece}", os.path.join(folder, piece)


def _is_data(seal: Seal, name: str, value: str, folder: str) -> bool:
    return is_data_variable(name, os.path.join(folder, value), seal.words)


def _data(seal: Seal, workspace: str) -> dict[str, str]:
    """The paths that are only worked on, and how they are written."""
    folder = seal.cwd or workspace
    words = [word for word in seal.words if word and "\0" not in word]
    folders = [folder]
    for piece in counted(piece for word in words for piece in pieces(word)):
        place = os.path.normpath(os.path.join(folder, piece))
        if place not in folders and os.path.isdir(landed(place)):
            folders.append(place)
            if len(folders) > _MOST_FOLDERS:
                # Where nobody can tell them apart, all are code.
                return {}
    path = seal.path.split(os.pathsep) if seal.path else os.get_exec_path()
    programs = ["node_modules/.bin", ".venv/bin", *counted(path)]
    found = data_paths(words, folders, programs)
    for name, value in seal.env:
        if value and "\0" not in value and _is_data(seal, name, value, folder):
            found[os.path.normpath(os.path.join(folder, value))] = value
    return found


def _left_out(seal: Seal, data: dict[str, str]) -> frozenset[str]:
    """Data of a line that has no word which could be a text that runs it."""
    texts = [*seal.words, *(value for _, value in seal.env)]
    if not data or not all(map(_PLAIN.fullmatch, texts)):
        return frozenset()
    written = {*data.values()}
    others = {
        _stem(piece)
        for text in texts
        if text not in written and text.partition("=")[2] not in written
        for piece in pieces(text)
    }
    return frozenset(
        os.path.join(resolved(os.path.dirname(path)), os.path.basename(path) + end)
        for path in data
        if _stem(path) not in others
        for end in _BESIDE_DATA
    )


def _stem(path: str) -> str:
    return os.path.basename(path).partition(".")[0]
