"""What a text for a shell means once the shell has expanded it.

`$PWD/x.py`, `~/x.py`, `x*.py` and `'x'.py` lead to the same file. Where nobody can tell which file
a text leads to before it runs, nobody can be asked again when that file changes: such a command
line is bound to nothing, and so is never trusted.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from switchboard.settings.consent.command_words import shell_texts
from switchboard.settings.consent.looking import Unspelt, counted, looking, names_in

_PWD = re.compile(r"\$\(\s*pwd(?:\s+-[LP])?\s*\)|`\s*pwd\s*`")
_VARIABLE = re.compile(r"\$(?:\{([^${}]*)\}|(\w+)|([^\w\s\"'/]))")
_DEFAULT = re.compile(r"(\w+):?-([\w./~+-]*)")
_ASSIGNED = re.compile(r"(?:^|(?<=[\s;&|(]))(\w+)(\+?=)(\"[^\"$]*\"|'[^']*'|[^\s;&|<>()\"'$]*)")
_LOOP = re.compile(r"\b(?:for|select)\s+(\w+)")
_GLOB = re.compile(r"[*?\[]")
_BRACES = re.compile(r"\{([^{}\s,]*(?:,[^{}\s,]*)+)\}")
# A shell makes their values, or everybody has a value that a repository can guess.
_GUESSED = re.compile(
    r"BASH\w*|EPOCH\w*|COMP_\w+|RANDOM|SRANDOM|SECONDS|LINENO|SHLVL|PPID|UID|EUID|OLDPWD|OPTIND"
    r"|OPTARG|FUNCNAME|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|IFS|PS\d|REPLY|DIRSTACK|GROUPS|PIPESTATUS"
    r"|_|LANG|LANGUAGE|LC_\w+|TERM|COLORTERM|SHELL|USER|LOGNAME|DISPLAY|TZ|XDG_\w+|PATH|EDITOR"
)
# They make words, or run what is no word of the text.
_MAKERS = frozenset(
    ("eval", "alias", "read", "mapfile", "readarray", "getopts", "shopt", "xargs", "parallel")
)
# What a command may stand behind; elsewhere such a word is one like any other.
_BEFORE_COMMANDS = frozenset(
    (
        *("then", "do", "else", "elif", "if", "while", "until", "!", "{", "time", "exec"),
        *("command", "builtin", "-p", "--", "sudo", "env", "nice", "nohup"),
    )
)
_NO_COMMAND = re.compile(r"(?![;|&<>()]+$|\w+=).*", re.DOTALL)
_MOST_DEPTH = 4
_MOST_BRACES = 64
# How many quotation marks anybody writes side by side, and how many times as long it takes to read
# a letter of a text as one of a file.
_NEAR = 8
_READING = 256


def meant(words: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """The words of the texts in a command line, expanded. Raises `Unspelt`."""
    found: dict[str, None] = {}
    waiting = [(text, 0, {**env, **_positions(text, words)}) for text in shell_texts(words)]
    while waiting:
        text, depth, given = waiting.pop()
        if depth > _MOST_DEPTH:
            raise Unspelt
        looking().read(len(text) * _READING)
        tokens = [*counted(_tokens(text, given))]
        found |= dict.fromkeys(tokens)
        waiting += ((inner, depth + 1, {**env}) for inner in shell_texts(tokens))
    return [*found]


def _positions(text: str, words: Sequence[str]) -> dict[str, str]:
    """What `$0`, `$1` and so on are in a text: the words behind it, unless it sets others."""
    if text not in words or re.search(r"\b(?:set|shift)\b", text):
        return {}
    behind = words[words.index(text) + 1 :]
    return {str(at): behind[at] if at < len(behind) else "" for at in range(10)}


def matched(words: Sequence[str], folders: Sequence[str]) -> Iterator[str]:
    """The paths that the globs among some words match, from each of the folders."""
    for word in words:
        if _GLOB.search(word):
            for folder in folders if not os.path.isabs(word) else folders[:1]:
                yield from counted(_globbed(folder, word))


def _globbed(folder: str, pattern: str) -> list[str]:
    found = [os.sep if os.path.isabs(pattern) else folder]
    for part in filter(None, pattern.split(os.sep)):
        if "**" in part:
            raise Unspelt
        if not _GLOB.search(part):
            found = [os.path.join(each, part) for each in found]
            continue
        found = [
            os.path.join(each, name)
            for each in found
            for name in names_in(each)
            if fnmatchcase(name, part) and (part.startswith(".") or not name.startswith("."))
        ]
    return [each for each in found if os.path.lexists(each)]


def _tokens(text: str, env: Mapping[str, str]) -> Iterator[str]:
    # A line ends a command, as a semicolon does.
    text = _PWD.sub(".", text.replace("\\\n", "").replace("\n", " ; "))
    if "$(" in text or "`" in text or "$'" in text:
        raise Unspelt
    from shlex import shlex  # noqa: PLC0415 - few command lines have a text for a shell

    reader = shlex(_filled(text, env), posix=True, punctuation_chars=";|&<>()")
    reader.whitespace_split, reader.commenters = True, ""
    try:
        tokens = [*reader]
    except ValueError as unread:
        raise Unspelt from unread
    if _has_maker(tokens):
        raise Unspelt
    for token in tokens:
        for each in _unbraced(token):
            yield _at_home(each)


def _has_maker(tokens: Sequence[str]) -> bool:
    if {"printf", "-v"} <= {*tokens}:
        return True
    return any(
        os.path.basename(token) in _MAKERS
        and (before in _BEFORE_COMMANDS or not _NO_COMMAND.fullmatch(before))
        for before, token in zip((";", *tokens), tokens, strict=False)
    )


def _at_home(token: str) -> str:
    if token.startswith("~-"):
        raise Unspelt
    return f".{token[2:]}" if token.startswith("~+") else os.path.expanduser(token)


def _filled(text: str, env: Mapping[str, str]) -> str:
    """The text with its variables filled in, as far as anybody can tell what they hold."""
    own, odd = _assigned(text, env)
    known = {"PWD": ".", "HOME": os.path.expanduser("~"), **env, **own}

    def fill(match: re.Match[str]) -> str:
        name, fallback = _name_of(match)
        if name in odd or name in "@*" or (name.isdecimal() and name not in known):
            # Its words stand in the text or behind it, and count; what is made of them does not.
            if _is_glued(text, match):
                raise Unspelt
            return ""
        if name in known:
            return known[name]
        if not name.isidentifier() or _GUESSED.fullmatch(name):
            raise Unspelt
        # One of the user, who decides what it holds; for most it is not set.
        return fallback

    return _VARIABLE.sub(fill, text)


def _assigned(text: str, env: Mapping[str, str]) -> tuple[dict[str, str], set[str]]:
    """What a text sets to plain values, and the names of what it sets in another way."""
    own: dict[str, str] = {}
    odd = {*_LOOP.findall(text)}
    for found in _ASSIGNED.finditer(text):
        name, sign, value = found.groups()
        plain = value.strip("\"'")
        # Something more may belong to the value.
        goes_on = text[found.end() : found.end() + 1].strip(" \t\n;|&")
        if sign != "=" or goes_on or own.get(name, plain) != plain or name in env:
            odd.add(name)
        own[name] = plain
    return own, odd


def _name_of(match: re.Match[str]) -> tuple[str, str]:
    """Which variable is meant, and what stands for one that is not set. Raises `Unspelt`."""
    braced, name, sign = match.groups()
    if braced is None:
        return name or sign, ""
    if with_default := _DEFAULT.fullmatch(braced):
        return with_default[1], with_default[2]
    if not re.fullmatch(r"\w+|[@*]", braced):
        raise Unspelt
    return braced, ""


def _is_glued(text: str, match: re.Match[str]) -> bool:
    before = text[max(0, match.start() - _NEAR) : match.start()].rstrip("\"'")[-1:]
    after = text[match.end() : match.end() + _NEAR].lstrip("\"'")[:1]
    # Blanks, signs of the shell, and what stands before a value.
    return bool(before.strip(" \t\n;|&<>()=")) or bool(after.strip(" \t\n;|&<>()"))


def _unbraced(token: str) -> list[str]:
    if re.search(r"[\"\s]", token):
        return [token]
    if any(".." in braced for braced in re.findall(r"\{([^{}]*)\}", token)):
        raise Unspelt
    found: list[str] = []
    left = [token]
    while left:
        each = left.pop()
        braces = _BRACES.search(each)
        if braces is None:
            found.append(each)
        else:
            ways = braces[1].split(",")
            left += (each[: braces.start()] + way + each[braces.end() :] for way in ways)
        if len(found) + len(left) > _MOST_BRACES:
            raise Unspelt
    return found
