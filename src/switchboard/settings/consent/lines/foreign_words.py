"""Words of a program that is not of the workspace: which of them may lead to code of it."""

import os
import re
from collections.abc import Iterator, Sequence

from switchboard.children.starting.runners import taken_from_folder
from switchboard.settings.consent.lines.command_lines import CommandLine, Leads, Unfollowed
from switchboard.settings.consent.lines.command_words import named_files
from switchboard.settings.consent.looking import counted, landed, names_in
from switchkit.patterns import pattern

# A word that no program takes for a text, but for an address or a variable of the user.
_PLAIN = pattern(r"(?:[\w@+,./:=~^-]|\$\{\w+\})*", re.ASCII)
_ADDRESS = pattern(r"(?!file:|data:)[a-z][a-z0-9+]*://[^\s'\"`$\\|;<>()]*")
# They take a folder that is worked on.
_ROOTS = frozenset(
    (
        *("--root", "--roots", "--repository", "--repo", "--dir", "--allowed-dir", "--workspace"),
        *("--allowed-directory", "--project-root", "--base-dir", "--docs"),
    )
)
# Shorter ones are words of any language, and none that takes code from its folder.
_LEAST_PROGRAM = 2
# As many letters as options that stand in one word.
_MOST_JOINED = 12
# Words that servers are given, and programs that take no code from the folder they run in.
_NO_PROGRAMS = frozenset(
    (
        *("chrome", "chromium", "chromium-browser", "firefox", "google-chrome", "msedge"),
        *("true", "false", "yes", "test", "file", "id", "date", "host", "sort", "info", "users"),
        *("groups", "locale", "free", "last", "link", "join", "cut", "split"),
    )
)
_SPLIT = pattern(r"[^\w./-]+", re.ASCII)


def foreign_words(line: CommandLine, words: Sequence[str]) -> Leads:
    """Words of a program that is not of the workspace: they may name files, and no other code."""
    if taken_from_folder("", words) != "nothing":
        raise Unfollowed("it is given the name of another program to start")
    for before, word in zip(("", *words), words, strict=False):
        _refuse_text(word)
        option, joined, value = word.partition("=")
        named = value if joined else word
        if any(leads_by_name(line, each) for each in (named, *_joined(word))):
            raise Unfollowed(f"`{word}` may name code of this folder")
        if any(_is_program(line, each) for each in (named, *_joined(word))):
            raise Unfollowed(f"`{word}` names another program, which may be started")
        is_root = option in _ROOTS if joined else before in _ROOTS or not before.startswith("-")
        folders = (*(() if is_root else (named,)), *_joined(word))
        if any(line.is_own_folder(each) for each in folders):
            raise Unfollowed(f"`{word}` names a folder that code may be taken from")
    for name, value in line.env.items():
        if name == "PATH":
            continue
        _refuse_text(value)
        if value and (leads_by_name(line, value) or line.is_own_folder(value)):
            raise Unfollowed(f"the variable {name} may name code of this folder")
        if _is_program(line, value):
            raise Unfollowed(f"the variable {name} names another program, which may be started")
    return Leads(files=tuple(named_files(line.folder, words)))


def _joined(word: str) -> Iterator[str]:
    """What an option may have joined to itself: `-vrfile` is `-v -r file`, `--x:file` likewise."""
    if word.startswith("--"):
        yield from filter(None, re.split(r"[:,]", word)[1:])
    elif word.startswith("-"):
        yield from (word[at:] for at in range(2, min(len(word), _MOST_JOINED)))


def _is_program(line: CommandLine, word: str) -> bool:
    """Whether a word is what another program is started by, which takes what it likes."""
    if len(word) < _LEAST_PROGRAM or word.startswith("-") or word in _NO_PROGRAMS:
        return False
    if os.sep in word:
        path = line.at(word)
        return not line.holds(word) and os.path.isfile(path) and os.access(path, os.X_OK)
    if any(True for _ in line.programs(word)):
        return True
    # Runners put these before everything else.
    places = (
        f"{at}/{each}" for at in line.upwards() for each in ("node_modules/.bin", ".venv/bin")
    )
    return any(os.path.lexists(os.path.join(each, word)) for each in counted(places))


def _refuse_text(word: str) -> None:
    if not _PLAIN.fullmatch(word) and not _ADDRESS.fullmatch(word):
        raise Unfollowed("a word of it may be a text that is run")


def leads_by_name(line: CommandLine, word: str) -> bool:
    """Whether a word may name a file without its ending, as the name of a module does."""
    if _ADDRESS.fullmatch(word) or (word.startswith("--") and "=" not in word):
        return False
    short = word[2:] if word.startswith("-") else word
    for piece in filter(None, _SPLIT.split(short)):
        folder, last = os.path.split(line.at(piece.rstrip(os.sep)))
        if not last.strip(".") or not line.is_inside(landed(folder)):
            continue
        # A file of exactly this name is bound, and a folder is another question.
        module, dot, _ = last.partition(".")
        stems = (f"{last}.", f"{module}.") if module and os.sep not in piece else (f"{last}.",)
        if any(each != last and each.startswith(stems) for each in names_in(folder)):
            return True
        if dot and module and os.sep not in piece and line.is_own_folder(module):
            return True
    return False
