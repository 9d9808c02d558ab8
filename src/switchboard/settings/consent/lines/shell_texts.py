"""The few texts for a shell that can be followed: plain words, one command behind the other.

Whatever else a shell knows (variables, globs, braces, substitutions, redirections, loops) is not
read at all: what cannot be read here is bound to the whole folder.
"""

import os
import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from switchboard.settings.consent.lines.command_lines import CommandLine, Unfollowed
from switchboard.settings.secret_rules import loads_code
from switchkit.patterns import pattern

UNREAD = "it is started by a text that we cannot follow"
_TOKEN = pattern(
    r"(?P<blank>[ \t]+)|(?P<then>;|\n|&&|\|\|)"
    r"|(?P<plain>[A-Za-z0-9_@%+,./:=-]+)|'(?P<single>[^'\0]*)'"
    r'|"(?P<double>(?:[^"$`\\!\0]|\$\{?(?:PWD|HOME)\b\}?)*)"'
    r"|(?P<filled>\$(?:PWD|HOME)\b|\$\{(?:PWD|HOME)\})"
)
_FILLED = pattern(r"\$\{?(PWD|HOME)\b\}?")
_PLAIN = pattern(r"[A-Za-z0-9_@%+,./:-]*")
_SETS = pattern(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
# They decide where a shell looks, and what it makes of words.
_NEVER_SET = frozenset(("PATH", "PWD", "OLDPWD", "HOME", "IFS", "ENV"))
_AND = "&&"
_MOST_CHARS = 4096


def lines_in(text: str, line: CommandLine) -> Iterator[CommandLine]:
    """The command lines of a text, each in the folder that it runs in. Raises `Unfollowed`."""
    if len(text) > _MOST_CHARS:
        raise Unfollowed(UNREAD)
    commands, joints = _commands(text, line)
    moves = False
    for words in commands:
        at = 0
        while at < len(words) and (sets := _SETS.fullmatch(words[at])):
            line = _with_variable(line, sets[1], sets[2])
            at += 1
        rest = words[at:]
        if rest[:1] == ["cd"]:
            line, moves = _moved(line, rest), True
        elif rest[:1] == ["exec"]:
            if len(rest) == 1 or rest[1].startswith("-"):
                raise Unfollowed(UNREAD)
            yield line.saying(rest[1:])
        elif rest:
            yield line.saying(rest)
    # Where the folder is not there any more, another command would run in the one before.
    if moves and any(joint != _AND for joint in joints):
        raise Unfollowed(UNREAD)


def _commands(text: str, line: CommandLine) -> tuple[list[list[str]], list[str]]:
    """The words of each command, and what stands between them."""
    commands: list[list[str]] = [[]]
    joints: list[str] = []
    in_word, folder = False, line.folder
    for kind, told in _tokens(text):
        if kind == "then":
            joints.append(told)
            folder = _folder_after(commands[-1], folder)
            commands.append([])
        elif kind != "blank":
            if not in_word:
                commands[-1].append("")
            commands[-1][-1] += _filled(kind, told, folder)
        in_word = kind not in ("blank", "then")
    if not commands[-1] and joints[-1:] in ([";"], ["\n"]):
        commands.pop()
        joints.pop()
    # Some shells look for the program behind a sign of equality.
    if not all(commands) or any(word.startswith("=") for words in commands for word in words):
        raise Unfollowed(UNREAD)
    return commands, joints


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise Unfollowed(UNREAD)
        at = found.end()
        yield str(found.lastgroup), found[str(found.lastgroup)]


def _filled(kind: str, told: str, folder: str) -> str:
    if kind not in ("double", "filled"):
        return told
    told = _FILLED.sub(lambda name: _value(name[1], folder), told)
    # Without quotation marks, a shell makes several words of some.
    if kind == "filled" and not _PLAIN.fullmatch(told):
        raise Unfollowed(UNREAD)
    return told


def _folder_after(words: Sequence[str], folder: str) -> str:
    is_move = len(words) > 1 and words[0] == "cd"
    return os.path.normpath(os.path.join(folder, words[1])) if is_move else folder


def _value(name: str, folder: str) -> str:
    return folder if name == "PWD" else os.path.expanduser("~")


def _with_variable(line: CommandLine, name: str, value: str) -> CommandLine:
    if name in _NEVER_SET or loads_code(name, repository=True):
        raise Unfollowed(UNREAD)
    return replace(line, env={**line.env, name: value})


def _moved(line: CommandLine, words: Sequence[str]) -> CommandLine:
    folder = words[1] if len(words) > 1 else ""
    # One above a link is not where its name says.
    is_plain = bool(folder) and not folder.startswith("-") and ".." not in folder.split(os.sep)
    if not is_plain or len(words) > len(("cd", "DIR")) or not line.is_own_folder(folder):
        raise Unfollowed(UNREAD)
    return replace(line, folder=line.at(folder))
