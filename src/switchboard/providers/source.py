"""The plug of a provider: everything that the rest of the program needs of it.

Each provider has a `source.py` with a subclass of `Source` and one instance of it, `SOURCE`. Only
`specs` and `build` are required. A plug is loaded at the start wherever its provider is configured,
so it imports what runs calls inside `build`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, Literal, TypeVar, cast

from msgspec import Struct

from switchboard.core.origins import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, TypeAlias

    from switchboard.children.schema import ServerEntry
    from switchboard.config.keys import Section
    from switchboard.core.catalog.tools import ToolSpec
    from switchboard.core.ports import Provider
    from switchboard.providers.context import Context
    from switchboard.settings.sections import Settings
    from switchboard.settings.servers import Resolution

    AnySource: TypeAlias = "Source[Any]"

# What `Source.read` makes of the configuration.
S = TypeVar("S", bound=Struct)
# `own` needs no trust: the user wrote it into the home, or named it on the command line.
Trust = Literal["own", "trusted", "waiting", "changed"]
# What kind of thing the user trusts: a server, a program, or a file that names programs.
ItemKind = Literal["server", "command", "project", "agent"]


class ListingContext(Struct, frozen=True, eq=False):
    """What a plug needs to list its tools."""

    settings: Settings
    environ: Mapping[str, str]
    # The servers that can run here; those whose sandbox does not work are not among them.
    servers: tuple[ServerEntry, ...]


class Listed(Struct, frozen=True, kw_only=True):
    """The tools of a provider, and what it could not list."""

    specs: tuple[ToolSpec, ...] = ()
    # Why an entry is left out, and what to do about it.
    refusals: Mapping[str, tuple[str, str]] = {}
    # What is worth a line in the log, and no warning.
    notices: tuple[str, ...] = ()
    # The kinds of things that it lists only when it runs: see `Provider.offers`.
    offers: frozenset[str] = frozenset()
    # Whether calls of it may be answered later: then it is a `TaskProvider`.
    has_tasks: bool = False
    # What clients are told of it besides, before they see a tool: as it is known when they begin,
    # after so many letters of others.
    words: Callable[[int], str] = lambda _taken: ""
    # What was judged for it on the way, for its own `build`, which must not take long.
    judged: Any = None


class Item(Struct, frozen=True, kw_only=True):
    """One entry of the configuration as people see it: in `list`, and in `trust`."""

    name: str
    kind: ItemKind
    trust: Trust
    # What is trusted; empty where nothing has to be.
    fingerprint: str = ""
    # The same as something that its user writes, whose files may change; empty where none may.
    written: str = ""
    runs: str = ""
    description: str = ""
    sandbox: str = ""
    # What else somebody has to know who is to trust it, a line each.
    details: tuple[str, ...] = ()
    # Why it cannot be used, and what to do about it.
    left_out: str = ""
    hint: str = ""
    origin: Origin = Origin()


class Finding(Struct, frozen=True, kw_only=True):
    """One thing to know, and the way out of it."""

    # A note says how things are, and is nothing to worry about.
    severity: Literal["error", "warning", "note"]
    subject: str
    message: str
    hint: str = ""
    # A command that mends it and changes nothing that somebody made: `doctor --fix` runs it.
    remedy: tuple[str, ...] = ()


class Secrets(Struct, frozen=True):
    """What nobody may be told: the values of these variables, and these values."""

    variables: frozenset[str] = frozenset()
    values: frozenset[str] = frozenset()
    # Values that a repository has written, which are shown to whoever is asked.
    written: frozenset[str] = frozenset()


class Source(Generic[S]):
    """One provider, seen from outside. A plug has no state."""

    key: ClassVar[str]
    # Its part of `config.toml`.
    section: ClassVar[Section | None] = None

    def configured(self, settings: Settings) -> S | None:
        """What `read` made of the configuration."""
        return cast("S | None", settings.sources.get(self.key))

    # The configuration

    def read(self, resolution: Resolution) -> S | None:
        """The merged section as a value that can be compared; nothing when there is nothing."""
        del resolution

    def watched(self, entry: S, workspace: str) -> Iterable[str]:
        """Files whose change may change the value."""
        del entry, workspace
        return ()

    def presets(self) -> Mapping[str, Struct]:
        """Values of its setting that people choose among, by their names."""
        return {}

    # Tools

    def specs(self, listing: ListingContext) -> Listed:
        """Every tool that is known before anything runs. Starts nothing."""
        raise NotImplementedError

    def arrange(self, specs: Sequence[ToolSpec], settings: Settings) -> Sequence[ToolSpec]:
        """The tools of all providers as clients are to be shown them; most leave them as they are.

        What is not listed is called by its name all the same.
        """
        del settings
        return specs

    def reading(self) -> Iterable[str]:
        """Tools that only read whatever they are called with, and have no other name anywhere.

        Hosts that ask about each tool by its name need not ask about these.
        """
        return ()

    def build(self, context: Context) -> Provider:
        """What runs the calls of one board."""
        raise NotImplementedError

    # What others ask

    def secrets(self, settings: Settings) -> Secrets:
        """What must not be told of its configuration."""
        del settings
        return Secrets()

    def env_names(self, settings: Settings) -> Iterable[str]:
        """Variables that it looks up when it runs; `*` means that it passes on all of them."""
        del settings
        return ()

    def trust_items(self, settings: Settings) -> Iterable[Item]:
        """What of the workspace runs only when it is trusted."""
        del settings
        return ()

    def trusted_files(self, settings: Settings) -> Iterable[str]:
        """Files whose own servers may be started, because all that they are part of is trusted."""
        del settings
        return ()

    def rows(self, settings: Settings, environ: Mapping[str, str]) -> Iterable[Item]:
        """Its lines of `switchboard list`."""
        del settings, environ
        return ()

    def findings(self, settings: Settings, environ: Mapping[str, str]) -> Iterable[Finding]:
        """What `switchboard doctor` should tell."""
        del settings, environ
        return ()

    def instructions(self, settings: Settings, tools: Mapping[str, ToolSpec]) -> str:
        """What a client is told before it sees any tool. `tools` are all that are listed."""
        del settings, tools
        return ""
