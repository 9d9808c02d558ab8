"""Servers that no search went through: why each could not be asked, and what to type about it.

An answer without them would look like one of a home that has no such tool.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from switchboard.children.child import Child
from switchboard.children.greeting import Greeting
from switchboard.children.sharing.sources import ChildSource
from switchboard.core.catalog.addresses import server_of
from switchboard.core.catalog.names import suite_name, tool_name
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import Session
from switchboard.providers.context import Context

# Every search tells of them, so they are told in a few words.
_MOST_NAMED = 5
_NONE: Mapping[str, int] = {}
_DOCTOR = "`switchboard doctor --deep`"


class _Lack(Struct, frozen=True):
    server: str
    why: str


class Unheard:
    """The servers of one board, as a search meets them. Asks nobody, and starts nothing."""

    def __init__(
        self,
        # By the names that their tools are addressed with.
        sources: Mapping[str, ChildSource],
        # How many servers of the workspace nobody has trusted yet. Their names are the
        # workspace's own words, which no model reads before a person has.
        waiting: int = 0,
        # How many are configured in a way that cannot be used.
        left_out: int = 0,
    ) -> None:
        self._sources = sources
        self._counts = _counted(waiting, left_out)

    def knows(self, server: str) -> bool:
        """Whether there is such a server, by its own name or by that of its suite."""
        return server in self._sources or server_of(server) in self._sources

    def greetings(self, session: Session) -> dict[str, Greeting]:
        """What those servers said of themselves that run."""
        children = ((name, each.shown_to(session)) for name, each in self._sources.items())
        return {name: child.connection.greeting for name, child in children if child is not None}

    def told(self, session: Session, server: str = "", changed: Mapping[str, int] = _NONE) -> str:
        """A line about what a search did not go through; nothing where it met everything.

        `changed` counts the tools of each server that nobody is told of.
        """
        server = server_of(server) if server and server not in self._sources else server
        lacks = [
            lack
            for name, source in self._sources.items()
            if not server or name == server
            for lack in _lack(name, source, session)
        ]
        said = [f"{each.server} ({each.why})" for each in lacks[:_MOST_NAMED]]
        if len(lacks) > _MOST_NAMED:
            said.append(f"{len(lacks) - _MOST_NAMED} more ({_DOCTOR})")
        held = changed.get(server, 0) if server else sum(changed.values())
        if held:
            said.append(f"{_counted_tools(held)} changed by their server (`switchboard approvals`)")
        said += self._counts
        return f"Not searched: {'; '.join(said)}." if said else ""

    def fault(self, session: Session, server: str) -> Fault | None:
        """Why nothing of a server is known, for whoever calls one of its tools."""
        source = self._sources.get(server)
        if source is None:
            return None
        child = source.shown_to(session)
        if child is None or child.listings.shown("tools") is not None:
            return None
        if child.listings.is_asked("tools"):
            return Fault(
                FaultCode.UNAVAILABLE,
                "server-starting",
                f"`{server}` has not listed its tools yet",
                hint="call again in a moment",
            )
        return _failure(child)


def unheard_of(context: Context) -> Unheard:
    """What a board has to tell. Nobody asks what is hidden, or what takes sentences alone."""
    settings = context.settings
    sources: dict[str, ChildSource] = {}
    for entry in context.servers:
        own = settings.suites.get(entry.name)
        named = own.suite_name if own is not None else ""
        suite = tool_name(named) if named else suite_name(entry.name)
        if entry.expose == "tools":
            sources[entry.name] = context.children[entry.name]
        elif entry.expose == "suite" and context.visibility.shows(suite):
            sources[server_of(suite)] = context.children[entry.name]
    return Unheard(
        sources,
        waiting=len(settings.untrusted),
        left_out=sum(not each.is_off and not each.waits for each in settings.omitted),
    )


def _lack(name: str, source: ChildSource, session: Session) -> Iterator[_Lack]:
    child = source.shown_to(session)
    if child is None:
        yield _Lack(name, "no account is decided for this workspace: `switchboard list`")
        return
    if child.listings.shown("tools") is not None:
        return
    fault = _failure(child)
    if child.listings.is_asked("tools"):
        yield _Lack(name, "still starting: search again in a moment")
    elif child.is_running and fault is None:
        yield _Lack(name, f"lists no tools: {_DOCTOR}")
    elif fault is not None and fault.code is FaultCode.UNAUTHENTICATED:
        yield _Lack(name, f"needs a login: {_typed(fault.hint)}")
    elif fault is not None:
        yield _Lack(name, f"failed, {fault.reason}: {_DOCTOR}")


def _failure(child: Child) -> Fault | None:
    """Why it lists nothing: it could not be started, or what it lists cannot be taken."""
    return child.listings.failures.get("tools") or child.connection.last_fault


def _typed(hint: str) -> str:
    return f"`{hint}`" if hint.startswith("switchboard ") else hint


def _counted(waiting: int, left_out: int) -> list[str]:
    told: list[str] = []
    if waiting:
        told.append(f"{_servers(waiting)} of this workspace not trusted yet (`switchboard trust`)")
    if left_out:
        told.append(f"{_servers(left_out)} left out (`switchboard doctor`)")
    return told


def _counted_tools(count: int) -> str:
    return "1 tool" if count == 1 else f"{count} tools"


def _servers(count: int) -> str:
    return "1 server" if count == 1 else f"{count} servers"
