"""Which files of a command line are what a program works on, and not what it runs.

A database changes with every call: bound to what it held, trust would end at the first write. So a
file is data where all agree: the option that names it, which no interpreter knows; its ending; and
what it is. Whatever is doubtful counts as code, a file that no option names among it.
"""

import os
import re
import stat
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from switchboard.settings.consent.lines.command_words import (
    ENDINGS,
    INTERPRETERS,
    LOADER,
    SHELLS,
    has_short,
    pieces,
    program_name,
    runs_text,
)
from switchboard.settings.consent.looking import counted, landed, looking, reached
from switchkit.files import open_plain
from switchkit.patterns import pattern

# In full, for some programs take the beginning of an option for all of it. Not `--log` or `--csv`:
# they are switches of shells and of engines, which take the next word for a script.
_OPTIONS = frozenset(
    (
        *("--db", "--db-path", "--db-file", "--database", "--database-path", "--database-file"),
        *("--sqlite", "--sqlite-path", "--sqlite-file", "--sqlite-db", "--duckdb"),
        *("--duckdb-path", "--log-file", "--log-path", "--data-file", "--csv-file", "--csv-path"),
        *("--memory-file", "--memory-path"),
    )
)
# Variables that name the same.
_VARIABLES = pattern(
    r"(?:\w+_)?(?:DB|DATABASE|SQLITE|DUCKDB|LOG|DATA|CSV|MEMORY)(?:_DB)?(?:_FILE|_PATH|_FILE_PATH)?"
)
_SQLITE = (".db", ".db3", ".sqlite", ".sqlite3")
_DUCKDB = (".db", ".duckdb")
_TEXTS = (".log", ".jsonl", ".csv")
_ENDINGS = (*_SQLITE, *_DUCKDB, *_TEXTS)
# With one of these in the line, what runs is a text or a module that may take any word for code.
_RUNS = ("-m", "--eval", "--print", "--exec", "--command", "--split-string")
_RUNS_SHORT = "ceEpS"
# It may take the option for its value, as in `-W --db x.db` or `--rcfile --db x.db`, and leave the
# file for a script. One with its value in it cannot.
_TAKES = pattern(r"[-+][^=]*")
# Those that take the next word that is no option for a script, or may; `env` runs programs only.
_READERS = (INTERPRETERS | SHELLS - {"env"}) | {
    *("Rscript", "electron", "ipython", "nodemon", "babel-node", "tclsh", "wish", "expect", "awk"),
    *("gawk", "mawk", "nawk", "busybox", "toybox", "julia", "elixir", "escript", "groovy"),
    *("scala", "guile", "racket", "sbcl", "emacs", "luajit", "osascript", "pythonw", "bb", "nu"),
}
# What may stand between them and their script, for none of these takes a value.
_SWITCHES = frozenset(("-u", "-B", "-I", "-s", "-O"))
_ANY_EXECUTE = stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH
_HEAD = 4096
# Where the list of a zip archive may end: it makes a program of whatever stands before it.
_ZIP_END = b"PK\x05\x06"
_ZIP_TAIL = 22 + 0xFFFF
_LEAST_SQLITE = 512
_LEAST_DUCKDB = 3 * 4096
_NEWEST_DUCKDB = 1 << 16


def data_paths(
    words: Sequence[str], folders: Sequence[str], programs: Sequence[str]
) -> dict[str, str]:
    """What a command line works on: plain paths, and how they are written. Raises `Unbound`.

    Counted from each of the folders that it may run in; programs may lie in others besides.
    """
    named = [*_named(words)]
    if not named or runs_text(words) or any(_runs(word) for word in words):
        return {}
    first = _after_code(words, folders, programs)
    found: dict[str, str] = {}
    others = [*words]
    for at, written in named:
        if at >= first:
            others[at] = ""
            for folder in folders:
                path = os.path.normpath(os.path.join(folder, written))
                if _is_data(path):
                    found[path] = written
    if not found:
        return found
    # What is run and worked on is run.
    run = {
        os.path.normpath(os.path.join(folder, piece))
        for word in filter(None, others)
        for piece in pieces(word)
        for folder in counted(folders)
    }
    return {path: word for path, word in found.items() if path not in run}


def is_data_variable(name: str, path: str, words: Sequence[str]) -> bool:
    """Whether a variable names what a server works on. No text is run that could do otherwise."""
    if not _VARIABLES.fullmatch(name) or not path.endswith(_ENDINGS) or runs_text(words):
        return False
    # A module is named, and reads the variable for what it is.
    return not any(_runs(word) for word in words if not word.startswith("-m")) and _is_data(path)


