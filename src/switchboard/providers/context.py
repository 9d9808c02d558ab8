"""What a provider is built with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast, runtime_checkable

from msgspec import Struct

from switchboard.core.catalog.visibility import Visibility
from switchboard.core.loop.tasks import close_all
from switchboard.results.inlining import READ_RESULT, Inlining

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from switchboard.children.listings.held_tools import Held
    from switchboard.children.schema import ServerEntry
    from switchboard.children.sharing.sources import ChildSource
    from switchboard.core.ports import Directory, Events, Next, Provider
    from switchboard.core.privacy.secrets import SecretBook
    from switchboard.procs.outlet import OpenWayOut
    from switchboard.providers.source import Listed
    from switchboard.results.store import ResultStore
    from switchboard.runs.ports import Runs
    from switchboard.sandbox.sandbox import Sandbox
    from switchboard.settings.sections import Settings
    from switchkit.reaper_client import Reaper


class Lasting(Protocol):
    """Something that outlives the provider that made it."""

    async def aclose(self) -> None:
        """Release what it holds."""
        ...


@runtime_checkable
class Left(Protocol):
    """Something that outlives its provider, and wants to know which sessions are gone."""

    def leave(self, session_id: str) -> None:
        """A session has ended."""
        ...


L = TypeVar("L", bound=Lasting)


class State:
    """What providers keep over reloads. It is closed with the engine."""

    def __init__(self) -> None:
        self._kept: dict[type[Any], Lasting] = {}

    def of(self, kind: type[L]) -> L:
        """The one object of a class, made by the first provider that asks for it."""
        if kind not in self._kept:
            self._kept[kind] = kind()
        return cast("L", self._kept[kind])

    def leave(self, session_id: str) -> None:
        """A session has ended."""
        for kept in self._kept.values():
            if isinstance(kept, Left):
                kept.leave(session_id)

    async def aclose(self) -> None:
        """Close everything that was kept."""
        await close_all(kept.aclose() for kept in self._kept.values())


class GuardedRoad(Struct, frozen=True, eq=False):
    """A road on which a person is asked, and all is written down."""

    run: Next
    # A session of it has ended, and with it what was asked and trusted there.
    leave: Callable[[str], None]


class Context(Struct, frozen=True, kw_only=True, eq=False):
    """Everything that a provider may need to run the calls of one board."""

    settings: Settings
    environ: Mapping[str, str]
    # The results that sessions have kept.
    results: ResultStore
    # Ends whatever a provider starts, should we end without doing so.
    reaper: Reaper
    events: Events
    state: State
    # Secrets that a provider looks up are noted here, and nobody is told of them.
    book: SecretBook
    # What each provider of the board has listed.
    listed: Mapping[str, Listed] = {}
    # The servers that can run here, and where the processes of each come from.
    servers: tuple[ServerEntry, ...] = ()
    children: Mapping[str, ChildSource] = {}
    # Has clients told that a listing changed: its kind, and of which session; empty means all.
    announce: Callable[[str, str], None] = lambda _kind, _session: None
    # Everything that a session may use, for a provider that looks through it. Not while building.
    directory: Callable[[], Directory] | None = None
    # The road of the calls of this board, for a provider that has others run. Not while building.
    road: Callable[[], Next] | None = None
    # The road of what a provider does beyond the calls of clients: always asked about, and always
    # written down. With the provider that does it, and how long a question waits.
    guarded_road: Callable[[Provider, float], GuardedRoad] | None = None
    # Which tools of one server are held, because it has changed them; nobody is told of them.
    # Nothing where nobody judges.
    held: Held | None = None
    # Every run of the home; opened by the first who asks. Not while building.
    runs: Callable[[], Runs] | None = None
    # Whether this process stays, so that it may go on with runs that another one left.
    takes_up_runs: bool = False
    # Whether it is there to do runs that others start.
    executes_runs: bool = False
    # Tools, those of suites as `suite/tool`, the most used of the last days first. For a thread.
    used_tools: Callable[[], Sequence[str]] = lambda: ()
    # Opens the way out of a process with hosts of its own.
    open_way_out: OpenWayOut | None = None
    # In place of the sandbox of this platform.
    sandbox: Sandbox | None = None

    @property
    def kept_results(self) -> tuple[Inlining, ResultStore] | None:
        """From what length on results are kept, and where.

        Nothing where no result is bounded, or nobody could read the rest of one that is.
        """
        names = (spec.name for each in self.listed.values() for spec in each.specs)
        if READ_RESULT not in names or not self.visibility.shows(READ_RESULT):
            return None
        results = self.settings.results
        inlining = Inlining(
            tokens=results.inlined(),
            servers={name: results.inlined(own) for name, own in self.settings.suites.items()},
            is_for_all=results.handles == "always",
        )
        return inlining, self.results

    @property
    def visibility(self) -> Visibility:
        """Which tools clients may see."""
        return Visibility(self.settings.tools.allow, self.settings.tools.deny)
