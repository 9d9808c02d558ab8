"""What a client is told about this server before it sees any tool."""

from collections.abc import Iterator

from switchboard.config.problems import place
from switchboard.daemon.board.runtime import Runtime
from switchboard.providers.table import configured
from switchboard.settings.sections import BrokenFile, Settings


def instructions_for(runtime: Runtime) -> str:
    """What each provider says of its tools, and then what servers say of theirs.

    Only what is shown is named: the name of a server that nobody trusted is a stranger's text.
    """
    settings, tools = runtime.settings, runtime.assembly.catalog.tools
    words = "".join(source.instructions(settings, tools) for source in configured(settings))
    notes = [_about_broken(file, settings) for file in settings.broken]
    notes += _about_missing_tools(runtime)
    said = "".join(listed.words() for listed in runtime.assembly.listed.values())
    return words + "".join(f"\n{note}" for note in notes) + said


def _about_missing_tools(runtime: Runtime) -> Iterator[str]:
    """The servers whose tools a listing lacks because they could not be started the last time."""
    for child in runtime.needed():
        fault = child.connection.last_fault
        if child.entry.expose == "tools" and fault and not child.is_running and not child.is_own:
            yield f"The tools of `{child.entry.name}` are missing: {fault.message}"


def _about_broken(file: BrokenFile, settings: Settings) -> str:
    """Which file cannot be used, and where. Why, only of a file that no stranger can write."""
    problem = file.problems[0]
    where = place(problem, workspace=settings.workspace, user_home=settings.user_home)
    is_own = file.path.startswith(settings.home + "/")
    why = f": {problem.message}" if is_own else ""
    serves = "what it held before still counts" if file.serves_on else "what it declares is missing"
    return (
        f"The configuration file `{where}` cannot be used{why}, so {serves}. "
        "Tell the user to run `switchboard config check`."
    )


def bridge_words(settings: Settings) -> str:
    """The same for a client that sees one server alone."""
    entry = settings.servers[0]
    about = f" {entry.description}" if entry.description else ""
    return f"The MCP server `{entry.name}`, through Switchboard.{about}"