def _runs(word: str) -> bool:
    return word == "--" or word.startswith(_RUNS) or has_short(word, _RUNS_SHORT)


def _named(words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """The values of options that take data, each with the place of its word."""
    for at, word in enumerate(words):
        option, joined, value = word.partition("=")
        if joined and option in _OPTIONS:
            written = value
        elif at and words[at - 1] in _OPTIONS and not _TAKES.fullmatch(words[max(0, at - 2)]):
            written = word
        else:
            continue
        if written.endswith(_ENDINGS) and not written.startswith("-"):
            yield at, written


def _after_code(words: Sequence[str], folders: Sequence[str], programs: Sequence[str]) -> int:
    """Where the words begin that no interpreter and no shell takes for what it is to run."""
    first = 1
    for at, word in enumerate(words):
        names = {*_names(word, folders, programs)}
        if any(LOADER.fullmatch(name) for name in names):
            # It runs whatever it is given.
            return len(words)
        if not _READERS.isdisjoint(names):
            first = max(first, _after_script(words, at, folders))
    return first


def _names(word: str, folders: Sequence[str], programs: Sequence[str]) -> Iterator[str]:
    """What a word is called as a program, also where it is a link to one."""
    for place in ("", *programs) if os.sep not in word else ("",):
        for folder in folders:
            path = landed(os.path.join(folder, place, word))
            yield from (program_name(path), os.path.basename(path))
    yield from (program_name(word), os.path.basename(word))


def _after_script(words: Sequence[str], at: int, folders: Sequence[str]) -> int:
    """Where the words of a script begin; behind all of them where it is not clear which it is."""
    at += 1
    while at < len(words) and words[at] in _SWITCHES:
        at += 1
    # A bare name may be a command of the interpreter: `bun run`.
    if at < len(words) and re.search(r"[./]", words[at]) and not words[at].startswith("-"):
        for folder in folders:
            if any(_is_there(words[at] + ending, folder) for ending in ("", *ENDINGS)):
                return at + 1
    return len(words)


def _is_there(word: str, folder: str) -> bool:
    return os.path.lexists(reached(os.path.join(folder, word)))


def _is_data(path: str) -> bool:
    looking().count()
    place = reached(path)
    try:
        if os.path.islink(place):
            return False
        with open(place, "rb", opener=open_plain) as file:
            about = os.fstat(file.fileno())
            # One with two names may be run under the other.
            if about.st_mode & _ANY_EXECUTE or about.st_nlink > 1:
                return False
            return not about.st_size or _has_structure(path, file, about.st_size)
    except FileNotFoundError:
        # Whoever starts makes it. It is judged by what it is then.
        return True
    except (OSError, ValueError):
        return False


def _has_structure(path: str, file: BinaryIO, size: int) -> bool:
    head = file.read(_HEAD)
    if not (
        (path.endswith(_SQLITE) and _is_sqlite(head, size))
        or (path.endswith(_DUCKDB) and _is_duckdb(head, size))
        or (path.endswith(_TEXTS) and _is_text(head))
    ):
        return False
    looking().read(min(size, _ZIP_TAIL))
    file.seek(max(0, size - _ZIP_TAIL))
    return _ZIP_END not in file.read()


def _is_text(head: bytes) -> bool:
    # No text holds a zero; machine code does, whatever it is for.
    return not head.startswith(b"#!") and b"\0" not in head


def _is_sqlite(head: bytes, size: int) -> bool:
    page = int.from_bytes(head[16:18], "big")
    return (
        head.startswith(b"SQLite format 3\0")
        and (page == 1 or (page >= _LEAST_SQLITE and page & (page - 1) == 0))
        # The same in every file, whatever version has written it.
        and head[21:24] == bytes((64, 32, 32))
        and size >= _LEAST_SQLITE
    )


def _is_duckdb(head: bytes, size: int) -> bool:
    version = int.from_bytes(head[12:20], "little")
    # What stands first is a sum; one that begins a comment is nobody's chance.
    return (
        head[8:12] == b"DUCK"
        and 0 < version < _NEWEST_DUCKDB
        and size >= _LEAST_DUCKDB
        and not head.startswith((b"#", b"/*", b"//", b"<!--"))
    )
