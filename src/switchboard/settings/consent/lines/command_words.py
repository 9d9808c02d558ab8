"""The words of a command line: programs by what they take for code, and what may be a path."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence

from switchkit.patterns import pattern

# They take a folder, a module or a name without its ending for code.
INTERPRETERS = frozenset(
    (
        *("python", "python2", "python3", "pypy", "pypy3", "node", "nodejs", "bun", "deno", "tsx"),
        *("ts-node", "ruby", "perl", "php", "lua", "java", "dotnet", "pwsh"),
    )
)
# They take other programs' code in, or start a program in a way that its words do not tell.
LOADER = pattern(r"ld(?:-[\w.-]{1,80})?\.so[\d.]{0,20}|ld-musl-.{1,80}")
SHELLS = frozenset(
    (
        *("sh", "ash", "bash", "dash", "fish", "ksh", "mksh", "zsh", "env", "xargs", "rbash"),
        *("rksh", "rzsh", "lksh", "posh", "yash", "csh", "tcsh", "osh", "elvish", "xonsh"),
    )
)
# What interpreters add to a name.
ENDINGS = (
    ".js",
    ".mjs",
    ".cjs",
    ".ts",
    ".json",
    ".py",
    ".rb",
    ".lua",
    "/index.js",
    "/__main__.py",
)
_BETWEEN = r"[\s;|&<>()'\"`$={},:]+"
# Options whose value is a text for a shell, and a setting of git that runs one.
_TEXT_OPTIONS = ("--run", "--call", "--command", "--split-string", "--init-command")
# Of a shell, those that may stand between `-c` and its text.
_WITH_VALUE = ("-o", "+o", "-O", "+O", "--rcfile", "--init-file")
_FEW_LETTERS = len("-lic")
_ALIAS = pattern(r"[\w.-]+=!")
_OPTION = r"^--?[A-Za-z]*=?"


def program_name(word: str) -> str:
    """The name of a program without its version: `python` for `python3.11`."""
    return os.path.basename(word).rstrip("0123456789.") or word


def pieces(word: str) -> Iterator[str]:
    """The word, and what in it may be a path: behind `=`, behind `-I`, between blanks."""
    yield word
    found = [each for each in re.split(_BETWEEN, word) if each]
    if word.startswith("@"):
        # A file with more words.
        found.append(word[1:])
    if word.startswith("-"):
        found += [word[2:], re.sub(_OPTION, "", word, count=1)]
    yield from dict.fromkeys(each for each in found if each not in ("", word))


def named_files(folder: str, words: Iterable[str]) -> Iterator[tuple[str, str]]:
    """The files that words name, as a whole or in a part, each with its path."""
    for word in words:
        for piece in pieces(word):
            yield (word if piece == word else f"part:{piece}"), os.path.join(folder, piece)


def runs_text(words: Iterable[str]) -> bool:
    """Whether a shell is given what it is to run as a text."""
    return any(True for _ in shell_texts([*words]))


def shell_texts(words: Sequence[str]) -> Iterator[str]:
    """The words that are texts for a shell: behind `sh -c`, `env -S`, `npx -c`, `nix-shell --run`.

    And what an alias of git runs. Not the code of another interpreter, as behind `python -c`.
    """
    # Of a shell, `-c` may stand among others; what else starts one, or is one, has few of them.
    is_shell, is_other, is_next = False, False, False
    for at, word in enumerate(words):
        if (alias := _ALIAS.match(word)) is not None:
            yield word[alias.end() :]
        has_value = at > 0 and words[at - 1] in _WITH_VALUE
        if is_next and not has_value and not word.startswith(("-", "+")):
            yield word
            is_next = False
            continue
        name = program_name(word)
        if name in SHELLS or os.path.basename(word) in SHELLS:
            is_shell, is_other = True, False
        elif name in INTERPRETERS:
            is_shell, is_other = False, True
        option, joined, value = word.partition("=")
        if not at or is_other or not word.startswith("-"):
            continue
        if option in _TEXT_OPTIONS and joined:
            yield value
        elif is_shell and word.startswith("-S") and len(word) > len("-S"):
            yield word[2:]
        else:
            is_short = has_short(word, "cS" if is_shell else "c") and (
                is_shell or len(word) <= _FEW_LETTERS
            )
            is_next = is_next or option in _TEXT_OPTIONS or is_short


def has_short(word: str, letters: str) -> bool:
    """Whether a word is one of these short options, or several with one of them: `bash -lc`."""
    is_short = word.startswith("-") and word[1:].isalpha()
    return is_short and any(letter in word for letter in letters)
