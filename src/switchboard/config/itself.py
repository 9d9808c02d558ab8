"""Whether a server that was found is Switchboard: an agent that gets it could call itself."""

import os
import re
from collections.abc import Sequence

_NAME = "switchboard"
# `python`, `python3.12`, `pypy3`, with `.exe` or without.
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*(?:\.exe)?|py\.exe|py")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
# What starts another program that is named in its arguments, and the words between them.
_RUNNERS = frozenset({"uvx", "uv", "pipx", "npx", "env", "sudo", "sh", "bash", "run", "tool"})


def is_switchboard(name: str, command: str, args: Sequence[str] = ()) -> bool:
    """Whether this name or this command line means Switchboard itself."""
    if name.strip().lower() == _NAME:
        return True
    return _starts_switchboard([command, *args])


def _starts_switchboard(words: Sequence[str]) -> bool:
    """Whether a command line does, also through programs that only start another one."""
    if not words:
        return False
    program = _program(words[0].split(" ")[0].split("@")[0].split("[")[0])
    if _PYTHON.fullmatch(program):
        return _module(words[1:]) == _NAME
    if program in _RUNNERS:
        rest = [word for word in words[1:] if _ASSIGNMENT.match(word) is None]
        start = next((at for at, word in enumerate(rest) if not word.startswith("-")), len(rest))
        return _starts_switchboard(rest[start:])
    return program.startswith(_NAME)


def _program(word: str) -> str:
    return os.path.basename(word.strip().replace("\\", "/")).lower()


def _module(args: Sequence[str]) -> str:
    """The package that `-m` runs; also where it follows other options, or is glued to them."""
    words = iter(args)
    for word in words:
        if word == "-m" or (re.fullmatch(r"-[A-Za-z]*m", word) and not word.startswith("--")):
            return next(words, "").split(".")[0].lower()
        if word.startswith("-m"):
            return word[2:].split(".")[0].lower()
        if word in {"-W", "-X"}:
            next(words, "")
        elif not word.startswith("-"):
            return ""
    return ""
