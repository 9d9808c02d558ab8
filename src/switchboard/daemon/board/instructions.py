"""What a client is told about this server before it sees any tool."""

import os
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from switchboard.config.problems import ProblemKind, place
from switchboard.daemon.board.runtime import RunningBoard, Runtime
from switchboard.providers.table import configured
from switchboard.settings.sections import BrokenFile, Settings

_KINDS: dict[ProblemKind, str] = {
    "unreadable": "it is no file that can be read",
    "syntax": "it is not valid {format}",
    "content": "a key or value at that place is not allowed there",
}
_FORMATS = {".json": "JSON", ".toml": "TOML", ".md": "YAML"}


def instructions_for(runtime: Runtime, board: RunningBoard | None = None) -> str:
    """What each provider says of its tools, and then what servers say of theirs.

    Only what is shown is named: the name of a server that nobody trusted is a stranger's text, and
    whoever sees another board than the usual one is told of that.
    """
    settings = runtime.settings if board is None else board.settings
    assembly = runtime.assembly if board is None else board.assembly
    tools = assembly.catalog.tools
    words = "".join(source.instructions(settings, tools) for source in configured(settings))
    notes = [_about_broken(file, settings) for file in settings.broken]
    notes += _about_missing_tools(runtime, {entry.name for entry in settings.servers})
    notes += _about_the_folder(settings)
    words += "".join(f"\n{note}" for note in notes)
    for listed in assembly.listed.values():
        words += listed.words(len(words))
    return words


def _about_missing_tools(runtime: Runtime, shown: AbstractSet[str]) -> Iterator[str]:
    """The servers whose tools a listing lacks because they could not be started the last time."""
    for child in runtime.needed():
        fault = child.connection.last_fault
        is_missing = child.entry.expose == "tools" and child.entry.name in shown
        if is_missing and fault and not child.is_running and not child.is_own:
            yield f"The tools of `{child.entry.name}` are missing: {fault.message}"


def _about_the_folder(settings: Settings) -> Iterator[str]:
    """The user's own servers that would be there if the folder were trusted."""
    names = ", ".join(f"`{each.entry.name}`" for each in settings.omitted if each.needs_folder)
    if names:
        yield (
            f"Missing because this folder is not trusted: {names}. They work in it, so tell the "
            "user to run `switchboard trust --folder` here if they are needed."
        )


def _about_broken(file: BrokenFile, settings: Settings) -> str:
    """Which file cannot be used, where, and why.

    Of a file that a stranger may have written only the kind of the problem: the message has its
    words, and a model would read them.
    """
    problem = file.problems[0]
    where = place(problem, workspace=settings.workspace, user_home=settings.user_home)
    is_own = file.path.startswith(settings.home + "/")
    why = problem.message if is_own else _KINDS[problem.kind].format(format=_format(file.path))
    serves = "what it held before still counts" if file.serves_on else "what it declares is missing"
    return (
        f"The configuration file `{where}` cannot be used: {why}, so {serves}. "
        "Tell the user to run `switchboard config check`."
    )


def _format(path: str) -> str:
    return _FORMATS.get(os.path.splitext(path)[1], "text")


def bridge_words(settings: Settings) -> str:
    """The same for a client that sees one server alone."""
    entry = settings.servers[0]
    about = f" {entry.description}" if entry.description else ""
    return f"The MCP server `{entry.name}`, through Switchboard.{about}"
