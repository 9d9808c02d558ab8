"""The whole configuration after layering: frozen, checked, with the origin of every part."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from switchboard.children.exposure import Faces, Introspection, Results, SuiteSettings
from switchboard.children.schema import SandboxFallback, ServerEntry
from switchboard.config.documents import digest_of
from switchboard.config.problems import Problem
from switchboard.core.origins import Origin
from switchboard.people.options import PeopleOptions
from switchboard.runs.limits import RunLimits
from switchboard.settings.scopes.skill import Skill
from switchboard.vault.options import VaultOptions


class Timeouts(Struct, frozen=True, kw_only=True):
    """Limits in milliseconds. `idle_ms` of 0 keeps an idle child running."""

    child_spawn_ms: int = 8_000
    rpc_ms: int = 60_000
    idle_ms: int = 600_000
    # The longest that a call may take while its child reports progress.
    longest_ms: int = 3_600_000


class Listener(Struct, frozen=True, kw_only=True):
    """How clients reach the surface."""

    transport: Literal["stdio", "http"] = "stdio"
    host: str = "127.0.0.1"
    port: int = 8081
    allow_remote: bool = False


class Logging(Struct, frozen=True, kw_only=True):
    """What the structured log looks like and where it goes."""

    format: Literal["json", "compact", "pretty"] = "compact"
    # A level, or directives as in RUST_LOG: `info`, `switchboard=debug,children=trace`.
    filter: str = "info"
    to_file: bool = False
    dir: str = ""


class ToolFilters(Struct, frozen=True, kw_only=True):
    """Which tool names clients may see. Deny wins."""

    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    # Where command tools may run, and what their arguments may lead to. Absolute.
    roots: tuple[str, ...] = ()


class Keeping(Struct, frozen=True, kw_only=True):
    """How long the daemon stays without a client; 0 keeps it. Only the home may say."""

    idle_ms: int = 900_000


class Interpreting(Struct, frozen=True, kw_only=True):
    """Which model turns sentences into calls. Only the home may say: it is told what is asked."""

    # `anthropic`, or the engine whose model is asked.
    engine: Literal["anthropic", "codex", "claude"] = "anthropic"
    # Empty leaves it to whoever asks the model.
    model: str = ""
    timeout_ms: int = 30_000
    max_tokens: int = 4_096


class LastingAnswers(Struct, frozen=True, kw_only=True):
    """What the user has said about questions: answers for good, and how to be told. Home only."""

    # Tools that are silent about themselves and need no yes: `server.tool`, with `*` for any.
    allow: tuple[str, ...] = ()
    # The ways in which a person is told of questions; see `pocket.notices.ways`.
    notify: tuple[str, ...] = ()
    # Whether what is told holds the arguments, too.
    detail: bool = False


class LoginOptions(Struct, frozen=True, kw_only=True):
    """How we introduce ourselves where somebody logs in. Only the home may say."""

    # Where our description is published; empty where it is not.
    client_metadata_url: str = ""


class ReadFile(Struct, frozen=True, kw_only=True):
    """One file that was read."""

    path: str
    text: str
    origin: Origin

    @property
    def digest(self) -> str:
        """What tells its text from any other."""
        return digest_of(self.text)


class BrokenFile(Struct, frozen=True, kw_only=True):
    """A file that cannot be used as it is."""

    path: str
    problems: tuple[Problem, ...]
    # Whether what it held before still counts.
    serves_on: bool = False


class Omission(Struct, frozen=True, kw_only=True):
    """A server that is declared and cannot be used."""

    entry: ServerEntry
    reason: str
    # What to do about it.
    hint: str = ""
    # Nobody has trusted it either.
    waits: bool = False
    # It is the user's own, and would be there if the folder were trusted.
    needs_folder: bool = False
    # Its user has switched it off, so that nothing is wrong with it.
    is_off: bool = False


class Settings(Struct, frozen=True, kw_only=True):
    """Everything the board is built from."""

    workspace: str
    home: str
    # Of the user; paths below it are shown with `~`.
    user_home: str = ""
    # Whether the user trusts the folder of the workspace as a whole: what is not from it may start
    # in it. Its own servers are trusted one by one.
    folder_trusted: bool = False
    servers: tuple[ServerEntry, ...] = ()
    # Servers of the workspace that its owner has not trusted yet: neither started nor shown.
    untrusted: tuple[ServerEntry, ...] = ()
    # Those of them that were trusted once, with when, and what has changed since.
    changed: dict[str, str] = {}
    # Servers that are in neither, because their suites could not be told apart.
    omitted: tuple[Omission, ...] = ()
    suites: dict[str, SuiteSettings] = {}
    # What each provider reads of its own section; see `providers.table`.
    sources: Mapping[str, Struct] = {}
    introspection: Introspection = Introspection()
    results: Results = Results()
    faces: Faces = Faces()
    timeouts: Timeouts = Timeouts()
    listener: Listener = Listener()
    logging: Logging = Logging()
    tools: ToolFilters = ToolFilters()
    keeping: Keeping = Keeping()
    runs: RunLimits = RunLimits()
    interpreting: Interpreting = Interpreting()
    vault: VaultOptions = VaultOptions()
    login: LoginOptions = LoginOptions()
    approvals: LastingAnswers = LastingAnswers()
    people: PeopleOptions = PeopleOptions()
    # Whether calls are judged, and written down.
    is_guarded: bool = True
    # Where that is said; nowhere if the default decides.
    guard_from: Origin | None = None
    # Whose answer counts for calls that must ask; see `approvals`.
    approval_channel: Literal["any", "console", "none"] = "any"
    # Seconds that a question about a call waits; see there, where it is not said.
    approval_timeout: int | None = None
    # What serves where bubblewrap cannot work; nothing, unless the user has chosen it.
    sandbox_fallback: SandboxFallback = "none"
    # The variables that `${VAR}` in servers was filled from. Their values stay between us and them.
    variables: frozenset[str] = frozenset()
    # Servers of the workspace that have taken the place of the user's own.
    replaced: frozenset[str] = frozenset()
    # The servers that a model provider brings along, by the name of the provider.
    providers: dict[str, dict[str, Any]] = {}
    allowed_marketplace_mcp: tuple[str, ...] = ()
    # Those whose servers are among the servers above, the highest last.
    skills: tuple[Skill, ...] = ()
    files: tuple[ReadFile, ...] = ()
    # Files that could not be used; see `usable`.
    broken: tuple[BrokenFile, ...] = ()
    # Files and folders whose change makes a reload worth trying.
    watched: tuple[str, ...] = ()
    warnings: tuple[Problem, ...] = ()
