"""Why a command line that another host has started in a workspace needs it.

For who takes over entries: other hosts start every server in the folder of the project, so that
their files never say which of them depend on it.
"""

import os
from collections.abc import Iterator, Sequence

from switchboard.children.starting.runners import (
    is_python,
    name_of,
    program_file,
    taken_from_folder,
)
from switchboard.settings.consent.lines.command_words import pieces

# They run a package that has nothing to do with the folder, unless it is installed there.
_PACKAGE_RUNNERS = frozenset(("npx", "bunx", "pnpx", "uvx", "pipx"))
_LOCAL_PROGRAMS = ("node_modules/.bin", ".venv/bin")


def needed_of_workspace(command: str, args: Sequence[str], workspace: str) -> str:
    """What it takes from the workspace, in words; nothing if it would run anywhere."""
    for name in _looked_for(command, args):
        if name and not os.path.isabs(name) and _is_there(name, workspace):
            return f"`{name}` lies in this workspace"
    if name := next((word for word in args if _is_told_from_here(word)), ""):
        return f"its argument `{name}` means the folder that it starts in"
    reads_folder = taken_from_folder(command, args) == "settings"
    if not reads_folder or name_of(command) in _PACKAGE_RUNNERS or _is_shell_or_node(command):
        return ""
    return f"`{command}` runs what files of this workspace say"


def _looked_for(command: str, args: Sequence[str]) -> Iterator[str]:
    """The names by which it would find something in its folder."""
    yield program_file(command, args)
    if is_python(command) and (module := _module(args)):
        top = module.split(".", 1)[0]
        yield from (f"{top}.py", top)
    elif name_of(command) in _PACKAGE_RUNNERS:
        package = next((each for each in args if not each.startswith("-")), "")
        yield from (f"{place}/{package}" for place in _LOCAL_PROGRAMS if package)
    elif taken_from_folder(command, args) == "settings":
        yield from (piece for word in args for piece in pieces(word))


def _is_told_from_here(word: str) -> bool:
    """Whether it is a path by its spelling, and means another place in every folder."""
    value = word.partition("=")[2] if word.startswith("-") else word
    return value in {".", ".."} or value.startswith(("./", "../"))


def _module(args: Sequence[str]) -> str:
    for word, after in zip(args, (*args[1:], ""), strict=True):
        if word.startswith("-") and not word.startswith("--") and word.endswith("m"):
            return after
        if word.startswith("-m"):
            return word[2:]
        if not word.startswith("-"):
            return ""
    return ""


def _is_shell_or_node(command: str) -> bool:
    # With a script of its own neither takes anything from its folder.
    return taken_from_folder(command, ("/script",)) == "nothing"


def _is_there(name: str, workspace: str) -> bool:
    return "\0" not in name and os.path.exists(os.path.join(workspace, name))
