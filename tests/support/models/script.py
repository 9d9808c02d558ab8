"""What a scripted model says: a text, the call of a tool that the host offers, or nothing good."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

Json = dict[str, Any]


class Offered(NamedTuple):
    """One tool that a host offers; `namespace` is set where the host groups tools."""

    name: str
    namespace: str | None = None
    kind: str = "function"


class Say(NamedTuple):
    """The model answers with text and ends its turn."""

    text: str


class Use(NamedTuple):
    """The model calls a tool."""

    tool: Offered
    arguments: Json


Reply = Say | Use


class Refuse(NamedTuple):
    """The service refuses the request."""

    status: int
    body: Json
    headers: tuple[tuple[str, str], ...] = ()


class Cut(NamedTuple):
    """The service begins to answer, and the connection is gone."""

    text: str = "half a "


class Hang(NamedTuple):
    """The service begins to answer and says no more, for as long as the test lasts."""


class Stream(NamedTuple):
    """The service says exactly these events."""

    events: Sequence[Json]


Stumble = Refuse | Cut | Hang | Stream


class Situation(NamedTuple):
    """What the model has before it: tools, a tool that finds more, and whether it just searched."""

    tools: Sequence[Offered]
    search: Offered | None
    searched: bool


Step = Callable[[Situation], Reply | Stumble]

# What the hosts call their shell, and how they call its command line.
SHELLS = {"exec_command": "cmd", "Bash": "command", "bash": "command"}


def say(text: str) -> Step:
    def step(_situation: Situation) -> Reply:
        return Say(text)

    return step


def use(ending: str, /, **arguments: Any) -> Step:
    """Call the tool whose name ends so, after a search where the host keeps it back.

    When there is no such tool the model says so, and the turn is over.
    """
    return search_and_use(ending, ending, **arguments)


def search_and_use(query: str, ending: str, /, **arguments: Any) -> Step:
    """Do the same with other words for the search."""

    def step(situation: Situation) -> Reply:
        for tool in situation.tools:
            if tool.name.endswith(ending):
                return Use(tool, arguments)
        if situation.search is not None and not situation.searched:
            return Use(situation.search, {"query": query})
        names = ", ".join(f"{tool.namespace or ''}/{tool.name}" for tool in situation.tools)
        return Say(f"no tool ends with {ending}; there are: {names}")

    return step


def stumble(how: Stumble) -> Step:
    def step(_situation: Situation) -> Reply | Stumble:
        return how

    return step


def shell(command: str, **more: Any) -> Step:
    """Run a command line in the shell of the host, whatever the host calls it."""

    def step(situation: Situation) -> Reply:
        for tool in situation.tools:
            if tool.namespace is None and tool.name in SHELLS:
                return Use(tool, {SHELLS[tool.name]: command, **more})
        return Say(f"no shell; there are: {', '.join(tool.name for tool in situation.tools)}")

    return step
